// C[m,n] = A_bsr[m,k] * B[k,n], fp16 in and out, fp32 sums: the WMMA family of source 002.
//
// Source 002 (supported by 000 and 001) publishes four stages of one kernel without its code. This
// file rebuilds them from what it states; -D defines choose the stage (README.md has the ladder):
//
//   stated                                                  here
//   WMMA m16n16k16, fp16 -> fp32 accumulation               nvcuda::wmma, accumulators in registers
//   tile sizes BM, BN, BK, warp tile WM x WN                the same names as defines
//   "cooperative loads", later "cp.async.cg, 16 bytes,      CP_ASYNC = 0 or 1; one tile in shared memory,
//   wait_group<0>"                                          so loads and products do not overlap
//   "column-major transpose in shared memory"               B lands as B_tmp[BK][BN], is turned into B[BN][BK]
//   shared memory = A + B + B_tmp                           the same, unpadded
//   "binary search for block matching", BSR x BSR           SPARSE_B = 1
//
// The tile of one CTA (one block row of A, BN columns of C), walking the stored blocks of its row:
//
//                        BN                        Warps lie row by row over the BM x BN tile,
//                    +---------+                   each owns WM x WN of it as (WM/16) x (WN/16)
//                 BK |  B_tmp  |                   accumulator fragments. All warps load, all
//                    +---------+                   warps transpose, all warps multiply.
//            BK           |  transpose
//          +----+    +---------+                   One step of BK, CP_ASYNC = 1:
//          |    |    | w0 | w1 |                     copy A, B_tmp; wait_group 0; barrier
//       BM | A  |    +----+----+  WM                 B_tmp -> B;                  barrier
//          |    |    | w2 | w3 |                     products;                    barrier
//          +----+    +---------+
//                      WN
//
// Shared memory: 2 * (BM*BK + 2*BN*BK) bytes; the epilogue reuses 1 KiB a warp of it. What the source leaves open is a
// define, so that it can be measured both ways: bsr_wmma_tile.cuh lists ELEMENTWISE, OUT_F32, PAD and BUFFERS.
// Requires: m % BM == 0, n % BN == 0, k % BLOCK_K == 0, 16-byte aligned pointers. A stored block of A
// is BM x BLOCK_K, one of a sparse B is BLOCK_K x BN, both row-major.

#include "bsr_wmma_tile.cuh"
#include "common/launch.cuh"

#ifndef FIRST_HIT
#define FIRST_HIT 0  // 1: the search in B's row ends at the first equal column, as the source's own program does
#endif

namespace {

// Where B's block (block_row, block_col) is stored, or -1: binary search over rising column indices. Where they do not
// rise, which blocks it misses depends on the search (src/assay/shared/sparsity.py simulates both).
#if FIRST_HIT
__device__ __forceinline__ int find_block(const int* row_ptr, const int* col_idx, int block_row, int block_col) {
  int low = row_ptr[block_row];
  int last = row_ptr[block_row + 1] - 1;
  while (low <= last) {
    const int middle = (low + last) / 2;
    const int column = col_idx[middle];
    if (column == block_col) {
      return middle;
    }
    if (column < block_col) {
      low = middle + 1;
    } else {
      last = middle - 1;
    }
  }
  return -1;
}
#else
__device__ __forceinline__ int find_block(const int* row_ptr, const int* col_idx, int block_row, int block_col) {
  int low = row_ptr[block_row];
  const int end = row_ptr[block_row + 1];
  int high = end;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (col_idx[middle] < block_col) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < end && col_idx[low] == block_col ? low : -1;
}
#endif

// The stored blocks of a block row of A that meet one of B, in order.
struct Walk {
  const __half* a_values;
  const int* a_col_idx;
  const __half* b_values;
  const int* b_row_ptr;
  const int* b_col_idx;
  int n;
  int block_col;
  int stored;  // the one to be looked at next
  int end;
  int step = Config::kStepsPerBlock;  // of the present block, all done at first
  const __half* a_block = nullptr;
  const __half* b_block = nullptr;
  size_t b_stride = 0;

  // Moves on by a step of BK; false where there is none. The same for every thread.
  __device__ __forceinline__ bool next() {
    if (++step < Config::kStepsPerBlock) {
      return true;
    }
    for (; stored < end; ++stored) {
      const int inner = a_col_idx[stored];
      if constexpr (Config::kSparseB) {
        const int found = find_block(b_row_ptr, b_col_idx, inner, block_col);
        if (found < 0) {
          continue;
        }
        b_block = b_values + static_cast<size_t>(found) * Config::kBlockK * Config::kTileN;
        b_stride = Config::kTileN;
      } else {
        b_block = b_values + static_cast<size_t>(inner) * Config::kBlockK * n +
                  static_cast<size_t>(block_col) * Config::kTileN;
        b_stride = n;
      }
      a_block = a_values + static_cast<size_t>(stored++) * Config::kTileM * Config::kBlockK;
      step = 0;
      return true;
    }
    return false;
  }

  __device__ __forceinline__ void load(__half* a_tile, __half* b_landing) const {
    load_tile<Config::kTileM, Config::kTileK, Config::kStrideA>(a_tile, a_block + step * Config::kTileK,
                                                                Config::kBlockK);
    load_tile<Config::kTileK, Config::kTileN, Config::kStrideLanding>(
        b_landing, b_block + step * Config::kTileK * b_stride, b_stride);
  }
};

// Two buffers: a step's copies are waited for a step later, all of them (wait_group 0).
__device__ __forceinline__ void multiply_row(Accumulator (&sums)[Config::kFragmentsM][Config::kFragmentsN], Walk walk,
                                             __half* tiles, int warp_row, int warp_col) {
  constexpr int kBuffer = Config::kHalvesA + Config::kHalvesLanding;
  __half* b_tile = tiles + Config::kBuffers * kBuffer;
  int buffer = 0;
  bool more = walk.next();
  if (more) {
    walk.load(tiles, tiles + Config::kHalvesA);
  }
  while (more) {
    __half* a_tile = tiles + buffer * kBuffer;
    buffer ^= 1;
    __half* next_tile = tiles + buffer * kBuffer;
    wait_for_copies();
    __syncthreads();  // every thread's copies have landed, and all warps are done with the other buffer and with B
    more = walk.next();
    if (more) {
      walk.load(next_tile, next_tile + Config::kHalvesA);
    }
    transpose_b(b_tile, a_tile + Config::kHalvesA);
    __syncthreads();  // B is complete before any warp reads it
    multiply_tiles(sums, a_tile, b_tile, warp_row, warp_col);
  }
  __syncthreads();  // the epilogue overwrites the tiles
}

__global__ void __launch_bounds__(Config::kThreads, 1)
    bsr_wmma_kernel(const __half* __restrict__ a_values, const int* __restrict__ a_row_ptr,
                    const int* __restrict__ a_col_idx, const __half* __restrict__ b_values,
                    const int* __restrict__ b_row_ptr, const int* __restrict__ b_col_idx,
                    Output* __restrict__ c, int n) {
  extern __shared__ __align__(128) unsigned char shared[];
  __half* a_tile = reinterpret_cast<__half*>(shared);

  const int block_row = blockIdx.y;
  const int block_col = blockIdx.x;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / Config::kWarpsN * Config::kWarpM;
  const int warp_col = warp % Config::kWarpsN * Config::kWarpN;

  Accumulator sums[Config::kFragmentsM][Config::kFragmentsN];
  clear(sums);

  const int row_end = a_row_ptr[block_row + 1];
  if constexpr (Config::kBuffers == 2) {
    const Walk walk{a_values, a_col_idx, b_values, b_row_ptr, b_col_idx, n, block_col, a_row_ptr[block_row], row_end};
    multiply_row(sums, walk, a_tile, warp_row, warp_col);
    write_tile(sums, shared, c, n, block_row, block_col);
    return;
  }

  __half* b_tile = a_tile + Config::kHalvesA;
  __half* b_landing = b_tile + Config::kHalvesB;
  for (int stored = a_row_ptr[block_row]; stored < row_end; ++stored) {
    const int inner = a_col_idx[stored];
    const __half* a_block = a_values + static_cast<size_t>(stored) * Config::kTileM * Config::kBlockK;
    const __half* b_block;
    size_t b_stride;
    if constexpr (Config::kSparseB) {
      const int found = find_block(b_row_ptr, b_col_idx, inner, block_col);
      if (found < 0) {
        continue;  // the same for every thread: no barrier is skipped by some of them
      }
      b_block = b_values + static_cast<size_t>(found) * Config::kBlockK * Config::kTileN;
      b_stride = Config::kTileN;
    } else {
      b_block = b_values + static_cast<size_t>(inner) * Config::kBlockK * n +
                static_cast<size_t>(block_col) * Config::kTileN;
      b_stride = n;
    }

    for (int step = 0; step < Config::kStepsPerBlock; ++step) {
      const __half* a_from = a_block + step * Config::kTileK;
      const __half* b_from = b_block + step * Config::kTileK * b_stride;
      if constexpr (Config::kElementwise) {
        load_elements<Config::kTileM, Config::kTileK, Config::kStrideA>(a_tile, a_from, Config::kBlockK);
        load_transposed(b_tile, b_from, b_stride);
      } else {
        load_tile<Config::kTileM, Config::kTileK, Config::kStrideA>(a_tile, a_from, Config::kBlockK);
        load_tile<Config::kTileK, Config::kTileN, Config::kStrideLanding>(b_landing, b_from, b_stride);
        wait_for_copies();
        __syncthreads();  // every thread's copies have landed
        transpose_b(b_tile, b_landing);
      }
      __syncthreads();  // B is complete before any warp reads it
      multiply_tiles(sums, a_tile, b_tile, warp_row, warp_col);
      __syncthreads();  // all warps are done with A before the next copies, or the epilogue, overwrite it
    }
  }
  write_tile(sums, shared, c, n, block_row, block_col);
}

cudaError_t run(const void* a_values, const int* a_row_ptr, const int* a_col_idx, const void* b_values,
                const int* b_row_ptr, const int* b_col_idx, void* c, int m, int n, int k, void* stream) {
  constexpr int kMaxGridY = 65535;
  if (m <= 0 || n <= 0 || k <= 0 || m % Config::kTileM != 0 || n % Config::kTileN != 0 ||
      k % Config::kBlockK != 0 || m / Config::kTileM > kMaxGridY) {
    return cudaErrorInvalidValue;
  }
  if (!launch::is_aligned_16(a_values) || !launch::is_aligned_16(b_values) || !is_aligned(static_cast<Output*>(c))) {
    return cudaErrorInvalidValue;
  }
  launch::DeviceLimits limits;
  const cudaError_t error = launch::prepare(bsr_wmma_kernel, Config::kSharedBytes, &limits);
  if (error != cudaSuccess) {
    return error;  // the tile may not fit this GPU
  }
  const dim3 grid(n / Config::kTileN, m / Config::kTileM);
  bsr_wmma_kernel<<<grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const __half*>(a_values), a_row_ptr, a_col_idx, static_cast<const __half*>(b_values), b_row_ptr,
      b_col_idx, static_cast<Output*>(c), n);
  return cudaGetLastError();
}

}  // namespace

#if SPARSE_B
extern "C" int assay_bsr_bsr_gemm(const void* a_values, const int* a_row_ptr, const int* a_col_idx,
                                  const void* b_values, const int* b_row_ptr, const int* b_col_idx, void* c, int m,
                                  int n, int k, void* /*workspace*/, size_t /*workspace_bytes*/, void* stream) {
  return run(a_values, a_row_ptr, a_col_idx, b_values, b_row_ptr, b_col_idx, c, m, n, k, stream);
}
#else
extern "C" int assay_bsr_gemm(const void* a_values, const int* a_row_ptr, const int* a_col_idx, const void* b, void* c,
                              int m, int n, int k, void* /*workspace*/, size_t /*workspace_bytes*/, void* stream) {
  return run(a_values, a_row_ptr, a_col_idx, b, nullptr, nullptr, c, m, n, k, stream);
}
#endif
