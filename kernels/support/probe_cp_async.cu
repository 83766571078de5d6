// Compiles where the arch copies from global to shared memory without passing registers (sm_80 on):
// each of 32 threads copies 16 bytes there and back.

#include <cstdint>

__global__ void probe_cp_async(const uint4* from, uint4* to) {
  __shared__ uint4 landing[32];
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(&landing[threadIdx.x]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(address), "l"(from + threadIdx.x) : "memory");
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;\n" ::: "memory");
  to[threadIdx.x] = landing[threadIdx.x];
}
