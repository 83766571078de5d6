// Tensor maps of Q, K and V, [batches][heads][tokens][head_dim] with any strides, and the copy that follows them.

#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/launch.cuh"

namespace ptx {

// One thread. Coordinates from the contiguous dimension on; elements outside the tensor arrive as zeros.
__device__ __forceinline__ void tma_load_4d(uint32_t shared, const CUtensorMap* tensor_map, int x0, int x1, int x2,
                                            int x3, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5}], [%6];\n" ::"r"(shared),
      "l"(tensor_map), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(barrier)
      : "memory");
}

}  // namespace ptx

namespace attention {

// Strides in elements of 16 bits. A box is box_tokens tokens of one head, box_columns of each.
inline cudaError_t make_token_map(CUtensorMap* map, const void* pointer, int batches, int heads, int tokens,
                                  int head_dim, int64_t batch, int64_t head, int64_t row, int box_tokens,
                                  int box_columns, CUtensorMapSwizzle swizzle) {
  const auto size = [](int n) { return static_cast<cuuint64_t>(n); };
  // A dimension of one has a stride that nobody follows, but the map wants a sound one.
  const auto bytes = [&](int n, int64_t stride) { return static_cast<cuuint64_t>(2 * (n > 1 ? stride : head_dim)); };
  return launch::make_tensor_map<4>(map, pointer, {size(head_dim), size(tokens), size(heads), size(batches)},
                                    {bytes(tokens, row), bytes(heads, head), bytes(batches, batch)},
                                    {static_cast<cuuint32_t>(box_columns), static_cast<cuuint32_t>(box_tokens), 1, 1},
                                    2, swizzle);
}

}  // namespace attention
