// Compiles where the arch has the Tensor Memory Accelerator: one thread asks for a 2-D box by its
// descriptor (cp.async.bulk.tensor), an mbarrier counts its bytes, all 32 threads wait for them.
// The box is 8 x 64 halves (1 KiB), without swizzle.

#include <cstdint>

__global__ void probe_tma(const void* descriptor, uint4* to) {
  constexpr uint32_t kBytes = 1024;
  __shared__ __align__(128) uint4 box[kBytes / 16];
  __shared__ __align__(8) uint64_t full;
  const auto barrier = static_cast<uint32_t>(__cvta_generic_to_shared(&full));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
  }
  __syncthreads();  // the barrier exists before anybody waits on it
  if (threadIdx.x == 0) {
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(box));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(kBytes) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];\n" ::"r"(address),
        "l"(descriptor), "r"(0), "r"(0), "r"(barrier)
        : "memory");
  }
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}\n"
        : "=r"(done)
        : "r"(barrier)
        : "memory");
  }
  to[threadIdx.x] = box[threadIdx.x];
}
