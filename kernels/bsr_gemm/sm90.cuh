// PTX of sm_90a as small functions: mbarriers, bulk tensor copies, warpgroup products, clusters.
//
// Addresses called `shared` are 32-bit shared-memory addresses. Every function that one thread is to call
// says so; the others are for whole warps or warpgroups.

#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sm90 {

// Four 8 x 8 matrices of 16-bit elements; lane i gives the address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void store_matrices(uint32_t shared, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(shared), "r"(w0), "r"(w1),
               "r"(w2), "r"(w3)
               : "memory");
}

// ---- warpgroup products --------------------------------------------------------------------------------

// Descriptor of a tile in shared memory whose rows of 128 bytes are swizzled; offsets in bytes, the tile
// begins at a multiple of 8 rows. K-major (rows along k): `stride` between groups of 8 rows, `leading` unused.
// MN-major (rows along m or n): `stride` between groups of 8 k, `leading` between groups of
// 128 bytes along m or n.
__device__ __forceinline__ uint64_t swizzled_tile(uint32_t shared, uint32_t leading, uint32_t stride) {
  return static_cast<uint64_t>((shared & 0x3ffff) >> 4) | static_cast<uint64_t>(leading >> 4) << 16 |
         static_cast<uint64_t>(stride >> 4) << 32 | static_cast<uint64_t>(1) << 62;
}

// Before the first product that uses registers or shared memory written since the last one.
__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }

__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }

template <int kPending>
__device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving uses of the sums across a fence or a wait.
template <int kCount>
__device__ __forceinline__ void pin(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    asm volatile("" : "+f"(sums[i])::"memory");
  }
}

// clang-format off
#define SM90_SUMS_4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define SM90_SUMS_16(d, i) SM90_SUMS_4(d, i), SM90_SUMS_4(d, (i) + 4), SM90_SUMS_4(d, (i) + 8), SM90_SUMS_4(d, (i) + 12)
#define SM90_SUMS_32(d, i) SM90_SUMS_16(d, i), SM90_SUMS_16(d, (i) + 16)
#define SM90_SUMS_64(d, i) SM90_SUMS_32(d, i), SM90_SUMS_32(d, (i) + 32)
#define SM90_SUMS_96(d, i) SM90_SUMS_64(d, i), SM90_SUMS_32(d, (i) + 64)
#define SM90_SUMS_128(d, i) SM90_SUMS_64(d, i), SM90_SUMS_64(d, (i) + 64)
#define SM90_NAMES_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SM90_NAMES_64 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SM90_NAMES_96 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define SM90_NAMES_128 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// sums (64 x N, fp32) += A (64 x K) * B (K x N). `what` is shape and types; `names` those of A and B; `tail` the scales
// and, for 16-bit types, the transpose bits of A and B (1: MN-major). Always added: the predicate is true.
#define SM90_PRODUCT(what, count, names, tail)                                                                    \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"                                                     \
               "wgmma.mma_async.sync.aligned." what " {" SM90_NAMES_##count "}, " names ", add, " tail ";\n}\n" \
               : SM90_SUMS_##count(sums, 0)                                                                      \
               : "l"(a), "l"(b))
// clang-format on

struct Half {};
struct Bfloat16 {};
struct Float8E4M3 {};

// A K-major; B MN-major (row-major K x N) for 16-bit types, K-major for fp8, which knows no other. One call
// covers 32 bytes of k.
__device__ __forceinline__ void product(Half, float (&sums)[128], uint64_t a, uint64_t b) {
  SM90_PRODUCT("m64n256k16.f32.f16.f16", 128, "%128, %129", "1, 1, 0, 1");
}
__device__ __forceinline__ void product(Half, float (&sums)[96], uint64_t a, uint64_t b) {
  SM90_PRODUCT("m64n192k16.f32.f16.f16", 96, "%96, %97", "1, 1, 0, 1");
}
__device__ __forceinline__ void product(Half, float (&sums)[64], uint64_t a, uint64_t b) {
  SM90_PRODUCT("m64n128k16.f32.f16.f16", 64, "%64, %65", "1, 1, 0, 1");
}
__device__ __forceinline__ void product(Bfloat16, float (&sums)[128], uint64_t a, uint64_t b) {
  SM90_PRODUCT("m64n256k16.f32.bf16.bf16", 128, "%128, %129", "1, 1, 0, 1");
}
__device__ __forceinline__ void product(Bfloat16, float (&sums)[96], uint64_t a, uint64_t b) {
  SM90_PRODUCT("m64n192k16.f32.bf16.bf16", 96, "%96, %97", "1, 1, 0, 1");
}
__device__ __forceinline__ void product(Bfloat16, float (&sums)[64], uint64_t a, uint64_t b) {
  SM90_PRODUCT("m64n128k16.f32.bf16.bf16", 64, "%64, %65", "1, 1, 0, 1");
}
__device__ __forceinline__ void product(Float8E4M3, float (&sums)[128], uint64_t a, uint64_t b) {
  SM90_PRODUCT("m64n256k32.f32.e4m3.e4m3", 128, "%128, %129", "1, 1");
}
__device__ __forceinline__ void product(Float8E4M3, float (&sums)[64], uint64_t a, uint64_t b) {
  SM90_PRODUCT("m64n128k32.f32.e4m3.e4m3", 64, "%64, %65", "1, 1");
}

// ---- rounding ----------------------------------------------------------------------------------------

__device__ __forceinline__ uint32_t round_pair(Half, float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ __forceinline__ uint32_t round_pair(Bfloat16, float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

}  // namespace sm90
