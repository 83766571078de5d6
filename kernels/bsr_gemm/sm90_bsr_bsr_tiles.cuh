// What the sm_90a kernels with A and B in BSR share: B's pattern as bit masks, a consumer's products, the way
// out; on the host, checks of arguments, tensor maps and how many tiles there are.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"
#include "sm90_bsr_tiles.cuh"

namespace bsr {

// ---- patterns ------------------------------------------------------------------------------------------

// The bits of one block column in the two halves of a word of 64; none where `col` lies in another word.
__device__ __forceinline__ void add_column(int col, int word, unsigned& low, unsigned& high) {
  const int bit = col - word * 64;
  low |= bit >= 0 && bit < 32 ? 1u << bit : 0u;
  high |= bit >= 32 && bit < 64 ? 1u << (bit - 32) : 0u;
}

// All kThreads threads: B's pattern as masks, p.words a block row, and both patterns' row bounds, where `shared` says
// that they lie. Every word has one writer; a barrier follows.
template <int kThreads, typename Problem, typename Shared>
__device__ __forceinline__ void build_tables(const Problem& p, const Shared& shared) {
  constexpr unsigned kAll = 0xffffffffu;
  constexpr int kWarps = kThreads / 32;
  constexpr int kRows = 8;  // block rows of B whose indices a warp asks for at once: nothing else runs meanwhile
  const int lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i <= p.rows; i += kThreads) {
    shared.a_row_ptr(p)[i] = p.a_row_ptr[i];
  }
#pragma unroll 1
  for (int top = threadIdx.x / 32; top < p.inner; top += kRows * kWarps) {
    const int mine = top + lane * kWarps;
    const bool have = lane < kRows && mine < p.inner;
    const int begin = have ? p.b_row_ptr[mine] : 0;
    const int end = have ? p.b_row_ptr[mine + 1] : 0;
    if (have) {
      shared.b_row_ptr(p)[mine] = begin;
    }
    int first[kRows];  // one lane a stored block
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int at = __shfl_sync(kAll, begin, i) + lane;
      first[i] = at < __shfl_sync(kAll, end, i) ? p.b_col_idx[at] : -1;
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = top + i * kWarps;
      const int further = __shfl_sync(kAll, begin, i) + lane + 32;
      const int row_end = __shfl_sync(kAll, end, i);
      if (row < p.inner) {
#pragma unroll 1
        for (int word = 0; word < p.words; ++word) {
          unsigned low = 0;
          unsigned high = 0;
          add_column(first[i], word, low, high);
#pragma unroll 1
          for (int at = further; at < row_end; at += 32) {
            add_column(p.b_col_idx[at], word, low, high);
          }
          __syncwarp();
          low = __reduce_or_sync(kAll, low);  // the lanes' bits meet in registers
          high = __reduce_or_sync(kAll, high);
          if (lane == 0) {
            shared.masks()[row * p.words + word] = static_cast<unsigned long long>(high) << 32 | low;
          }
        }
      }
    }
  }
}

// Where block (inner, col) of B is stored, or -1. Needs the tables.
template <typename Problem, typename Shared>
__device__ __forceinline__ int find_block(const Problem& p, const Shared& shared, int inner, int col) {
  const unsigned long long* masks = shared.masks() + inner * p.words;
  const unsigned long long bit = 1ull << (col % 64);
  const unsigned long long word = masks[col / 64];
  if ((word & bit) == 0) {
    return -1;
  }
  int place = shared.b_row_ptr(p)[inner] + __popcll(word & (bit - 1));
  for (int i = 0; i < col / 64; ++i) {
    place += __popcll(masks[i]);
  }
  return place;
}

// ---- products ------------------------------------------------------------------------------------------

// A warpgroup's 128 x 128 tile of C, as two halves of 64 rows.
using Accumulators = float[2][64];

__device__ __forceinline__ void clear(Accumulators& accum) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      accum[half][i] = 0.0f;
    }
  }
}

// accum += A [128][64] * B [64][128], both in shared memory as TMA swizzles them, B as two panels of 64 columns.
template <typename Element>
__device__ __forceinline__ void multiply_step(Element, Accumulators& accum, uint32_t a, uint32_t b) {
  const uint64_t desc_a = mma::smem_descriptor_128b(a, 0, 1024);
  const uint64_t desc_b = mma::smem_descriptor_128b(b, 64 * kRowBytes, 1024);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      mma::wgmma(Element{}, accum[half], desc_a + half * (64 * 128 >> 4) + k * (32 >> 4), desc_b + k * (2048 >> 4));
    }
  }
}

// ---- the way out ---------------------------------------------------------------------------------------

// Each warp its own 16 rows of each half, with its own stores, through kOutPanels panels in turn; `out(i)` is where
// panel i lies.
template <int kOutPanels, typename Element, typename Out>
__device__ __forceinline__ void store_accumulators(Element, const Accumulators& accum, Out out,
                                                   const CUtensorMap* map_c, int row, int column) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int half = i / 2;
    const int panel = i % 2;
    ptx::tma_store_wait_read<kOutPanels - 1>();  // the store that read this panel last has read it
    __syncwarp();
    store_panels<1>(out(i % kOutPanels), map_c, row + half * 64, column + panel * 64, [&](int pair) {
      const float* s = accum[half] + panel * 32 + 2 * pair;
      return mma::pack_pair(Element{}, s[0], s[1]);
    });
  }
}

// ---- host ----------------------------------------------------------------------------------------------

// Block rows of A and C, block columns of A, block columns of B and C; blocks are 128 x block_k and block_k x 128.
struct Shape {
  int rows;
  int inner;
  int cols;
};

// cudaErrorInvalidValue where sizes are no whole blocks, or a pointer or the workspace is not what the ABI asks for.
inline cudaError_t read_shape(Shape* shape, const void* a_values, const void* b_values, const void* c, int m, int n,
                              int k, int block_k, const void* workspace, size_t workspace_bytes) {
  if (m <= 0 || n <= 0 || k <= 0 || m % 128 != 0 || n % 128 != 0 || k % block_k != 0) {
    return cudaErrorInvalidValue;
  }
  if (!launch::is_aligned_16(a_values) || !launch::is_aligned_16(b_values) || !launch::is_aligned_16(c) ||
      !launch::is_aligned_16(workspace) || workspace == nullptr || workspace_bytes < sizeof(int)) {
    return cudaErrorInvalidValue;
  }
  *shape = {m / 128, k / block_k, n / 128};
  return cudaSuccess;
}

struct Maps {
  CUtensorMap a;  // boxes [128][64]
  CUtensorMap b;  // ... [2][64][64]
  CUtensorMap c;  // ... [16][64]
};

// How many blocks are stored is not known here: the tensor maps cover as many as there can be. Without any there may be
// no memory: nothing is read then, but a tensor map needs an address.
inline cudaError_t make_maps(Maps* maps, const Shape& shape, const void* a_values, const void* b_values, void* c,
                             int block_k) {
  const int64_t rows_a = static_cast<int64_t>(shape.rows) * shape.inner * 128;
  const int64_t rows_b = static_cast<int64_t>(shape.inner) * shape.cols * block_k;
  const void* blocks_a = a_values != nullptr ? a_values : c;
  const void* blocks_b = b_values != nullptr ? b_values : c;
  cudaError_t error = launch::make_tensor_map_2d(&maps->a, blocks_a, rows_a, block_k, 128, 64);
  if (error == cudaSuccess) {
    error = launch::make_tensor_map_panels(&maps->b, blocks_b, rows_b, 128, 64, 2);
  }
  if (error == cudaSuccess) {
    error = launch::make_tensor_map_2d(&maps->c, c, shape.rows * 128, shape.cols * 128, 16, 64);
  }
  return error;
}

// Tiles of a block row and two block columns, the last of them, one a CTA, column by column.
struct Tiles {
  int pairs;  // of block columns; the last may lack its second
  int whole;
  int all;
  int grid;
};

inline Tiles count_tiles(const Shape& shape, int sms) {
  const int pairs = (shape.cols + 1) / 2;
  const int split = shape.rows * pairs < sms ? shape.rows * pairs : sms;
  const int whole = shape.rows * pairs - split;
  const int all = whole + 2 * split;
  return {pairs, whole, all, all < sms ? all : sms};
}

}  // namespace bsr
