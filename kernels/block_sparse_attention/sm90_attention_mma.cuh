// What attention needs beside common/mma.cuh: wgmma for scores (both operands K-major, or queries in registers) and for
// values (probabilities in registers), and a warp's own products.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/mma.cuh"

namespace mma {

// clang-format off
#define MMA_BOTH_SHARED(shape, add)                                                                                \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add ", 0;\n"                                                \
               "wgmma.mma_async.sync.aligned." shape " {" MMA_NAMES_64 "}, %64, %65, add, 1, 1, 0, 0;\n}\n"        \
               : MMA_ACCUM_64(accum, 0) : "l"(a), "l"(b))
#define MMA_B_SHARED(shape, add)                                                                                   \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add ", 0;\n"                                                \
               "wgmma.mma_async.sync.aligned." shape " {" MMA_NAMES_64                                             \
               "}, {%64, %65, %66, %67}, %68, add, 1, 1, 0;\n}\n"                                                  \
               : MMA_ACCUM_64(accum, 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define MMA_A_REGISTERS(shape, count, operands)                                                                    \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"                                                      \
               "wgmma.mma_async.sync.aligned." shape " {" MMA_NAMES_##count "}, " operands ", add, 1, 1, 1;\n}\n"  \
               : MMA_ACCUM_##count(accum, 0) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b))
// clang-format on

// accum (64 x 128) = A (64 x 16) * B (128 x 16)^T, added to what is there where kAdd; both K-major in shared memory.
template <bool kAdd>
__device__ __forceinline__ void wgmma_scores(Half, float (&accum)[64], uint64_t a, uint64_t b) {
  if constexpr (kAdd) {
    MMA_BOTH_SHARED("m64n128k16.f32.f16.f16", "1");
  } else {
    MMA_BOTH_SHARED("m64n128k16.f32.f16.f16", "0");
  }
}
template <bool kAdd>
__device__ __forceinline__ void wgmma_scores(Bfloat16, float (&accum)[64], uint64_t a, uint64_t b) {
  if constexpr (kAdd) {
    MMA_BOTH_SHARED("m64n128k16.f32.bf16.bf16", "1");
  } else {
    MMA_BOTH_SHARED("m64n128k16.f32.bf16.bf16", "0");
  }
}

// The same with A in registers.
template <bool kAdd>
__device__ __forceinline__ void wgmma_scores(Half, float (&accum)[64], const uint32_t* a, uint64_t b) {
  if constexpr (kAdd) {
    MMA_B_SHARED("m64n128k16.f32.f16.f16", "1");
  } else {
    MMA_B_SHARED("m64n128k16.f32.f16.f16", "0");
  }
}
template <bool kAdd>
__device__ __forceinline__ void wgmma_scores(Bfloat16, float (&accum)[64], const uint32_t* a, uint64_t b) {
  if constexpr (kAdd) {
    MMA_B_SHARED("m64n128k16.f32.bf16.bf16", "1");
  } else {
    MMA_B_SHARED("m64n128k16.f32.bf16.bf16", "0");
  }
}

// accum (64 x N) += A (64 x 16, in registers) * B (16 x N, row-major in shared memory); N is twice the number of
// accumulators a thread.
__device__ __forceinline__ void wgmma_values(Half, float (&accum)[64], uint32_t a0, uint32_t a1, uint32_t a2,
                                             uint32_t a3, uint64_t b) {
  MMA_A_REGISTERS("m64n128k16.f32.f16.f16", 64, "{%64, %65, %66, %67}, %68");
}
__device__ __forceinline__ void wgmma_values(Half, float (&accum)[32], uint32_t a0, uint32_t a1, uint32_t a2,
                                             uint32_t a3, uint64_t b) {
  MMA_A_REGISTERS("m64n64k16.f32.f16.f16", 32, "{%32, %33, %34, %35}, %36");
}
__device__ __forceinline__ void wgmma_values(Bfloat16, float (&accum)[64], uint32_t a0, uint32_t a1, uint32_t a2,
                                             uint32_t a3, uint64_t b) {
  MMA_A_REGISTERS("m64n128k16.f32.bf16.bf16", 64, "{%64, %65, %66, %67}, %68");
}
__device__ __forceinline__ void wgmma_values(Bfloat16, float (&accum)[32], uint32_t a0, uint32_t a1, uint32_t a2,
                                             uint32_t a3, uint64_t b) {
  MMA_A_REGISTERS("m64n64k16.f32.bf16.bf16", 32, "{%32, %33, %34, %35}, %36");
}

#undef MMA_BOTH_SHARED
#undef MMA_A_REGISTERS
#undef MMA_B_SHARED

}  // namespace mma
