// What the unfused pipeline needs beside common/ptx.cuh and common/mma.cuh: the order of dependent launches, named
// barriers, and the forms of wgmma for Q K^T (both operands K-major) and for a V of 64 columns.

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

// Whole warps: kThreads threads meet at barrier `id`, those that only arrive included.
template <int kThreads>
__device__ __forceinline__ void named_barrier_sync(int id) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(id), "n"(kThreads) : "memory");
}

template <int kThreads>
__device__ __forceinline__ void named_barrier_arrive(int id) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(id), "n"(kThreads) : "memory");
}

}  // namespace ptx

namespace mma {

// clang-format off
#define MMA_ACCUM_4(i) "+f"(accum[i]), "+f"(accum[(i) + 1]), "+f"(accum[(i) + 2]), "+f"(accum[(i) + 3])
#define MMA_ACCUM_16(i) MMA_ACCUM_4(i), MMA_ACCUM_4((i) + 4), MMA_ACCUM_4((i) + 8), MMA_ACCUM_4((i) + 12)
#define MMA_ACCUM_32(i) MMA_ACCUM_16(i), MMA_ACCUM_16((i) + 16)
#define MMA_ACCUM_64(i) MMA_ACCUM_32(i), MMA_ACCUM_32((i) + 32)
#define MMA_NAMES_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MMA_NAMES_64 \
  MMA_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MMA_WGMMA(what, count, names, tail)                                                                        \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " names ", 0;\n"                                              \
               "wgmma.mma_async.sync.aligned." what " {" MMA_NAMES_##count "}, " tail ";\n}\n"                     \
               : MMA_ACCUM_##count(0) : "l"(a), "l"(b), "r"(static_cast<uint32_t>(adds)))
// clang-format on

// accum (64 x 128) = A (64 x 16) * B (128 x 16)^T, both K-major in shared memory; added to what is there where `adds`.
__device__ __forceinline__ void wgmma_transposed(Half, float (&accum)[64], uint64_t a, uint64_t b, bool adds) {
  MMA_WGMMA("m64n128k16.f32.f16.f16", 64, "%66", "%64, %65, add, 1, 1, 0, 0");
}
__device__ __forceinline__ void wgmma_transposed(Bfloat16, float (&accum)[64], uint64_t a, uint64_t b, bool adds) {
  MMA_WGMMA("m64n128k16.f32.bf16.bf16", 64, "%66", "%64, %65, add, 1, 1, 0, 0");
}

// accum (64 x N) = A (64 x 16, K-major) * B (16 x N, row-major), N twice the number of accumulators a thread.
__device__ __forceinline__ void wgmma_rows(Half, float (&accum)[64], uint64_t a, uint64_t b, bool adds) {
  MMA_WGMMA("m64n128k16.f32.f16.f16", 64, "%66", "%64, %65, add, 1, 1, 0, 1");
}
__device__ __forceinline__ void wgmma_rows(Bfloat16, float (&accum)[64], uint64_t a, uint64_t b, bool adds) {
  MMA_WGMMA("m64n128k16.f32.bf16.bf16", 64, "%66", "%64, %65, add, 1, 1, 0, 1");
}
__device__ __forceinline__ void wgmma_rows(Half, float (&accum)[32], uint64_t a, uint64_t b, bool adds) {
  MMA_WGMMA("m64n64k16.f32.f16.f16", 32, "%34", "%32, %33, add, 1, 1, 0, 1");
}
__device__ __forceinline__ void wgmma_rows(Bfloat16, float (&accum)[32], uint64_t a, uint64_t b, bool adds) {
  MMA_WGMMA("m64n64k16.f32.bf16.bf16", 32, "%34", "%32, %33, add, 1, 1, 0, 1");
}

#undef MMA_ACCUM_4
#undef MMA_ACCUM_16
#undef MMA_ACCUM_32
#undef MMA_ACCUM_64
#undef MMA_NAMES_32
#undef MMA_NAMES_64
#undef MMA_WGMMA

}  // namespace mma
