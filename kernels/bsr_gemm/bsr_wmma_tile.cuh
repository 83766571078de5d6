// What the WMMA kernels of source 002's family share: the tile's sizes and layout in shared memory, the way it
// gets there through threads, the transposition of B, the products, the epilogue. bsr_wmma.cu walks stored blocks with
// it; sm90_bsr_gemm_tma_literal.cu puts TMA in place of the copies and keeps all else.
//
//   define      0, or as named                       1, or as named
//   CP_ASYNC    copies through registers             cp.async.cg, 16 bytes, wait_group 0
//   ELEMENTWISE 16 bytes a copy, B by way of B_tmp   a half a copy, B turned while it is stored: no B_tmp
//   OUT_F32     C in fp16, by way of a patch         C in fp32, stored by WMMA itself
//   TRANSPOSE_B WMMA reads B as it landed            B turned to [BN][BK] in shared memory (the default)
//   PAD         halves after each row in shared memory: 0, or 8 so that eight rows share no banks
//   BUFFERS     1, or 2: the next block is on its way while this one is multiplied (cp.async)

#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

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
#ifndef ELEMENTWISE
#define ELEMENTWISE 0
#endif
#ifndef OUT_F32
#define OUT_F32 0
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 1
#endif
#ifndef PAD
#define PAD 0
#endif
#ifndef BUFFERS
#define BUFFERS 1
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
  static constexpr bool kElementwise = ELEMENTWISE != 0;
  static constexpr bool kOutF32 = OUT_F32 != 0;
  static constexpr bool kTransposeB = TRANSPOSE_B != 0;
  static constexpr int kPad = PAD;
  static constexpr int kBuffers = BUFFERS;

  static constexpr int kFragment = 16;
  static constexpr int kFragmentsM = kWarpM / kFragment;
  static constexpr int kFragmentsN = kWarpN / kFragment;
  static constexpr int kWarpsN = kTileN / kWarpN;
  static constexpr int kWarps = (kTileM / kWarpM) * kWarpsN;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kStepsPerBlock = kBlockK / kTileK;

  static constexpr int kVector = 8;  // halves in one 16-byte copy
  static constexpr int kStrideA = kTileK + kPad;        // of A[BM][BK]
  static constexpr int kStrideB = kTileK + kPad;        // of B[BN][BK]
  static constexpr int kStrideLanding = kTileN + kPad;  // of B_tmp[BK][BN]
  static constexpr int kHalvesA = kTileM * kStrideA;
  static constexpr int kHalvesB = kTransposeB ? kTileN * kStrideB : 0;
  static constexpr int kHalvesLanding = kElementwise ? 0 : kTileK * kStrideLanding;
  static constexpr int kTileBytes = 2 * (kBuffers * (kHalvesA + kHalvesLanding) + kHalvesB);
  static constexpr int kPatchFloats = kFragment * kFragment;
  static constexpr int kPatchBytes = 4 * kWarps * kPatchFloats;
  static constexpr int kSharedBytes = kTileBytes > kPatchBytes ? kTileBytes : kPatchBytes;

  static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warp tiles must cover the CTA tile");
  static_assert(kWarpM % kFragment == 0 && kWarpN % kFragment == 0, "WMMA works on 16 x 16 tiles");
  static_assert(kTileK % kFragment == 0, "BK must be a multiple of WMMA's K of 16");
  static_assert(kBlockK % kTileK == 0, "BK must divide the stored block's width BLOCK_K");
  static_assert(kTileN % kVector == 0, "rows of B are copied 16 bytes at a time");
  static_assert(kPad % kVector == 0, "rows begin at multiples of 16 bytes");
  static_assert(!kElementwise || (!kAsyncCopies && kTransposeB), "element by element, B is turned as it is stored");
  static_assert(kBuffers == 1 || (kBuffers == 2 && kAsyncCopies), "only asynchronous copies run beside products");
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

// All threads copy a kRows x kCols tile; rows are kStride halves apart in shared memory and `stride` in global
// memory.
template <int kRows, int kCols, int kStride>
__device__ __forceinline__ void load_tile(__half* shared, const __half* global, size_t stride) {
  constexpr int kVectorsPerRow = kCols / Config::kVector;
  for (int i = threadIdx.x; i < kRows * kVectorsPerRow; i += Config::kThreads) {
    const int row = i / kVectorsPerRow;
    const int col = i % kVectorsPerRow * Config::kVector;
    copy_16_bytes(shared + row * kStride + col, global + row * stride + col);
  }
}

// The same, a half at a time. Eight loads are under way before the first is stored: left to itself nvcc takes four
// (15 % slower), and sixteen spill.
template <int kRows, int kCols, int kStride>
__device__ __forceinline__ void load_elements(__half* shared, const __half* global, size_t stride) {
#pragma unroll 8
  for (int i = threadIdx.x; i < kRows * kCols; i += Config::kThreads) {
    shared[i / kCols * kStride + i % kCols] = global[i / kCols * stride + i % kCols];
  }
}

// A half at a time, rows becoming columns: B[BK][BN] of global memory as B[BN][BK].
__device__ __forceinline__ void load_transposed(__half* shared, const __half* global, size_t stride) {
#pragma unroll 8
  for (int i = threadIdx.x; i < Config::kTileK * Config::kTileN; i += Config::kThreads) {
    const int row = i / Config::kTileN;
    const int col = i % Config::kTileN;
    shared[col * Config::kStrideB + row] = global[row * stride + col];
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
      column[j] = b_tmp[(k + j) * Config::kStrideLanding + col];
    }
    *reinterpret_cast<uint4*>(b + col * Config::kStrideB + k) = *reinterpret_cast<const uint4*>(column);
  }
}

using Output = std::conditional_t<Config::kOutF32, float, __half>;
using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

// `b` is B[BN][BK], or B_tmp[BK][BN] where B is multiplied as it landed.
__device__ __forceinline__ void multiply_tiles(
    Accumulator (&sums)[Config::kFragmentsM][Config::kFragmentsN], const __half* a, const __half* b,
    int warp_row, int warp_col) {
  using namespace nvcuda;
  using LayoutB = std::conditional_t<Config::kTransposeB, wmma::col_major, wmma::row_major>;
#pragma unroll
  for (int k = 0; k < Config::kTileK; k += Config::kFragment) {
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, LayoutB> b_part[Config::kFragmentsN];
#pragma unroll
    for (int j = 0; j < Config::kFragmentsN; ++j) {
      const int col = warp_col + j * Config::kFragment;
      if constexpr (Config::kTransposeB) {
        wmma::load_matrix_sync(b_part[j], b + col * Config::kStrideB + k, Config::kStrideB);
      } else {
        wmma::load_matrix_sync(b_part[j], b + k * Config::kStrideLanding + col, Config::kStrideLanding);
      }
    }
#pragma unroll
    for (int i = 0; i < Config::kFragmentsM; ++i) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a_part;
      const int row = warp_row + i * Config::kFragment;
      wmma::load_matrix_sync(a_part, a + row * Config::kStrideA + k, Config::kStrideA);
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

// WMMA writes an fp32 C itself: 16 rows of 64 bytes a fragment.
__device__ __forceinline__ void store_tile(
    Accumulator (&sums)[Config::kFragmentsM][Config::kFragmentsN], float* /*patch*/, float* c, size_t n) {
#pragma unroll
  for (int i = 0; i < Config::kFragmentsM; ++i) {
#pragma unroll
    for (int j = 0; j < Config::kFragmentsN; ++j) {
      float* to = c + i * Config::kFragment * n + j * Config::kFragment;
      nvcuda::wmma::store_matrix_sync(to, sums[i][j], static_cast<unsigned>(n), nvcuda::wmma::mem_row_major);
    }
  }
}

__device__ __forceinline__ void clear(Accumulator (&sums)[Config::kFragmentsM][Config::kFragmentsN]) {
#pragma unroll
  for (int i = 0; i < Config::kFragmentsM; ++i) {
#pragma unroll
    for (int j = 0; j < Config::kFragmentsN; ++j) {
      nvcuda::wmma::fill_fragment(sums[i][j], 0.0f);
    }
  }
}

// Every warp: its part of tile (block_row, block_col) of C, by way of shared memory that nobody reads any more.
__device__ __forceinline__ void write_tile(Accumulator (&sums)[Config::kFragmentsM][Config::kFragmentsN],
                                           unsigned char* shared, Output* c, int n, int block_row, int block_col) {
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / Config::kWarpsN * Config::kWarpM;
  const int warp_col = warp % Config::kWarpsN * Config::kWarpN;
  float* patch = reinterpret_cast<float*>(shared) + warp * Config::kPatchFloats;
  Output* c_tile = c + (static_cast<size_t>(block_row) * Config::kTileM + warp_row) * n +
                   static_cast<size_t>(block_col) * Config::kTileN + warp_col;
  store_tile(sums, patch, c_tile, n);
}

// ---- host --------------------------------------------------------------------------------------------

// WMMA stores fp32 fragments to multiples of 32 bytes.
bool is_aligned(const Output* c) { return reinterpret_cast<uintptr_t>(c) % (Config::kOutF32 ? 32 : 16) == 0; }

}  // namespace
