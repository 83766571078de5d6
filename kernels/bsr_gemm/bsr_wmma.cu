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
// Shared memory: 2 * (BM*BK + 2*BN*BK) bytes; the epilogue reuses 1 KiB a warp of it.
// Requires: m % BM == 0, n % BN == 0, k % BLOCK_K == 0, 16-byte aligned pointers. A stored block of A
// is BM x BLOCK_K, one of a sparse B is BLOCK_K x BN, both row-major.

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstddef>
#include <cstdint>

#if !defined(BM) || !defined(BN) || !defined(BK) || !defined(WM) || !defined(WN)
#error "define the tile: BM, BN, BK and the warp tile WM, WN (kernel.yaml lists the stages)"
#endif
#ifndef BLOCK_K
#define BLOCK_K BK
#endif
#ifndef CP_ASYNC
#define CP_ASYNC 0
#endif
#ifndef SPARSE_B
#define SPARSE_B 0
#endif

namespace {

struct Config {
  static constexpr int kTileM = BM;
  static constexpr int kTileN = BN;
  static constexpr int kTileK = BK;
  static constexpr int kBlockK = BLOCK_K;
  static constexpr int kWarpM = WM;
  static constexpr int kWarpN = WN;
  static constexpr bool kAsyncCopies = CP_ASYNC != 0;
  static constexpr bool kSparseB = SPARSE_B != 0;

  static constexpr int kFragment = 16;
  static constexpr int kFragmentsM = kWarpM / kFragment;
  static constexpr int kFragmentsN = kWarpN / kFragment;
  static constexpr int kWarpsN = kTileN / kWarpN;
  static constexpr int kWarps = (kTileM / kWarpM) * kWarpsN;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kStepsPerBlock = kBlockK / kTileK;

  static constexpr int kVector = 8;  // halves in one 16-byte copy
  static constexpr int kHalvesA = kTileM * kTileK;
  static constexpr int kHalvesB = kTileN * kTileK;
  static constexpr int kTileBytes = 2 * (kHalvesA + 2 * kHalvesB);
  static constexpr int kPatchFloats = kFragment * kFragment;
  static constexpr int kPatchBytes = 4 * kWarps * kPatchFloats;
  static constexpr int kSharedBytes = kTileBytes > kPatchBytes ? kTileBytes : kPatchBytes;

  static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warp tiles must cover the CTA tile");
  static_assert(kWarpM % kFragment == 0 && kWarpN % kFragment == 0, "WMMA works on 16 x 16 tiles");
  static_assert(kTileK % kFragment == 0, "BK must be a multiple of WMMA's K of 16");
  static_assert(kBlockK % kTileK == 0, "BK must divide the stored block's width BLOCK_K");
  static_assert(kTileN % kVector == 0, "rows of B are copied 16 bytes at a time");
  static_assert(kThreads <= 1024, "a CTA has at most 1024 threads");
  static_assert(kSharedBytes <= 227 * 1024, "no GPU of today has more shared memory a CTA");
};

// One 16-byte copy from global to shared memory. Asynchronous copies skip L1 (.cg), as the source says.
__device__ __forceinline__ void copy_16_bytes(__half* shared, const __half* global) {
  if constexpr (Config::kAsyncCopies) {
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(address), "l"(global) : "memory");
  } else {
    *reinterpret_cast<uint4*>(shared) = *reinterpret_cast<const uint4*>(global);
  }
}

// All threads copy a kRows x kCols tile; rows are contiguous in shared memory and `stride` halves
// apart in global memory.
template <int kRows, int kCols>
__device__ __forceinline__ void load_tile(__half* shared, const __half* global, size_t stride) {
  constexpr int kVectorsPerRow = kCols / Config::kVector;
  for (int i = threadIdx.x; i < kRows * kVectorsPerRow; i += Config::kThreads) {
    const int row = i / kVectorsPerRow;
    const int col = i % kVectorsPerRow * Config::kVector;
    copy_16_bytes(shared + row * kCols + col, global + row * stride + col);
  }
}

__device__ __forceinline__ void wait_for_copies() {
  if constexpr (Config::kAsyncCopies) {
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;\n" ::: "memory");
  }
}

// B_tmp[BK][BN] -> B[BN][BK]. Neighbouring threads take neighbouring columns, so the reads meet no
// bank conflict; each thread gathers eight k of its column and writes them as 16 bytes.
__device__ __forceinline__ void transpose_b(__half* b, const __half* b_tmp) {
  constexpr int kTasks = Config::kTileN * (Config::kTileK / Config::kVector);
  for (int i = threadIdx.x; i < kTasks; i += Config::kThreads) {
    const int col = i % Config::kTileN;
    const int k = i / Config::kTileN * Config::kVector;
    __align__(16) __half column[Config::kVector];
#pragma unroll
    for (int j = 0; j < Config::kVector; ++j) {
      column[j] = b_tmp[(k + j) * Config::kTileN + col];
    }
    *reinterpret_cast<uint4*>(b + col * Config::kTileK + k) = *reinterpret_cast<const uint4*>(column);
  }
}

using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

__device__ __forceinline__ void multiply_tiles(
    Accumulator (&sums)[Config::kFragmentsM][Config::kFragmentsN], const __half* a, const __half* b,
    int warp_row, int warp_col) {
  using namespace nvcuda;
#pragma unroll
  for (int k = 0; k < Config::kTileK; k += Config::kFragment) {
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b_part[Config::kFragmentsN];
#pragma unroll
    for (int j = 0; j < Config::kFragmentsN; ++j) {
      const int col = warp_col + j * Config::kFragment;
      wmma::load_matrix_sync(b_part[j], b + col * Config::kTileK + k, Config::kTileK);
    }
#pragma unroll
    for (int i = 0; i < Config::kFragmentsM; ++i) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a_part;
      const int row = warp_row + i * Config::kFragment;
      wmma::load_matrix_sync(a_part, a + row * Config::kTileK + k, Config::kTileK);
#pragma unroll
      for (int j = 0; j < Config::kFragmentsN; ++j) {
        wmma::mma_sync(sums[i][j], a_part, b_part[j], sums[i][j]);
      }
    }
  }
}

// The mapping of elements to lanes differs between fragment types, so sums go through a 16 x 16 patch
// of shared memory that belongs to the warp; then each lane rounds and writes 8 neighbours (16 bytes).
__device__ __forceinline__ void store_tile(
    Accumulator (&sums)[Config::kFragmentsM][Config::kFragmentsN], float* patch, __half* c, size_t n) {
  const int lane = threadIdx.x % 32;
  const int row = lane / 2;
  const int col = lane % 2 * Config::kVector;
#pragma unroll
  for (int i = 0; i < Config::kFragmentsM; ++i) {
#pragma unroll
    for (int j = 0; j < Config::kFragmentsN; ++j) {
      nvcuda::wmma::store_matrix_sync(patch, sums[i][j], Config::kFragment, nvcuda::wmma::mem_row_major);
      __syncwarp();
      const float* from = patch + row * Config::kFragment + col;
      __align__(16) __half2 rounded[Config::kVector / 2];
#pragma unroll
      for (int p = 0; p < Config::kVector / 2; ++p) {
        rounded[p] = __floats2half2_rn(from[2 * p], from[2 * p + 1]);
      }
      __half* to = c + (i * Config::kFragment + row) * n + j * Config::kFragment + col;
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(rounded);
      __syncwarp();  // the next fragment overwrites the patch
    }
  }
}

// Where B's block (block_row, block_col) is stored, or -1: binary search over rising column indices.
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

__global__ void __launch_bounds__(Config::kThreads, 1)
    bsr_wmma_kernel(const __half* __restrict__ a_values, const int* __restrict__ a_row_ptr,
                    const int* __restrict__ a_col_idx, const __half* __restrict__ b_values,
                    const int* __restrict__ b_row_ptr, const int* __restrict__ b_col_idx,
                    __half* __restrict__ c, int n) {
  extern __shared__ __align__(128) unsigned char shared[];
  __half* a_tile = reinterpret_cast<__half*>(shared);
  __half* b_tile = a_tile + Config::kHalvesA;
  __half* b_landing = b_tile + Config::kHalvesB;

  const int block_row = blockIdx.y;
  const int block_col = blockIdx.x;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / Config::kWarpsN * Config::kWarpM;
  const int warp_col = warp % Config::kWarpsN * Config::kWarpN;

  Accumulator sums[Config::kFragmentsM][Config::kFragmentsN];
#pragma unroll
  for (int i = 0; i < Config::kFragmentsM; ++i) {
#pragma unroll
    for (int j = 0; j < Config::kFragmentsN; ++j) {
      nvcuda::wmma::fill_fragment(sums[i][j], 0.0f);
    }
  }

  const int row_end = a_row_ptr[block_row + 1];
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
      load_tile<Config::kTileM, Config::kTileK>(a_tile, a_block + step * Config::kTileK, Config::kBlockK);
      load_tile<Config::kTileK, Config::kTileN>(b_landing, b_block + step * Config::kTileK * b_stride, b_stride);
      wait_for_copies();
      __syncthreads();  // every thread's copies have landed
      transpose_b(b_tile, b_landing);
      __syncthreads();  // B is complete before any warp reads it
      multiply_tiles(sums, a_tile, b_tile, warp_row, warp_col);
      __syncthreads();  // all warps are done with A before the next copies, or the epilogue, overwrite it
    }
  }

  float* patch = reinterpret_cast<float*>(shared) + warp * Config::kPatchFloats;
  __half* c_tile = c + (static_cast<size_t>(block_row) * Config::kTileM + warp_row) * n +
                   static_cast<size_t>(block_col) * Config::kTileN + warp_col;
  store_tile(sums, patch, c_tile, n);
}

bool aligned_16(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

cudaError_t launch(const void* a_values, const int* a_row_ptr, const int* a_col_idx, const void* b_values,
                   const int* b_row_ptr, const int* b_col_idx, void* c, int m, int n, int k, void* stream) {
  constexpr int kMaxGridY = 65535;
  if (m <= 0 || n <= 0 || k <= 0 || m % Config::kTileM != 0 || n % Config::kTileN != 0 ||
      k % Config::kBlockK != 0 || m / Config::kTileM > kMaxGridY) {
    return cudaErrorInvalidValue;
  }
  if (!aligned_16(a_values) || !aligned_16(b_values) || !aligned_16(c)) {
    return cudaErrorInvalidValue;
  }
  int device = 0;
  int shared_limit = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) {
    return error;
  }
  error = cudaDeviceGetAttribute(&shared_limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) {
    return error;
  }
  if (Config::kSharedBytes > shared_limit) {
    return cudaErrorInvalidValue;  // the tile does not fit this GPU
  }
  error = cudaFuncSetAttribute(bsr_wmma_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  if (error != cudaSuccess) {
    return error;
  }
  const dim3 grid(n / Config::kTileN, m / Config::kTileM);
  bsr_wmma_kernel<<<grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const __half*>(a_values), a_row_ptr, a_col_idx, static_cast<const __half*>(b_values), b_row_ptr,
      b_col_idx, static_cast<__half*>(c), n);
  return cudaGetLastError();
}

}  // namespace

#if SPARSE_B
extern "C" int assay_bsr_bsr_gemm(const void* a_values, const int* a_row_ptr, const int* a_col_idx,
                                  const void* b_values, const int* b_row_ptr, const int* b_col_idx, void* c, int m,
                                  int n, int k, void* /*workspace*/, size_t /*workspace_bytes*/, void* stream) {
  return launch(a_values, a_row_ptr, a_col_idx, b_values, b_row_ptr, b_col_idx, c, m, n, k, stream);
}
#else
extern "C" int assay_bsr_gemm(const void* a_values, const int* a_row_ptr, const int* a_col_idx, const void* b, void* c,
                              int m, int n, int k, void* /*workspace*/, size_t /*workspace_bytes*/, void* stream) {
  return launch(a_values, a_row_ptr, a_col_idx, b, nullptr, nullptr, c, m, n, k, stream);
}
#endif
