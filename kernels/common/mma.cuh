// Products of a warp (mma.sync, sm_80) and of a warpgroup (wgmma, sm_90a), and what moves their operands and
// accumulators: matrix loads and stores, descriptors, fences, rounding.
//
// Addresses called `shared` are 32-bit shared-memory addresses. Functions are inline, and one that a kernel does not
// call leaves nothing in it: kernels for sm_89 include this header as those for sm_90a do.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace mma {

// Types of operands and results.
struct Half {};
struct Bfloat16 {};
struct Float8E4M3 {};

// The type that a variant's DTYPE names: 0 fp16, 1 bf16, 2 FP8 (E4M3).
template <int kDtype>
struct ElementOf;
template <>
struct ElementOf<0> {
  using Type = Half;
};
template <>
struct ElementOf<1> {
  using Type = Bfloat16;
};
template <>
struct ElementOf<2> {
  using Type = Float8E4M3;
};

// ---- layout in shared memory -----------------------------------------------------------------------------

// Byte offset of 16-byte chunk `chunk` of row `row`, in rows of 128 bytes with the 128-byte swizzle that TMA writes.
__device__ __forceinline__ int swizzle_128b(int row, int chunk) { return row * 128 + (chunk ^ (row % 8)) * 16; }

// Descriptor of a tile in shared memory whose rows of 128 bytes are swizzled; offsets in bytes, the tile
// begins at a multiple of 8 rows. K-major (rows along k): `stride` between groups of 8 rows, `leading` unused.
// MN-major (rows along m or n): `stride` between groups of 8 k, `leading` between groups of
// 128 bytes along m or n.
__device__ __forceinline__ uint64_t smem_descriptor_128b(uint32_t shared, uint32_t leading, uint32_t stride) {
  return static_cast<uint64_t>((shared & 0x3ffff) >> 4) | static_cast<uint64_t>(leading >> 4) << 16 |
         static_cast<uint64_t>(stride >> 4) << 32 | static_cast<uint64_t>(1) << 62;
}

// ---- matrices of 8 x 8 elements of 16 bits, by a warp ------------------------------------------------------

// Four matrices; lane i gives the address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&to)[4], uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared)
               : "memory");
}

__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&to)[4], uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared)
               : "memory");
}

// sm_90. Addresses as ldmatrix_x4 takes them.
__device__ __forceinline__ void stmatrix_x4(uint32_t shared, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(shared), "r"(w0), "r"(w1),
               "r"(w2), "r"(w3)
               : "memory");
}

// Transposes a 4 x 4 matrix of words held by the four lanes of a quad: word s of lane t becomes word t
// of lane s. Two rounds of exchanges, with the lane one and two away.
__device__ __forceinline__ void transpose_quad(uint32_t (&w)[4]) {
  const bool odd = threadIdx.x & 1;
  const bool upper = threadIdx.x & 2;
#pragma unroll
  for (int p = 0; p < 4; p += 2) {
    const uint32_t got = __shfl_xor_sync(0xffffffffu, odd ? w[p] : w[p + 1], 1);
    (odd ? w[p] : w[p + 1]) = got;
  }
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    const uint32_t got = __shfl_xor_sync(0xffffffffu, upper ? w[p] : w[p + 2], 2);
    (upper ? w[p] : w[p + 2]) = got;
  }
}

// ---- products of a warp ------------------------------------------------------------------------------------

// accum (16 x 8, four fp32 a thread) += A (16 x 16, row-major) * B (16 x 8, column-major).
#define MMA_M16N8K16(types)                                                                                \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." types                                              \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"                    \
               : "+f"(accum[0]), "+f"(accum[1]), "+f"(accum[2]), "+f"(accum[3])                            \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
__device__ __forceinline__ void mma_m16n8k16(Half, float* accum, const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  MMA_M16N8K16("f16.f16");
}
__device__ __forceinline__ void mma_m16n8k16(Bfloat16, float* accum, const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  MMA_M16N8K16("bf16.bf16");
}
#undef MMA_M16N8K16

// ---- products of a warpgroup (sm_90a) ----------------------------------------------------------------------

// Before the first product that uses registers or shared memory written since the last one.
__device__ __forceinline__ void warpgroup_fence() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }

__device__ __forceinline__ void warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }

// All but the last kPending groups are done.
template <int kPending>
__device__ __forceinline__ void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving uses of the accumulators across a fence or a wait.
template <int kCount>
__device__ __forceinline__ void fence_operands(float (&accum)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    asm volatile("" : "+f"(accum[i])::"memory");
  }
}

// Operands of a wgmma: accumulators of array `d` from `i` on, and the numbers under which they stand in the text.
// Headers with further products (attention's) use them too.
// clang-format off
#define MMA_ACCUM_4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define MMA_ACCUM_16(d, i) MMA_ACCUM_4(d, i), MMA_ACCUM_4(d, (i) + 4), MMA_ACCUM_4(d, (i) + 8), MMA_ACCUM_4(d, (i) + 12)
#define MMA_ACCUM_32(d, i) MMA_ACCUM_16(d, i), MMA_ACCUM_16(d, (i) + 16)
#define MMA_ACCUM_64(d, i) MMA_ACCUM_32(d, i), MMA_ACCUM_32(d, (i) + 32)
#define MMA_ACCUM_96(d, i) MMA_ACCUM_64(d, i), MMA_ACCUM_32(d, (i) + 64)
#define MMA_ACCUM_128(d, i) MMA_ACCUM_64(d, i), MMA_ACCUM_64(d, (i) + 64)
#define MMA_NAMES_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MMA_NAMES_64 \
  MMA_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MMA_NAMES_96 \
  MMA_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define MMA_NAMES_128 \
  MMA_NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// accum (64 x N, fp32) += A (64 x K) * B (K x N). `what` is shape and types; `names` those of A and B; `tail` the
// scales and, for 16-bit types, the transpose bits of A and B (1: MN-major). Always added: the predicate is true.
#define MMA_WGMMA(what, count, names, tail)                                                                    \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"                                                 \
               "wgmma.mma_async.sync.aligned." what " {" MMA_NAMES_##count "}, " names ", add, " tail ";\n}\n" \
               : MMA_ACCUM_##count(accum, 0)                                                                   \
               : "l"(a), "l"(b))
// clang-format on

// A (64 rows) K-major; B MN-major (row-major K x N) for 16-bit types, K-major for fp8, which knows no other. N is twice
// the number of accumulators a thread. One call covers 32 bytes of k.
__device__ __forceinline__ void wgmma(Half, float (&accum)[128], uint64_t a, uint64_t b) {
  MMA_WGMMA("m64n256k16.f32.f16.f16", 128, "%128, %129", "1, 1, 0, 1");
}
__device__ __forceinline__ void wgmma(Half, float (&accum)[96], uint64_t a, uint64_t b) {
  MMA_WGMMA("m64n192k16.f32.f16.f16", 96, "%96, %97", "1, 1, 0, 1");
}
__device__ __forceinline__ void wgmma(Half, float (&accum)[64], uint64_t a, uint64_t b) {
  MMA_WGMMA("m64n128k16.f32.f16.f16", 64, "%64, %65", "1, 1, 0, 1");
}
__device__ __forceinline__ void wgmma(Bfloat16, float (&accum)[128], uint64_t a, uint64_t b) {
  MMA_WGMMA("m64n256k16.f32.bf16.bf16", 128, "%128, %129", "1, 1, 0, 1");
}
__device__ __forceinline__ void wgmma(Bfloat16, float (&accum)[96], uint64_t a, uint64_t b) {
  MMA_WGMMA("m64n192k16.f32.bf16.bf16", 96, "%96, %97", "1, 1, 0, 1");
}
__device__ __forceinline__ void wgmma(Bfloat16, float (&accum)[64], uint64_t a, uint64_t b) {
  MMA_WGMMA("m64n128k16.f32.bf16.bf16", 64, "%64, %65", "1, 1, 0, 1");
}
__device__ __forceinline__ void wgmma(Float8E4M3, float (&accum)[128], uint64_t a, uint64_t b) {
  MMA_WGMMA("m64n256k32.f32.e4m3.e4m3", 128, "%128, %129", "1, 1");
}
__device__ __forceinline__ void wgmma(Float8E4M3, float (&accum)[64], uint64_t a, uint64_t b) {
  MMA_WGMMA("m64n128k32.f32.e4m3.e4m3", 64, "%64, %65", "1, 1");
}

#undef MMA_WGMMA

// ---- rounding --------------------------------------------------------------------------------------------

__device__ __forceinline__ uint32_t pack_pair(Half, float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ __forceinline__ uint32_t pack_pair(Bfloat16, float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

}  // namespace mma
