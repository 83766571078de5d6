// The order of a mask's rows, longest first, made on the device.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace attention {

constexpr int kMostOrderedRows = 8192;  // a million keys; beyond, rows keep their order

// One CTA a list: `order` becomes its rows by falling number of blocks, equal ones in their own order.
static __global__ void __launch_bounds__(1024)
    order_rows_kernel(const int* full_counts, const int* partial_counts, int rows, int* order) {
  __shared__ int lengths[kMostOrderedRows];
  const int64_t list = static_cast<int64_t>(blockIdx.x) * rows;
  if (rows > kMostOrderedRows) {
    for (int row = threadIdx.x; row < rows; row += blockDim.x) {
      order[list + row] = row;
    }
    return;
  }
  bool differ = false;
  for (int row = threadIdx.x; row < rows; row += blockDim.x) {
    const auto length = [&](int at) {
      return (full_counts != nullptr ? full_counts[list + at] : 0) +
             (partial_counts != nullptr ? partial_counts[list + at] : 0);
    };
    lengths[row] = length(row);
    differ = differ || lengths[row] != length(0);
    order[list + row] = row;
  }
  if (__syncthreads_or(differ)) {
    for (int row = threadIdx.x; row < rows; row += blockDim.x) {
      const int length = lengths[row];
      int place = 0;
      for (int other = 0; other < rows; ++other) {
        place += lengths[other] > length || (lengths[other] == length && other < row);
      }
      order[list + place] = row;
    }
  }
}

}  // namespace attention

// Writes which row comes first: `order` [lists][rows] for counts [lists][rows], of which one may be null. Needed once
// for a mask, not for each call.
extern "C" int assay_block_sparse_attention_order(const int* full_counts, const int* partial_counts, int lists,
                                                  int rows, int* order, void* stream) {
  if (lists <= 0 || rows <= 0 || order == nullptr) {
    return cudaErrorInvalidValue;
  }
  attention::order_rows_kernel<<<lists, 1024, 0, static_cast<cudaStream_t>(stream)>>>(full_counts, partial_counts,
                                                                                      rows, order);
  return cudaGetLastError();
}
