// C[m,n] = A_bsr[m,k] * B[k,n], fp16 in, fp32 sums, for Hopper: the baseline of source 002 with TMA in place of its
// cooperative loads, and nothing else changed.
//
// Source 000, phase 1 ("Day 5") says that much: replace the cooperative loads by TMA, keep the BSR indexing and the
// WMMA compute. Rings of stages, a warp that does nothing but copy, and padding are its phases 3 and 4, or are not in
// it at all; sm90_bsr_gemm_tma_wmma.cu has them. Here, as in bsr_wmma.cu, whose tile and epilogue these are:
//
//   one step of BK:   thread 0: expect, copy A, copy B_tmp       one buffer, so that loads and products do not overlap
//                     all:      wait for both
//                     all:      B_tmp -> B, barrier              TRANSPOSE_B = 1, as the baseline; 0: WMMA reads B_tmp
//                     all:      products, barrier
//
// PAD = 8: boxes are 8 columns wider than the tensor's innermost dimension; the copy engine writes zeros there and reads
// nothing for them, so that rows come to lie 80 and 272 bytes apart, and eight of them share no banks.
// A is described as [all stored rows][BK], B as [k][n / BN][BN], so that a tile's columns are a dimension.
// Shared memory: that of the tile, and a barrier. Requires: m % BM == 0, n % BN == 0, k % BK == 0, sm_90a, BM <= 256,
// 16-byte aligned pointers. A stored block is BM x BK.

#include "bsr_wmma_tile.cuh"
#include "common/launch.cuh"
#include "common/ptx.cuh"

namespace {

struct Loads {
  static constexpr int kBytes = 2 * (Config::kHalvesA + Config::kHalvesLanding);
  static constexpr int kOffsetB = Config::kHalvesA + Config::kHalvesLanding;  // halves
  static constexpr int kOffsetBarrier = Config::kSharedBytes;
  static constexpr int kSharedBytes = kOffsetBarrier + 8;

  static_assert(!Config::kElementwise && !Config::kAsyncCopies && Config::kBuffers == 1, "TMA is what copies");
  static_assert(Config::kBlockK == Config::kTileK, "a stored block is one step");
  static_assert(Config::kTileM <= 256, "a box has at most 256 rows");
  static_assert(2 * Config::kHalvesA % 128 == 0, "TMA writes to multiples of 128 bytes");
  static_assert(kOffsetBarrier % 8 == 0, "barriers lie at multiples of 8 bytes");
};

__global__ void __launch_bounds__(Config::kThreads, 1)
    sm90_bsr_gemm_tma_literal_kernel(const int* __restrict__ row_ptr, const int* __restrict__ col_idx,
                                     Output* __restrict__ c, int n, const __grid_constant__ CUtensorMap map_a,
                                     const __grid_constant__ CUtensorMap map_b) {
  extern __shared__ __align__(128) unsigned char shared[];
  __half* a_tile = reinterpret_cast<__half*>(shared);
  __half* b_landing = a_tile + Config::kHalvesA;
  __half* b_tile = a_tile + Loads::kOffsetB;
  const uint32_t landed = ptx::shared_address(shared) + Loads::kOffsetBarrier;

  const int block_row = blockIdx.y;
  const int block_col = blockIdx.x;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / Config::kWarpsN * Config::kWarpM;
  const int warp_col = warp % Config::kWarpsN * Config::kWarpN;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(landed, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  Accumulator sums[Config::kFragmentsM][Config::kFragmentsN];
  clear(sums);

  uint32_t parity = 0;
  const int row_end = row_ptr[block_row + 1];
  for (int stored = row_ptr[block_row]; stored < row_end; ++stored) {
    if (threadIdx.x == 0) {
      const int inner = col_idx[stored];
      ptx::mbarrier_arrive_expect_tx(landed, Loads::kBytes);
      ptx::tma_load_2d(ptx::shared_address(a_tile), &map_a, 0, stored * Config::kTileM, landed, ptx::kEvictNormal);
      ptx::tma_load_3d(ptx::shared_address(b_landing), &map_b, 0, block_col, inner * Config::kTileK, landed);
    }
    ptx::mbarrier_wait(landed, parity);
    parity ^= 1;
    if constexpr (Config::kTransposeB) {
      transpose_b(b_tile, b_landing);
      __syncthreads();  // B is complete before any warp reads it
      multiply_tiles(sums, a_tile, b_tile, warp_row, warp_col);
    } else {
      multiply_tiles(sums, a_tile, b_landing, warp_row, warp_col);
    }
    __syncthreads();  // all warps are done with the tiles before the next copies, or the epilogue, overwrite them
  }
  write_tile(sums, shared, c, n, block_row, block_col);
}

}  // namespace

extern "C" int assay_bsr_gemm(const void* a_values, const int* a_row_ptr, const int* a_col_idx, const void* b, void* c,
                              int m, int n, int k, void* /*workspace*/, size_t /*workspace_bytes*/, void* stream) {
  constexpr int kMaxGridY = 65535;
  if (m <= 0 || n <= 0 || k <= 0 || m % Config::kTileM != 0 || n % Config::kTileN != 0 || k % Config::kTileK != 0 ||
      m / Config::kTileM > kMaxGridY) {
    return cudaErrorInvalidValue;
  }
  if (!launch::is_aligned_16(a_values) || !launch::is_aligned_16(b) || !is_aligned(static_cast<Output*>(c))) {
    return cudaErrorInvalidValue;
  }
  // The number of stored blocks is not known here: the map covers as many as there can be.
  const int64_t stored_rows = static_cast<int64_t>(m) * (k / Config::kTileK);
  if (stored_rows > INT32_MAX) {
    return cudaErrorInvalidValue;  // coordinates are 32-bit
  }
  // Without any stored block there may be no memory: nothing is read then, but a map needs an address.
  const void* blocks = a_values != nullptr ? a_values : c;
  constexpr cuuint64_t kRowA = 2 * Config::kTileK;
  constexpr cuuint64_t kRowTileB = 2 * Config::kTileN;
  constexpr CUtensorMapSwizzle kAsItIs = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMap map_a;
  CUtensorMap map_b;
  cudaError_t error = launch::make_tensor_map<2>(&map_a, blocks, {Config::kTileK, static_cast<cuuint64_t>(stored_rows)},
                                                 {kRowA}, {Config::kStrideA, Config::kTileM}, 2, kAsItIs);
  if (error == cudaSuccess) {
    error = launch::make_tensor_map<3>(
        &map_b, b, {Config::kTileN, static_cast<cuuint64_t>(n / Config::kTileN), static_cast<cuuint64_t>(k)},
        {kRowTileB, 2 * static_cast<cuuint64_t>(n)}, {Config::kStrideLanding, 1, Config::kTileK}, 2, kAsItIs);
  }
  launch::DeviceLimits limits;
  if (error == cudaSuccess) {
    error = launch::prepare(sm90_bsr_gemm_tma_literal_kernel, Loads::kSharedBytes, &limits);
  }
  if (error != cudaSuccess) {
    return error;
  }
  const dim3 grid(n / Config::kTileN, m / Config::kTileM);
  sm90_bsr_gemm_tma_literal_kernel<<<grid, Config::kThreads, Loads::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(
      a_row_ptr, a_col_idx, static_cast<Output*>(c), n, map_a, map_b);
  return cudaGetLastError();
}
