// C[m,n] = A_bsr[m,k] * B[k,n], fp16 in and out, fp32 sums, for Hopper: TMA loads, WMMA products.
//
// Source 000, phase 1 ("Day 5"): replace the cooperative loads of the BSR kernel by TMA, keep its BSR indexing and
// its WMMA compute. The kernel that is changed is the baseline of source 002 as bsr_wmma.cu rebuilds it:
//
//   kept                                                    changed
//   WMMA m16n16k16, fp16 -> fp32 accumulation               copies by TMA, issued by one thread of a warp of its own
//   tile BM x 128 x 32, warp tiles of 64 x 64               a ring of STAGES tiles with mbarriers: loads and products
//   one stored block of A is one step                       overlap
//   column indices walked block by block                    no transpose of B: WMMA reads it row by row as it landed
//                                                           persistent CTAs, so that loads run on during the epilogue
//
//               128 of n                        32 * (warps + 1) threads a CTA:
//              +---------+                        warps 0 .. BM/32 - 1: consumers, 64 x 64 of the tile each,
//           32 |    B    |                                              4 x 4 fragments, 128 sums a thread
//              +---------+                        the last warp:        lane 0 walks the stored blocks and copies
//         32
//       +----+ +----+----+                      Layout of a slot: TMA without swizzle, for WMMA wants rows of one
//       |    | | w0 | w1 |                      stride. Rows of 64 or 256 bytes would meet in the same banks, so the
//    BM | A  | +----+----+                      boxes are 8 columns wider than the tensor's innermost dimension: the
//       |    | | w2 | w3 |                      engine fills these with zeros and reads nothing for them. Rows are
//       +----+ +----+----+                      then 80 and 272 bytes apart, odd multiples of 16: no conflicts.
//
// A is described as [all stored rows][32]; B as [k][n / 128][128], so that a tile's 128 columns are a dimension.
// Shared memory: STAGES * (80 * BM + 8704) bytes, 4352 bytes a warp for the epilogue, mbarriers.
// Tiles run down a column of C: CTAs at work at a time share few strips of B, which stay in L2 with all of A.
// Requires: m % BM == 0, n % 128 == 0, k % 32 == 0, 16-byte aligned pointers, sm_90a. A stored block is BM x 32.

#include <cuda_fp16.h>
#include <mma.h>

#include "common/launch.cuh"
#include "common/ptx.cuh"

#if !defined(BM) || !defined(STAGES)
#error "define BM (128 or 256) and STAGES (kernel.yaml lists the variants)"
#endif

namespace {

struct Config {
  static constexpr int kTileM = BM;
  static constexpr int kTileN = 128;
  static constexpr int kTileK = 32;
  static constexpr int kStages = STAGES;

  static constexpr int kWarpTile = 64;
  static constexpr int kFragment = 16;
  static constexpr int kFragments = kWarpTile / kFragment;
  static constexpr int kWarpsN = kTileN / kWarpTile;
  static constexpr int kWarps = kTileM / kWarpTile * kWarpsN;
  static constexpr int kThreads = 32 * (kWarps + 1);
  static constexpr int kCtasPerSm = kTileM == 128 ? 2 : 1;  // 64 x 64 sums a warp leave registers for no more

  static constexpr int kPad = 8;  // columns that exist only in shared memory
  static constexpr int kStrideA = kTileK + kPad;
  static constexpr int kStrideB = kTileN + kPad;
  static constexpr int kBytesA = 2 * kTileM * kStrideA;
  static constexpr int kBytesB = 2 * kTileK * kStrideB;
  static constexpr int kStageBytes = kBytesA + kBytesB;

  static constexpr int kPatchStride = kWarpTile + 4;  // floats
  static constexpr int kPatchBytes = 4 * kFragment * kPatchStride;
  static constexpr int kOffsetPatches = kStages * kStageBytes;
  static constexpr int kOffsetBarriers = kOffsetPatches + kWarps * kPatchBytes;
  static constexpr int kSharedBytes = kOffsetBarriers + 8 * 2 * kStages;

  static_assert(kTileM == 128 || kTileM == 256, "a box has at most 256 rows, warps cover 64 each");
  static_assert(kStages >= 2, "one slot is filled while another is read");
  static_assert(kBytesA % 128 == 0 && kBytesB % 128 == 0, "TMA writes to multiples of 128 bytes");
  static_assert(kStrideA * 2 / 16 % 2 == 1 && kStrideB * 2 / 16 % 2 == 1, "eight rows must not share banks");
  static_assert(kCtasPerSm * (kSharedBytes + 1024) <= 228 * 1024, "an SM has 228 KiB, of which a CTA takes 1 more");
};

using Ring = ptx::PipelineState<Config::kStages>;
using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
using Sums = Accumulator[Config::kFragments][Config::kFragments];

struct Problem {
  const int* row_ptr;
  const int* col_idx;
  __half* c;
  int n;
  int rows;  // block rows of A and C
  int tiles;
};

// Stored blocks of a tile's row; 0 where there is no such tile.
__device__ __forceinline__ int step_count(const Problem& p, int index) {
  const int row = index % p.rows;
  return index < p.tiles ? p.row_ptr[row + 1] - p.row_ptr[row] : 0;
}

struct Shared {
  unsigned char* memory;
  uint32_t base;

  __device__ __forceinline__ const __half* a(int slot) const {
    return reinterpret_cast<const __half*>(memory + slot * Config::kStageBytes);
  }
  __device__ __forceinline__ const __half* b(int slot) const {
    return reinterpret_cast<const __half*>(memory + slot * Config::kStageBytes + Config::kBytesA);
  }
  __device__ __forceinline__ float* patch(int warp) const {
    return reinterpret_cast<float*>(memory + Config::kOffsetPatches + warp * Config::kPatchBytes);
  }
  __device__ __forceinline__ uint32_t full(int slot) const { return base + Config::kOffsetBarriers + slot * 8; }
  __device__ __forceinline__ uint32_t empty(int slot) const { return full(Config::kStages + slot); }
};

// One thread: every stored block of every tile of this CTA, in the order in which the consumers meet them.
__device__ __forceinline__ void produce(const Problem& p, const Shared& shared, const CUtensorMap* map_a,
                                        const CUtensorMap* map_b) {
  Ring ring;
  ring.parity = 1;  // the first visit to each slot need not wait
  for (int index = blockIdx.x; index < p.tiles; index += gridDim.x) {
    const int col = index / p.rows;
    const int begin = p.row_ptr[index % p.rows];
    const int end = p.row_ptr[index % p.rows + 1];
    int inner = begin < end ? p.col_idx[begin] : 0;
    for (int stored = begin; stored < end; ++stored) {
      const int here = inner;
      if (stored + 1 < end) {
        inner = p.col_idx[stored + 1];  // a step ahead: it arrives while the slot is waited for
      }
      const uint32_t full = shared.full(ring.stage);
      const uint32_t slot = shared.base + ring.stage * Config::kStageBytes;
      ptx::mbarrier_wait(shared.empty(ring.stage), ring.parity);
      ptx::mbarrier_arrive_expect_tx(full, Config::kStageBytes);
      ptx::tma_load_2d(slot, map_a, 0, stored * Config::kTileM, full, ptx::kEvictNormal);
      ptx::tma_load_3d(slot + Config::kBytesA, map_b, 0, col, here * Config::kTileK, full);
      ring.advance();
    }
  }
}

__device__ __forceinline__ void multiply_step(Sums& sums, const __half* a, const __half* b) {
  using namespace nvcuda;
#pragma unroll
  for (int k = 0; k < Config::kTileK; k += Config::kFragment) {
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b_part[Config::kFragments];
#pragma unroll
    for (int j = 0; j < Config::kFragments; ++j) {
      wmma::load_matrix_sync(b_part[j], b + k * Config::kStrideB + j * Config::kFragment, Config::kStrideB);
    }
#pragma unroll
    for (int i = 0; i < Config::kFragments; ++i) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a_part;
      wmma::load_matrix_sync(a_part, a + i * Config::kFragment * Config::kStrideA + k, Config::kStrideA);
#pragma unroll
      for (int j = 0; j < Config::kFragments; ++j) {
        wmma::mma_sync(sums[i][j], a_part, b_part[j], sums[i][j]);
      }
    }
  }
}

// The mapping of elements to lanes differs between fragment types, so 16 rows at a time go through a patch of shared
// memory that belongs to the warp; then eight lanes write 128 neighbouring bytes of a row of C.
__device__ __forceinline__ void store_sums(const Sums& sums, float* patch, __half* c, size_t n) {
  constexpr int kVectorsPerRow = Config::kWarpTile / 8;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < Config::kFragments; ++i) {
#pragma unroll
    for (int j = 0; j < Config::kFragments; ++j) {
      nvcuda::wmma::store_matrix_sync(patch + j * Config::kFragment, sums[i][j], Config::kPatchStride,
                                      nvcuda::wmma::mem_row_major);
    }
    __syncwarp();
#pragma unroll
    for (int vector = 0; vector < Config::kFragment * kVectorsPerRow; vector += 32) {
      const int row = (vector + lane) / kVectorsPerRow;
      const int col = (vector + lane) % kVectorsPerRow * 8;
      const float* from = patch + row * Config::kPatchStride + col;
      const float4 low = *reinterpret_cast<const float4*>(from);
      const float4 high = *reinterpret_cast<const float4*>(from + 4);
      __align__(16) const __half2 rounded[4] = {__floats2half2_rn(low.x, low.y), __floats2half2_rn(low.z, low.w),
                                  __floats2half2_rn(high.x, high.y), __floats2half2_rn(high.z, high.w)};
      __half* to = c + (i * Config::kFragment + row) * n + col;
      __stcs(reinterpret_cast<uint4*>(to), *reinterpret_cast<const uint4*>(rounded));  // nobody reads C again
    }
    __syncwarp();  // the next rows overwrite the patch
  }
}

// One warp: its 64 x 64 of every tile of this CTA.
__device__ __forceinline__ void consume(const Problem& p, const Shared& shared, int warp) {
  const int warp_row = warp / Config::kWarpsN * Config::kWarpTile;
  const int warp_col = warp % Config::kWarpsN * Config::kWarpTile;
  Ring ring;
  int steps = step_count(p, blockIdx.x);
  for (int index = blockIdx.x; index < p.tiles; index += gridDim.x) {
    const int next_steps = step_count(p, index + gridDim.x);  // arrives while this tile is multiplied
    Sums sums;
#pragma unroll
    for (int i = 0; i < Config::kFragments; ++i) {
#pragma unroll
      for (int j = 0; j < Config::kFragments; ++j) {
        nvcuda::wmma::fill_fragment(sums[i][j], 0.0f);
      }
    }
#pragma unroll 1
    for (; steps > 0; --steps) {
      ptx::mbarrier_wait(shared.full(ring.stage), ring.parity);
      multiply_step(sums, shared.a(ring.stage) + warp_row * Config::kStrideA, shared.b(ring.stage) + warp_col);
      __syncwarp();  // all lanes have read the slot
      if (threadIdx.x % 32 == 0) {
        ptx::mbarrier_arrive(shared.empty(ring.stage));
      }
      ring.advance();
    }
    steps = next_steps;
    const size_t row = static_cast<size_t>(index % p.rows) * Config::kTileM + warp_row;
    const size_t col = static_cast<size_t>(index / p.rows) * Config::kTileN + warp_col;
    store_sums(sums, shared.patch(warp), p.c + row * p.n + col, p.n);
  }
}

__global__ void __launch_bounds__(Config::kThreads, Config::kCtasPerSm)
    sm90_bsr_gemm_tma_wmma_kernel(const Problem p, const __grid_constant__ CUtensorMap map_a,
                                  const __grid_constant__ CUtensorMap map_b) {
  extern __shared__ __align__(128) unsigned char memory[];
  const Shared shared{memory, ptx::shared_address(memory)};
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    for (int slot = 0; slot < Config::kStages; ++slot) {
      ptx::mbarrier_init(shared.full(slot), 1);
      ptx::mbarrier_init(shared.empty(slot), Config::kWarps);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (warp < Config::kWarps) {
    consume(p, shared, warp);
  } else if (threadIdx.x % 32 == 0) {
    produce(p, shared, &map_a, &map_b);
  }
}

// ---- host --------------------------------------------------------------------------------------------

}  // namespace

extern "C" int assay_bsr_gemm(const void* a_values, const int* a_row_ptr, const int* a_col_idx, const void* b, void* c,
                              int m, int n, int k, void* /*workspace*/, size_t /*workspace_bytes*/, void* stream) {
  if (m <= 0 || n <= 0 || k <= 0 || m % Config::kTileM != 0 || n % Config::kTileN != 0 || k % Config::kTileK != 0) {
    return cudaErrorInvalidValue;
  }
  if (!launch::is_aligned_16(a_values) || !launch::is_aligned_16(b) || !launch::is_aligned_16(c)) {
    return cudaErrorInvalidValue;
  }
  const int64_t rows = m / Config::kTileM;
  const int64_t tiles = rows * (n / Config::kTileN);
  // The number of stored blocks is not known here: the map covers as many as there can be.
  const int64_t stored_rows = static_cast<int64_t>(m) * (k / Config::kTileK);
  if (stored_rows > INT32_MAX || tiles > INT32_MAX / 2) {
    return cudaErrorInvalidValue;  // coordinates and tile numbers are 32-bit
  }
  constexpr cuuint64_t kRowA = 2 * Config::kTileK;
  constexpr cuuint64_t kRowTileB = 2 * Config::kTileN;
  // Without any stored block there may be no memory: nothing is read then, but a map needs an address.
  const void* blocks = a_values != nullptr ? a_values : c;
  CUtensorMap map_a;
  CUtensorMap map_b;
  constexpr CUtensorMapSwizzle kAsItIs = CU_TENSOR_MAP_SWIZZLE_NONE;
  cudaError_t error = launch::make_tensor_map<2>(&map_a, blocks, {Config::kTileK, static_cast<cuuint64_t>(stored_rows)},
                                                 {kRowA}, {Config::kStrideA, Config::kTileM}, 2, kAsItIs);
  if (error == cudaSuccess) {
    error = launch::make_tensor_map<3>(
        &map_b, b, {Config::kTileN, static_cast<cuuint64_t>(n / Config::kTileN), static_cast<cuuint64_t>(k)},
        {kRowTileB, 2 * static_cast<cuuint64_t>(n)}, {Config::kStrideB, 1, Config::kTileK}, 2, kAsItIs);
  }
  launch::DeviceLimits limits;
  if (error == cudaSuccess) {
    error = launch::prepare(sm90_bsr_gemm_tma_wmma_kernel, Config::kSharedBytes, &limits);
  }
  if (error != cudaSuccess) {
    return error;
  }
  const Problem problem{a_row_ptr, a_col_idx, static_cast<__half*>(c), n, static_cast<int>(rows),
                        static_cast<int>(tiles)};
  const int ctas = Config::kCtasPerSm * limits.sms;
  const int grid = problem.tiles < ctas ? problem.tiles : ctas;
  sm90_bsr_gemm_tma_wmma_kernel<<<grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(
      problem, map_a, map_b);
  return cudaGetLastError();
}
