// PTX instructions as functions of their own names, one instruction each and no policy: mbarriers, clusters, registers,
// named barriers, bulk tensor copies, asynchronous copies, fences, exponentials.
//
// Addresses called `shared` or `barrier` are 32-bit shared-memory addresses. Every function that one thread is to call
// says so; the others are for whole warps or warpgroups. Functions are inline, and one that a kernel does not call
// leaves nothing in it: kernels for sm_89 include this header as those for sm_90a do.

#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace ptx {

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- mbarriers (sm_90) ---------------------------------------------------------------------------------

// One thread.
__device__ __forceinline__ void mbarrier_init(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the other CTAs of the cluster and to the copy engine.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
}

// One thread: one arrival, and `bytes` of copies to wait for in this phase.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}

// One thread: `count` arrivals at once.
__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(count) : "memory");
}

// Arrives at the barrier that lies at the same place in CTA `rank` of the cluster. Not `release.cluster`: that costs
// a memory barrier, and what is told here is only that products have read a stage, which their wait has settled.
__device__ __forceinline__ void mbarrier_arrive_cluster(uint32_t barrier, uint32_t rank) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

// Returns when the phase with this parity is complete.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra DONE;\nbra WAIT;\nDONE:\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Returns when the phase is complete; at once where it is known to be.
__device__ __forceinline__ void mbarrier_wait_unless(bool known, uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nsetp.ne.u32 done, %2, 0;\n@done bra DONE;\nWAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra DONE;\nbra WAIT;\nDONE:\n}\n" ::"r"(barrier),
      "r"(parity), "r"(static_cast<uint32_t>(known))
      : "memory");
}

// Whether the phase with this parity is complete.
__device__ __forceinline__ bool mbarrier_test(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n.reg .pred done;\nmbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\nselp.u32 %0, 1, 0, done;\n}\n"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// Predicated rather than branched over: a branch at the end of a loop parts the warp, as far as the compiler can see,
// and all that the loop carries leaves the uniform registers.
__device__ __forceinline__ void mbarrier_arrive_if(bool arrives, uint32_t barrier) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\n@p mbarrier.arrive.shared::cta.b64 _, [%0];\n}\n" ::"r"(barrier),
      "r"(static_cast<uint32_t>(arrives))
      : "memory");
}

// A place in a ring of stages, and the parity of the phase in which it is visited.
template <int kStages>
struct PipelineState {
  int stage = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// ---- named barriers -------------------------------------------------------------------------------------

// Whole warps: kThreads threads meet at barrier `id`, those that only arrive included.
template <int kThreads>
__device__ __forceinline__ void named_barrier_sync(int id) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(id), "n"(kThreads) : "memory");
}

template <int kThreads>
__device__ __forceinline__ void named_barrier_arrive(int id) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(id), "n"(kThreads) : "memory");
}

// A word of shared memory where `reads`, else zero. Predicated for the reason above.
__device__ __forceinline__ uint32_t load_shared_if(bool reads, uint32_t shared) {
  uint32_t word;
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nmov.b32 %0, 0;\n@p ld.shared.b32 %0, [%1];\n}\n"
      : "=r"(word)
      : "r"(shared), "r"(static_cast<uint32_t>(reads))
      : "memory");
  return word;
}

// ---- clusters, registers (sm_90) -----------------------------------------------------------------------

__device__ __forceinline__ uint32_t cluster_ctarank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return rank;
}

// Whole warps. Between the two, work that the other CTAs need not see.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;\n" ::: "memory"); }

__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

template <int kRegisters>
__device__ __forceinline__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

// ---- bulk tensor copies (sm_90) ------------------------------------------------------------------------

// L2 eviction policies as the copy instructions take them (the values createpolicy makes).
constexpr uint64_t kEvictNormal = 0x1000000000000000;
constexpr uint64_t kEvictFirst = 0x12F0000000000000;

// A policy that keeps `share` (0 to 1) of what it is given for as long as other lines can be evicted.
__device__ __forceinline__ uint64_t createpolicy_evict_last(float share) {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, %1;\n" : "=l"(policy) : "f"(share));
  return policy;
}

// One thread. Coordinates: `x` along the contiguous dimension. Elements outside the tensor arrive as zeros,
// and count for the barrier like all others.
__device__ __forceinline__ void tma_load_2d(uint32_t shared, const CUtensorMap* tensor_map, int x, int y,
                                            uint32_t barrier, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(shared),
      "l"(tensor_map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void tma_load_3d(uint32_t shared, const CUtensorMap* tensor_map, int x, int y, int z,
                                            uint32_t barrier, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;\n" ::"r"(shared),
      "l"(tensor_map), "r"(x), "r"(y), "r"(z), "r"(barrier), "l"(policy)
      : "memory");
}

// One thread. Coordinates from the contiguous dimension on; elements outside the tensor arrive as zeros.
__device__ __forceinline__ void tma_load_5d(uint32_t shared, const CUtensorMap* tensor_map, int x0, int x1, int x2,
                                            int x3, int x4, uint32_t barrier, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], %8;\n" ::"r"(shared),
      "l"(tensor_map), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(barrier), "l"(policy)
      : "memory");
}

// Without a policy: another instruction than with kEvictNormal.
__device__ __forceinline__ void tma_load_3d(uint32_t shared, const CUtensorMap* tensor_map, int x, int y, int z,
                                            uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];\n" ::"r"(shared),
      "l"(tensor_map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

// The same as tma_load_2d into every CTA whose bit is set in `ranks`: data and byte count go to the same places there.
__device__ __forceinline__ void tma_load_multicast_2d(uint32_t shared, const CUtensorMap* tensor_map, int x, int y,
                                                      uint32_t barrier, uint16_t ranks, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;\n" ::"r"(shared),
      "l"(tensor_map), "r"(x), "r"(y), "r"(barrier), "h"(ranks), "l"(policy)
      : "memory");
}

// One thread. Elements outside the tensor are not written.
__device__ __forceinline__ void tma_store_2d(const CUtensorMap* tensor_map, uint32_t shared, int x, int y,
                                             uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%1, %2}], [%3], %4;\n" ::"l"(
          tensor_map),
      "r"(x), "r"(y), "r"(shared), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;\n" ::: "memory"); }

// The thread that issued the stores: all but kPending groups have read their shared memory.
template <int kPending>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;\n" ::"n"(kPending) : "memory");
}

// ... and all are written.
__device__ __forceinline__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group 0;\n" ::: "memory"); }

__device__ __forceinline__ void prefetch_tensormap(const CUtensorMap* tensor_map) {
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(tensor_map) : "memory");
}

// Ordinary writes to shared memory become visible to the copy engine and the tensor cores.
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }

// ---- asynchronous copies, prefetch (sm_80) ---------------------------------------------------------------

__device__ __forceinline__ void prefetch_l2(const void* pointer) {
  asm volatile("prefetch.global.L2 [%0];\n" ::"l"(pointer));
}

// How much L2 is asked to fetch with a copy of 16 bytes. Part of the instruction: assembled for each value.
enum class L2Prefetch { kNone, k128B, k256B };

#define PTX_BY_PREFETCH(copy)                            \
  if constexpr (kPrefetch == L2Prefetch::k256B) {        \
    copy(".L2::256B");                                   \
  } else if constexpr (kPrefetch == L2Prefetch::k128B) { \
    copy(".L2::128B");                                   \
  } else {                                               \
    copy("");                                            \
  }

// One thread: 16 bytes past L1, of which the first `bytes` are read and the rest are zeros.
template <L2Prefetch kPrefetch>
__device__ __forceinline__ void cp_async_16(uint32_t shared, const void* global, int bytes) {
#define PTX_COPY(hint)                                                                                          \
  asm volatile("cp.async.cg.shared.global" hint " [%0], [%1], 16, %2;\n" ::"r"(shared), "l"(global), "r"(bytes) \
               : "memory")
  PTX_BY_PREFETCH(PTX_COPY)
#undef PTX_COPY
}

// The same where `live`, else nothing. Predicated rather than branched over, so that copies can be scheduled between
// products.
template <L2Prefetch kPrefetch>
__device__ __forceinline__ void cp_async_16(uint32_t shared, const void* global, int bytes, bool live) {
#define PTX_COPY(hint)                                                                      \
  asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p, %3, 0;\n@p cp.async.cg.shared.global" hint \
               " [%0], [%1], 16, %2;\n}\n" ::"r"(shared),                                   \
               "l"(global), "r"(bytes), "r"(static_cast<int>(live))                         \
               : "memory")
  PTX_BY_PREFETCH(PTX_COPY)
#undef PTX_COPY
}

#undef PTX_BY_PREFETCH

// 16 bytes, whole and without a hint.
__device__ __forceinline__ void cp_async_16(uint32_t shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(shared), "l"(global) : "memory");
}

__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }

// All but the last kPending groups of this thread have landed.
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

// ---- arithmetic ------------------------------------------------------------------------------------------

// 2^x; subnormal results are zero.
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace ptx
