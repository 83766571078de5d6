// Compiles where the arch has warpgroup products (sm_90a only): one 64x8x16 fp16 product by the four
// warps of a warpgroup, both operands by shared-memory descriptors, fp32 sums in registers.

#include <cstdint>

__global__ void probe_wgmma(uint64_t a_descriptor, uint64_t b_descriptor, float* sums) {
  float sum[4] = {};
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\n"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "l"(a_descriptor), "l"(b_descriptor));
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" ::: "memory");
  for (int i = 0; i < 4; ++i) {
    sums[threadIdx.x * 4 + i] = sum[i];
  }
}
