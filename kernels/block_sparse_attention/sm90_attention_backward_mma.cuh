// What the backward pass needs beside sm90_attention_mma.cuh: scores of 64 columns, products of two tiles whose rows
// run along k, the way back from 16 bits, and bulk copies and additions without a map.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "sm90_attention_mma.cuh"

namespace mma {

// clang-format off
#define MMA_SCORES_64(shape, add)                                                                                  \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add ", 0;\n"                                                \
               "wgmma.mma_async.sync.aligned." shape " {" MMA_NAMES_32 "}, %32, %33, add, 1, 1, 0, 0;\n}\n"        \
               : MMA_ACCUM_32(accum, 0) : "l"(a), "l"(b))
#define MMA_TRANSPOSED_64(shape, add)                                                                              \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add ", 0;\n"                                                \
               "wgmma.mma_async.sync.aligned." shape " {" MMA_NAMES_32 "}, %32, %33, add, 1, 1, 1, 1;\n}\n"        \
               : MMA_ACCUM_32(accum, 0) : "l"(a), "l"(b))
#define MMA_SCORES_64_REGISTERS(shape, add)                                                                        \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add ", 0;\n"                                                \
               "wgmma.mma_async.sync.aligned." shape " {" MMA_NAMES_32                                             \
               "}, {%32, %33, %34, %35}, %36, add, 1, 1, 0;\n}\n"                                                  \
               : MMA_ACCUM_32(accum, 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
// clang-format on

// accum (64 x 64) = A (64 x 16) * B (64 x 16)^T, added to what is there where kAdd; both K-major in shared memory.
template <bool kAdd>
__device__ __forceinline__ void wgmma_scores(Half, float (&accum)[32], uint64_t a, uint64_t b) {
  if constexpr (kAdd) {
    MMA_SCORES_64("m64n64k16.f32.f16.f16", "1");
  } else {
    MMA_SCORES_64("m64n64k16.f32.f16.f16", "0");
  }
}
template <bool kAdd>
__device__ __forceinline__ void wgmma_scores(Bfloat16, float (&accum)[32], uint64_t a, uint64_t b) {
  if constexpr (kAdd) {
    MMA_SCORES_64("m64n64k16.f32.bf16.bf16", "1");
  } else {
    MMA_SCORES_64("m64n64k16.f32.bf16.bf16", "0");
  }
}

// The same with A in registers.
template <bool kAdd>
__device__ __forceinline__ void wgmma_scores(Half, float (&accum)[32], const uint32_t* a, uint64_t b) {
  if constexpr (kAdd) {
    MMA_SCORES_64_REGISTERS("m64n64k16.f32.f16.f16", "1");
  } else {
    MMA_SCORES_64_REGISTERS("m64n64k16.f32.f16.f16", "0");
  }
}
template <bool kAdd>
__device__ __forceinline__ void wgmma_scores(Bfloat16, float (&accum)[32], const uint32_t* a, uint64_t b) {
  if constexpr (kAdd) {
    MMA_SCORES_64_REGISTERS("m64n64k16.f32.bf16.bf16", "1");
  } else {
    MMA_SCORES_64_REGISTERS("m64n64k16.f32.bf16.bf16", "0");
  }
}

// accum (64 x 64) = A (16 x 64)^T * B (16 x 64), both row-major in shared memory.
template <bool kAdd>
__device__ __forceinline__ void wgmma_transposed(Half, float (&accum)[32], uint64_t a, uint64_t b) {
  if constexpr (kAdd) {
    MMA_TRANSPOSED_64("m64n64k16.f32.f16.f16", "1");
  } else {
    MMA_TRANSPOSED_64("m64n64k16.f32.f16.f16", "0");
  }
}
template <bool kAdd>
__device__ __forceinline__ void wgmma_transposed(Bfloat16, float (&accum)[32], uint64_t a, uint64_t b) {
  if constexpr (kAdd) {
    MMA_TRANSPOSED_64("m64n64k16.f32.bf16.bf16", "1");
  } else {
    MMA_TRANSPOSED_64("m64n64k16.f32.bf16.bf16", "0");
  }
}

#undef MMA_TRANSPOSED_64
#undef MMA_SCORES_64
#undef MMA_SCORES_64_REGISTERS

// The two elements of a word.
__device__ __forceinline__ float2 widen_pair(Half, uint32_t pair) {
  float2 wide;
  asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %2;\ncvt.f32.f16 %0, low;\ncvt.f32.f16 %1, high;\n}\n"
      : "=f"(wide.x), "=f"(wide.y)
      : "r"(pair));
  return wide;
}

__device__ __forceinline__ float2 widen_pair(Bfloat16, uint32_t pair) {
  return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
}

}  // namespace mma

namespace ptx {

// One thread. `bytes`, source and destination are multiples of 16.
__device__ __forceinline__ void bulk_load(uint32_t shared, const void* global, uint32_t bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier)
      : "memory");
}

// Ordinary writes to memory become visible to the copy engine.
__device__ __forceinline__ void fence_proxy_async_global() { asm volatile("fence.proxy.async.global;\n" ::: "memory"); }

// One thread: bytes of fp32 in shared memory are added to those in memory.
__device__ __forceinline__ void bulk_add(float* global, uint32_t shared, uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;\n" ::"l"(global),
               "r"(shared), "r"(bytes)
               : "memory");
}

}  // namespace ptx
