// sums[j, i] = sum over c of A[i, 64 j + c]: as load_tiles.cu's cooperative variant, but element by element.
//
// Source 000 does not say how wide its cooperative loads are. Here each thread copies one fp16 element at a time, through
// a register, into shared memory; neighbouring lanes take neighbouring elements. Tile, grid, ring, order and swizzle are
// those of load_tiles.cu, which says what they are and why; so is what adds the rows.
//
// Requires: k % 8 == 0, a 16-byte aligned A. Ragged edges are filled with zeros.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#ifndef STAGES
#error "define STAGES (kernel.yaml lists the variants)"
#endif
#include "common/launch.cuh"
#include "common/mma.cuh"

namespace {

struct Config {
  static constexpr int kTileRows = 128;
  static constexpr int kTileCols = 64;
  static constexpr int kStages = STAGES;
  static constexpr int kThreads = 256;
  static constexpr int kCtasPerSm = 3;

  static constexpr int kTileBytes = 2 * kTileRows * kTileCols;
  static constexpr int kElements = kTileRows * kTileCols / kThreads;  // a thread
  static constexpr int kChunksPerThread = kTileCols / 8 / 2;          // two threads a row, chunks of 16 bytes
  static constexpr int kSharedBytes = kStages * kTileBytes;

  static_assert(kTileCols == 64, "the swizzle spans rows of 128 bytes");
  static_assert(kThreads == 2 * kTileRows, "two neighbouring lanes share a row");
};

struct Problem {
  const __half* a;
  float* sums;
  int m;
  int k;
  int col_tiles;
  int tiles;
};

// All threads; 64 neighbouring lanes take a row. Beyond the edges nothing is read and zeros are written.
__device__ __forceinline__ void load(const Problem& p, unsigned char* to, int index) {
  if (index >= p.tiles) {
    return;
  }
  const int top = index / p.col_tiles * Config::kTileRows;
  const int col = threadIdx.x % Config::kTileCols;
  const int from = index % p.col_tiles * Config::kTileCols + col;
#pragma unroll 4
  for (int i = 0; i < Config::kElements; ++i) {
    const int row = threadIdx.x / Config::kTileCols + i * (Config::kThreads / Config::kTileCols);
    const bool inside = top + row < p.m && from < p.k;
    const __half value = inside ? p.a[static_cast<size_t>(top + row) * p.k + from] : __half(0.0f);
    *reinterpret_cast<__half*>(to + mma::swizzle_128b(row, col / 8) + col % 8 * 2) = value;
  }
}

__device__ __forceinline__ float add_pair(uint32_t pair, float sum) {
  const float2 values = __half22float2(*reinterpret_cast<const __half2*>(&pair));
  return sum + values.x + values.y;
}

// Two lanes a row: neighbours add half a row each, then meet.
__device__ __forceinline__ void sum_rows(const Problem& p, const unsigned char* stage, int index) {
  const int row = threadIdx.x / 2;
  const int first = threadIdx.x % 2 * Config::kChunksPerThread;
  float parts[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int i = 0; i < Config::kChunksPerThread; ++i) {
    const uint4 chunk = *reinterpret_cast<const uint4*>(stage + mma::swizzle_128b(row, first + i));
    parts[0] = add_pair(chunk.x, parts[0]);
    parts[1] = add_pair(chunk.y, parts[1]);
    parts[2] = add_pair(chunk.z, parts[2]);
    parts[3] = add_pair(chunk.w, parts[3]);
  }
  float sum = (parts[0] + parts[1]) + (parts[2] + parts[3]);
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  const int line = index / p.col_tiles * Config::kTileRows + row;
  if (threadIdx.x % 2 == 0 && line < p.m) {
    p.sums[static_cast<size_t>(index % p.col_tiles) * p.m + line] = sum;
  }
}

__global__ void __launch_bounds__(Config::kThreads, Config::kCtasPerSm) load_elementwise_kernel(const Problem p) {
  extern __shared__ __align__(1024) unsigned char memory[];
  for (int stage = 0; stage < Config::kStages; ++stage) {
    load(p, memory + stage * Config::kTileBytes, blockIdx.x + stage * gridDim.x);
  }
  int stage = 0;
#pragma unroll 1
  for (int index = blockIdx.x; index < p.tiles; index += gridDim.x) {
    unsigned char* here = memory + stage * Config::kTileBytes;
    __syncthreads();  // every thread's part is there
    sum_rows(p, here, index);
    __syncthreads();  // all have read the stage
    load(p, here, index + Config::kStages * gridDim.x);
    stage = (stage + 1) % Config::kStages;
  }
}

}  // namespace

extern "C" int assay_tma_load(const void* a, void* sums, int m, int /*n*/, int k, void* /*workspace*/,
                              size_t /*workspace_bytes*/, void* stream) {
  if (m <= 0 || k <= 0 || k % 8 != 0 || !launch::is_aligned_16(a)) {
    return cudaErrorInvalidValue;
  }
  const int64_t row_tiles = (static_cast<int64_t>(m) + Config::kTileRows - 1) / Config::kTileRows;
  const int64_t col_tiles = (static_cast<int64_t>(k) + Config::kTileCols - 1) / Config::kTileCols;
  if (row_tiles * col_tiles > INT32_MAX / 2) {
    return cudaErrorInvalidValue;  // tile numbers are 32-bit
  }
  int ctas_per_sm = 0;
  launch::DeviceLimits limits;
  cudaError_t error = launch::prepare(load_elementwise_kernel, Config::kSharedBytes, &limits);
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas_per_sm, load_elementwise_kernel, Config::kThreads,
                                                          Config::kSharedBytes);
  }
  if (error != cudaSuccess) {
    return error;
  }
  const Problem problem{static_cast<const __half*>(a), static_cast<float*>(sums), m, k, static_cast<int>(col_tiles),
                        static_cast<int>(row_tiles * col_tiles)};
  const int ctas = limits.sms * (ctas_per_sm < Config::kCtasPerSm ? ctas_per_sm : Config::kCtasPerSm);
  const int grid = problem.tiles < ctas ? problem.tiles : ctas;
  load_elementwise_kernel<<<grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(problem);
  return cudaGetLastError();
}
