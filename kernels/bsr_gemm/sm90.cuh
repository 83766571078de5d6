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

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- mbarriers -------------------------------------------------------------------------------------

// One thread.
__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the other CTAs of the cluster and to the copy engine.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
}

// One thread: one arrival, and `bytes` of copies to wait for in this phase.
__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}

// One thread: `count` arrivals at once.
__device__ __forceinline__ void barrier_arrive_times(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(count) : "memory");
}

// Arrives at the barrier that lies at the same place in CTA `rank` of the cluster. Not `release.cluster`: that costs
// a memory barrier, and what is told here is only that products have read a slot, which their wait has settled.
__device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, uint32_t rank) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

// Returns when the phase with this parity is complete.
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra DONE;\nbra WAIT;\nDONE:\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// A place in a ring of slots, and the parity of the phase in which it is visited.
template <int kSlots>
struct Ring {
  int slot = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++slot == kSlots) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// ---- clusters, registers ---------------------------------------------------------------------------

__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return rank;
}

// Whole warps. Between the two, work that the other CTAs need not see.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}

__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

template <int kRegisters>
__device__ __forceinline__ void registers_give_back() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void registers_take() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

// ---- bulk tensor copies ------------------------------------------------------------------------------

// L2 eviction policies as the copy instructions take them (the values createpolicy makes).
constexpr uint64_t kEvictNormal = 0x1000000000000000;
constexpr uint64_t kEvictFirst = 0x12F0000000000000;

// A policy that keeps `share` (0 to 1) of what it is given for as long as other lines can be evicted.
__device__ __forceinline__ uint64_t keep_policy(float share) {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, %1;\n" : "=l"(policy) : "f"(share));
  return policy;
}

// One thread. Coordinates: `x` along the contiguous dimension. Elements outside the tensor arrive as zeros,
// and count for the barrier like all others.
__device__ __forceinline__ void copy_in(uint32_t shared, const CUtensorMap* map, int x, int y, uint32_t barrier,
                                        uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
      : "memory");
}

// One thread: a box of neighbouring panels of 64 columns, as describe_panels lays them out, from `panel` and `row` on.
__device__ __forceinline__ void copy_in_panels(uint32_t shared, const CUtensorMap* map, int panel, int row,
                                               uint32_t barrier, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;\n" ::"r"(shared),
      "l"(map), "r"(0), "r"(row), "r"(panel), "r"(barrier), "l"(policy)
      : "memory");
}

// The same as copy_in into every CTA whose bit is set in `ranks`: data and byte count go to the same places there.
__device__ __forceinline__ void copy_in_multicast(uint32_t shared, const CUtensorMap* map, int x, int y,
                                                  uint32_t barrier, uint16_t ranks, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;\n" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(ranks), "l"(policy)
      : "memory");
}

// One thread. Elements outside the tensor are not written.
__device__ __forceinline__ void copy_out(const CUtensorMap* map, uint32_t shared, int x, int y, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%1, %2}], [%3], %4;\n" ::"l"(
          map),
      "r"(x), "r"(y), "r"(shared), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void copy_out_commit() { asm volatile("cp.async.bulk.commit_group;\n" ::: "memory"); }

// The thread that issued the stores: all but kPending groups have read their shared memory.
template <int kPending>
__device__ __forceinline__ void copy_out_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;\n" ::"n"(kPending) : "memory");
}

// ... and all are written.
__device__ __forceinline__ void copy_out_wait() { asm volatile("cp.async.bulk.wait_group 0;\n" ::: "memory"); }

__device__ __forceinline__ void prefetch_l2(const void* pointer) {
  asm volatile("prefetch.global.L2 [%0];\n" ::"l"(pointer));
}

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(map) : "memory");
}

// Ordinary writes to shared memory become visible to the copy engine and the tensor cores.
__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }

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
