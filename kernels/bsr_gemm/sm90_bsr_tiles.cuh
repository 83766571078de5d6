// What the sm_90a BSR GEMM kernels share: the order of block rows (where B is dense) and of tiles, and the way out of
// C's panels.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/mma.cuh"
#include "common/ptx.cuh"

namespace bsr {

// Element bytes in what the 128-byte swizzle spans.
constexpr int kRowBytes = 128;

// ---- order of block rows -----------------------------------------------------------------------------

// All kThreads threads, with barriers: `order` becomes the block rows by falling length, equal ones in their own
// order. A row's place is the number of rows before it; where all are equal, nothing need be counted. Every CTA does
// this for itself: it takes less time than a launch of its own. The first column index of each row is on its
// way to L2 meanwhile. `lengths`: block_rows ints of scratch. Returns whether lengths differ.
template <int kThreads>
__device__ __forceinline__ bool sort_rows(const int* row_ptr, const int* col_idx, int block_rows, int* lengths,
                                          uint16_t* order) {
  const int first = row_ptr[1] - row_ptr[0];
  bool differ = false;
  for (int row = threadIdx.x; row < block_rows; row += kThreads) {
    const int begin = row_ptr[row];
    const int length = row_ptr[row + 1] - begin;
    lengths[row] = length;
    order[row] = static_cast<uint16_t>(row);
    differ = differ || length != first;
    if (length > 0) {
      ptx::prefetch_l2(col_idx + begin);
    }
  }
  const bool ragged = __syncthreads_or(differ) != 0;
  if (ragged) {
    for (int row = threadIdx.x; row < block_rows; row += kThreads) {
      const int length = lengths[row];
      int place = 0;
      for (int other = 0; other < block_rows; ++other) {
        place += lengths[other] > length || (lengths[other] == length && other < row);
      }
      order[place] = static_cast<uint16_t>(row);
    }
    __syncthreads();
  }
  return ragged;
}

// ---- order of tiles ----------------------------------------------------------------------------------

struct Tile {
  int row;
  int col;
};

// Tiles run down a group of `group` rows, then to the next column, then to the next group; the last may be lower.
__device__ __forceinline__ Tile tile_at(int index, int group, int rows, int cols) {
  const int group_tiles = group * cols;
  const int group_index = index / group_tiles;
  const int within = index - group_index * group_tiles;
  const int height = min(group, rows - group_index * group);
  return {group_index * group + within % height, within / height};
}

// Index of this cluster's tile in round `round`. Where rows are ragged every second round runs in reverse, so that they
// even out; where they are not, a cluster has the same place in every round, and so often the same row of A.
template <int kCluster>
__device__ __forceinline__ int tile_index(int round, bool ragged) {
  const int clusters = static_cast<int>(gridDim.x) / kCluster;
  const int cluster = static_cast<int>(blockIdx.x) / kCluster;
  return round * clusters + (round % 2 == 0 || !ragged ? cluster : clusters - 1 - cluster);
}

// ---- the way out -------------------------------------------------------------------------------------

// One warp: its 16 rows of kCount neighbouring panels of 64 columns of C, rounded to 16 bits, laid out as TMA reads
// them, and stored. `out` is the first panel's memory, 64 rows of 128 bytes, the others follow; `pair(i)` gives the
// thread's i-th pair of neighbouring accumulators, 16 a panel.
template <int kCount, typename Pair>
__device__ __forceinline__ void store_panels(uint32_t out, const CUtensorMap* map_c, int row, int column, Pair pair) {
  constexpr int kPanelBytes = 64 * kRowBytes;
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 % 4 * 16;
  // The lane's row in its stmatrix, and which of two neighbouring groups of 8 columns it addresses.
  const int out_row = lane % 16;
  const int out_chunk = lane / 16;
  const uint32_t rows = out + warp_row * kRowBytes;
#pragma unroll
  for (int i = 0; i < 4 * kCount; ++i) {
    const uint32_t chunk = (i % 4 * 2 + out_chunk) ^ (out_row & 7);
    mma::stmatrix_x4(rows + i / 4 * kPanelBytes + out_row * kRowBytes + chunk * 16, pair(4 * i), pair(4 * i + 1),
                     pair(4 * i + 2), pair(4 * i + 3));
  }
  ptx::fence_proxy_async();
  __syncwarp();
  if (lane == 0) {
#pragma unroll
    for (int panel = 0; panel < kCount; ++panel) {
      ptx::tma_store_2d(map_c, rows + panel * kPanelBytes, column + panel * 64, row + warp_row, ptx::kEvictFirst);
    }
    ptx::tma_store_commit();
  }
}

}  // namespace bsr
