// sums[j, i] = sum over c of A[i, 64 j + c]: loads every 128 x 64 tile of A [m, k], fp16, into shared memory.
//
// Source 000, phase 1 ("Day 3-4"): a kernel that loads tiles by TMA and nothing else, its shared memory compared with
// global memory, its bandwidth measured against cooperative loads. The sum of each tile row is what is compared: an
// element lost, doubled or put into another row is seen in it, and no load can be left out.
//
// -DARRIVAL says how a tile arrives; nothing else differs between the variants:
//
//   0  cooperative   each thread loads 4 x 16 bytes into registers and writes them to shared memory
//   1  cp.async      each thread starts 4 copies of 16 bytes; one group of copies a tile
//   2  TMA           one thread starts one bulk tensor copy; an mbarrier a stage tells when its bytes are there
//
//            64 of k                      256 threads a CTA, three of them on an SM where they fit, each taking
//          +--------+                     every gridDim-th tile; tiles run along the rows of A.
//          |        |  -> 128 sums        A ring of STAGES stages of 16 KiB:
//   128    |  tile  |     (fp32)            wait until tile i is there; two threads a row add 32 elements each;
//   of m   |        |                       barrier: all have read; start tile i + STAGES into the same stage.
//          +--------+                     Only copies without the threads (1, 2) can be under way meanwhile.
//
// Rows of 128 bytes lie in the 128-byte swizzle that TMA writes (16-byte chunk c of row r at c ^ (r mod 8)); the others
// write the same, so that all read without bank conflicts. All pass by L1 and ask L2 to fetch 256 bytes at a time.
//
// Requires: k % 8 == 0, a 16-byte aligned A. Ragged edges are filled with zeros. ARRIVAL 2 needs sm_90a.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#if !defined(ARRIVAL) || !defined(STAGES)
#error "define ARRIVAL and STAGES (kernel.yaml lists the variants)"
#endif
#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"

namespace {

struct Config {
  static constexpr int kArrival = ARRIVAL;
  static constexpr int kTileRows = 128;
  static constexpr int kTileCols = 64;
  static constexpr int kStages = STAGES;
  static constexpr int kThreads = 256;
  static constexpr int kCtasPerSm = 3;

  static constexpr int kRowBytes = 2 * kTileCols;
  static constexpr int kTileBytes = kTileRows * kRowBytes;
  static constexpr int kChunks = kRowBytes / 16;  // of 8 elements, a row
  static constexpr int kThreadsPerRow = kThreads / kTileRows;
  static constexpr int kChunksPerThread = kChunks / kThreadsPerRow;
  static constexpr int kOffsetBarriers = kStages * kTileBytes;
  static constexpr int kSharedBytes = kOffsetBarriers + 8 * kStages;

  static_assert(kArrival >= 0 && kArrival <= 2, "0 cooperative, 1 cp.async, 2 TMA");
  static_assert(kRowBytes == 128, "the swizzle spans rows of 128 bytes");
  static_assert(kThreadsPerRow == 2, "two neighbouring lanes share a row");
  static_assert(kStages >= 2, "one stage is filled while another is read");
  static_assert(kCtasPerSm * (kSharedBytes + 1024) <= 228 * 1024, "an SM of sm_90 has 228 KiB, a CTA takes 1 more");
};

struct Problem {
  const __half* a;
  float* sums;
  int m;
  int k;
  int col_tiles;
  int tiles;
};

// First row and first column of a tile.
struct Tile {
  int row;
  int col;
};

__device__ __forceinline__ Tile tile_at(const Problem& p, int index) {
  return {index / p.col_tiles * Config::kTileRows, index % p.col_tiles * Config::kTileCols};
}

// ---- arrival: how a tile is started, and how it is known to be there -----------------------------------

#if ARRIVAL == 2

struct Arrival {
  const CUtensorMap* tensor_map;
  uint32_t base;

  __device__ __forceinline__ uint32_t barrier(int stage) const { return base + Config::kOffsetBarriers + stage * 8; }

  __device__ __forceinline__ void open() const {
    if (threadIdx.x == 0) {
      ptx::prefetch_tensormap(tensor_map);
      for (int stage = 0; stage < Config::kStages; ++stage) {
        ptx::mbarrier_init(barrier(stage), 1);
      }
      ptx::fence_mbarrier_init();
    }
    __syncthreads();
  }

  __device__ __forceinline__ void start(const Problem& p, int index, int stage) const {
    if (threadIdx.x == 0 && index < p.tiles) {
      const Tile tile = tile_at(p, index);
      ptx::mbarrier_arrive_expect_tx(barrier(stage), Config::kTileBytes);
      ptx::tma_load_2d(base + stage * Config::kTileBytes, tensor_map, tile.col, tile.row, barrier(stage),
                       ptx::kEvictNormal);
    }
  }

  __device__ __forceinline__ void wait(int stage, uint32_t parity) const { ptx::mbarrier_wait(barrier(stage), parity); }
};

#else

constexpr int kCopies = Config::kTileRows * Config::kChunks / Config::kThreads;  // of 16 bytes, a thread

struct Arrival {
  unsigned char* memory;

  __device__ __forceinline__ void open() const {}

  // All threads; 8 neighbouring lanes take a row. Beyond the edges nothing is read and zeros are written.
  __device__ __forceinline__ void start(const Problem& p, int index, int stage) const {
    if (index < p.tiles) {
      const Tile tile = tile_at(p, index);
      unsigned char* to = memory + stage * Config::kTileBytes;
      const __half* from[kCopies];
      bool inside[kCopies];
      int at[kCopies];
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        const int row = (threadIdx.x + i * Config::kThreads) / Config::kChunks;
        const int chunk = threadIdx.x % Config::kChunks;
        const int col = tile.col + chunk * 8;
        inside[i] = tile.row + row < p.m && col < p.k;
        from[i] = inside[i] ? p.a + static_cast<size_t>(tile.row + row) * p.k + col : p.a;
        at[i] = mma::swizzle_128b(row, chunk);
      }
      copy(to, from, inside, at);
    }
    if constexpr (Config::kArrival == 1) {
      ptx::cp_async_commit();  // an empty one at the end, to keep the count
    }
  }

  __device__ __forceinline__ void wait(int /*stage*/, uint32_t /*parity*/) const {
    if constexpr (Config::kArrival == 1) {
      ptx::cp_async_wait<Config::kStages - 1>();
    }
    __syncthreads();  // every thread's part is there
  }

 private:
  __device__ __forceinline__ static void copy(unsigned char* to, const __half* const (&from)[kCopies],
                                              const bool (&inside)[kCopies],
                                              const int (&at)[kCopies]) {
    if constexpr (Config::kArrival == 1) {
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        ptx::cp_async_16<ptx::L2Prefetch::k256B>(ptx::shared_address(to + at[i]), from[i], inside[i] ? 16 : 0);
      }
    } else {
      uint4 held[kCopies];  // all loads are under way before the first is written
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        held[i] = make_uint4(0, 0, 0, 0);
        if (inside[i]) {
          asm volatile("ld.global.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];\n"
                       : "=r"(held[i].x), "=r"(held[i].y), "=r"(held[i].z), "=r"(held[i].w)
                       : "l"(from[i]));
        }
      }
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        *reinterpret_cast<uint4*>(to + at[i]) = held[i];
      }
    }
  }
};

#endif

// ---- what all variants share ---------------------------------------------------------------------------

__device__ __forceinline__ float add_pair(uint32_t pair, float sum) {
  const float2 values = __half22float2(*reinterpret_cast<const __half2*>(&pair));
  return sum + values.x + values.y;
}

// Two lanes a row: neighbours add half a row each, then meet.
__device__ __forceinline__ void sum_rows(const Problem& p, const unsigned char* stage, int index) {
  const Tile tile = tile_at(p, index);
  const int row = threadIdx.x / Config::kThreadsPerRow;
  const int first = threadIdx.x % Config::kThreadsPerRow * Config::kChunksPerThread;
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
  if (threadIdx.x % Config::kThreadsPerRow == 0 && tile.row + row < p.m) {
    p.sums[static_cast<size_t>(tile.col / Config::kTileCols) * p.m + tile.row + row] = sum;
  }
}

__device__ __forceinline__ void walk(const Problem& p, const unsigned char* memory, const Arrival& arrival) {
  arrival.open();
  for (int stage = 0; stage < Config::kStages; ++stage) {
    arrival.start(p, blockIdx.x + stage * gridDim.x, stage);
  }
  int stage = 0;
  uint32_t parity = 0;
#pragma unroll 1
  for (int index = blockIdx.x; index < p.tiles; index += gridDim.x) {
    arrival.wait(stage, parity);
    sum_rows(p, memory + stage * Config::kTileBytes, index);
    __syncthreads();  // all have read the stage
    arrival.start(p, index + Config::kStages * gridDim.x, stage);
    if (++stage == Config::kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
}

#if ARRIVAL == 2
__global__ void __launch_bounds__(Config::kThreads, Config::kCtasPerSm)
    load_tiles_kernel(const Problem p, const __grid_constant__ CUtensorMap tensor_map) {
  extern __shared__ __align__(1024) unsigned char memory[];
  walk(p, memory, Arrival{&tensor_map, ptx::shared_address(memory)});
}
#else
__global__ void __launch_bounds__(Config::kThreads, Config::kCtasPerSm) load_tiles_kernel(const Problem p) {
  extern __shared__ __align__(1024) unsigned char memory[];
  walk(p, memory, Arrival{memory});
}
#endif

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
  cudaError_t error = launch::prepare(load_tiles_kernel, Config::kSharedBytes, &limits);
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas_per_sm, load_tiles_kernel, Config::kThreads,
                                                          Config::kSharedBytes);
  }
  if (error != cudaSuccess) {
    return error;
  }
  const Problem problem{static_cast<const __half*>(a), static_cast<float*>(sums), m, k, static_cast<int>(col_tiles),
                        static_cast<int>(row_tiles * col_tiles)};
  // The same grid for all variants: no more CTAs an SM than the bound that all were compiled for.
  const int ctas = limits.sms * (ctas_per_sm < Config::kCtasPerSm ? ctas_per_sm : Config::kCtasPerSm);
  const int grid = problem.tiles < ctas ? problem.tiles : ctas;
#if ARRIVAL == 2
  CUtensorMap tensor_map;
  error = launch::make_tensor_map_2d(&tensor_map, a, m, k, Config::kTileRows, Config::kTileCols);
  if (error != cudaSuccess) {
    return error;
  }
  load_tiles_kernel<<<grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(problem,
                                                                                                         tensor_map);
#else
  load_tiles_kernel<<<grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(problem);
#endif
  return cudaGetLastError();
}
