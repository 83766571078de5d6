// What the unfused pipeline needs beside common/ptx.cuh, common/mma.cuh and sm90_attention_mma.cuh: the order of
// dependent launches, and wgmma for a V of 64 columns.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/mma.cuh"

namespace ptx {

// Until the launch before this one, on which it depends, has ended and its writes are visible.
__device__ __forceinline__ void grid_dependency_wait() { asm volatile("griddepcontrol.wait;\n" ::: "memory"); }

// The launch that depends on this one may take what this one leaves free.
__device__ __forceinline__ void grid_dependents_launch() {
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
}

}  // namespace ptx

namespace mma {

// clang-format off
#define MMA_ACCUM_4(i) "+f"(accum[i]), "+f"(accum[(i) + 1]), "+f"(accum[(i) + 2]), "+f"(accum[(i) + 3])
#define MMA_ACCUM_16(i) MMA_ACCUM_4(i), MMA_ACCUM_4((i) + 4), MMA_ACCUM_4((i) + 8), MMA_ACCUM_4((i) + 12)
#define MMA_WGMMA(what)                                                                                            \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"                                                     \
               "wgmma.mma_async.sync.aligned." what " {"                                                           \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                            \
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"                    \
               "}, %32, %33, add, 1, 1, 0, 1;\n}\n"                                                                \
               : MMA_ACCUM_16(0), MMA_ACCUM_16(16) : "l"(a), "l"(b))
// clang-format on

// accum (64 x 64) += A (64 x 16, K-major) * B (16 x 64, row-major), as common/mma.cuh has it for wider B.
__device__ __forceinline__ void wgmma(Half, float (&accum)[32], uint64_t a, uint64_t b) {
  MMA_WGMMA("m64n64k16.f32.f16.f16");
}
__device__ __forceinline__ void wgmma(Bfloat16, float (&accum)[32], uint64_t a, uint64_t b) {
  MMA_WGMMA("m64n64k16.f32.bf16.bf16");
}

#undef MMA_ACCUM_4
#undef MMA_ACCUM_16
#undef MMA_WGMMA

}  // namespace mma
