// Products of FP8 (E4M3) for attention: operands have their rows along k, and a call covers 32 bytes of it, as one of 16
// bits does. The layouts of registers are those of 16 bits, byte for byte.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/mma.cuh"

namespace mma {

// clang-format off
#define MMA_FP8(a_names, b_name, add_name, ...)                                                                     \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add_name ", 0;\n"                                            \
               "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {" MMA_NAMES_64 "}, " a_names ", " b_name     \
               ", add, 1, 1;\n}\n"                                                                                  \
               : MMA_ACCUM_64(accum, 0) : __VA_ARGS__, "l"(b), "n"(kAdd ? 1 : 0))
// clang-format on

// accum (64 x 128) = A (64 x 32) * B (128 x 32)^T, added to what is there where kAdd; both in shared memory.
template <bool kAdd>
__device__ __forceinline__ void wgmma_scores(Float8E4M3, float (&accum)[64], uint64_t a, uint64_t b) {
  MMA_FP8("%64", "%65", "%66", "l"(a));
}

// The same with A in registers.
template <bool kAdd>
__device__ __forceinline__ void wgmma_scores(Float8E4M3, float (&accum)[64], const uint32_t* a, uint64_t b) {
  MMA_FP8("{%64, %65, %66, %67}", "%68", "%69", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]));
}
__device__ __forceinline__ void wgmma_values(Float8E4M3, float (&accum)[64], uint32_t a0, uint32_t a1, uint32_t a2,
                                             uint32_t a3, uint64_t b) {
  const uint32_t a[] = {a0, a1, a2, a3};
  wgmma_scores<true>(Float8E4M3{}, accum, a, b);
}

#undef MMA_FP8

// A warp's: accum (16 x 8) += A (16 x 32, row-major) * B (32 x 8, column-major).
__device__ __forceinline__ void mma_m16n8k16(Float8E4M3, float* accum, const uint32_t (&a)[4], uint32_t b0,
                                             uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(accum[0]), "+f"(accum[1]), "+f"(accum[2]), "+f"(accum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint32_t pack_e4m3(float x0, float x1, float x2, float x3) {
  uint32_t word;
  asm("{\n.reg .b16 low, high;\ncvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\nmov.b32 %0, {low, high};\n}\n"
      : "=r"(word)
      : "f"(x0), "f"(x1), "f"(x2), "f"(x3));
  return word;
}

}  // namespace mma
