// C[m,n] = A_bsr[m,k] * B_bsr[k,n], 16-bit in, dense 16-bit out, fp32 accumulators, for Hopper: TMA and warpgroup
// products.
//
// A CTA computes a 128 x 256 tile of C: one block row of A, two neighbouring block columns of B. It walks the blocks of
// A's row that meet a stored block in either column, so a block of A is copied once for both: with 16 of 64 stored
// everywhere, 7 copies instead of 8.
//
//                     64 of B's blocks
//                 +----------+----------+     384 threads a CTA, one CTA an SM:
//              64 | B: col 0 | B: col 1 |       warpgroup 0: producer. One warp takes tiles from a counter, intersects,
//                 +----------+----------+           tells the consumers, starts the copies.
//           64        128        128            warpgroups 1, 2: consumers, one block column each: 128 x 128, 128
//         +----+  +----------+----------+           fp32 accumulators a thread.
//         |    |  |          |          |
//     128 | A  |  |consumer 0|consumer 1|     A step: the tile of A, and of B only the blocks that are stored.
//         |    |  |          |          |
//         +----+  +----------+----------+
//
// Intersection: B's pattern lies in shared memory as bit masks, 64 columns a word, one row of words for each of B's
// block rows. Each lane looks up one block of A's row: are its columns' bits set, and how many are set before them,
// which is the place of B's block among its row.
//
// Shared memory: a ring of STAGES stages of 48 KiB, A [128][64] then for each consumer B [2][64][64], 128-byte
// swizzle; two panels of 64 x 64 for each consumer, through which C leaves; the pattern's tables; a queue of what the
// producer tells; mbarriers. Both consumers pass every stage in order and give it back, also one that has
// no block of B there: a parity tells a phase only from the one before it, so nobody may skip one.
//
// Who shares memory with whom by ordinary accesses: the tables are written by one lane a word and only read after the
// barrier that all threads meet. A place of the queue is written by the producer's lane 0 and read by lane 0 of each
// consumer warp, and the same lanes tell each other by mbarriers; the other lanes hear of it through registers. (An
// mbarrier orders what the arriving thread itself has done: reads by other lanes would hang on a warp barrier in
// between, and 64-bit atomics on shared memory are loops of plain reads and compare-and-swap.)
//
// A CTA's first tile goes with its number; the others come from a counter in the workspace, set to zero before the
// launch: their lengths vary by chance, and a fixed share would leave the unlucky CTA a fifth behind. Tiles run down
// a group of GROUP_M block rows, then to the next pair of columns. The last tiles, one a CTA, are taken column by
// column, so that CTAs end closer together.
//
// Requires: m, n % 128 == 0, k % BLOCK_K == 0, 16-byte aligned pointers, a workspace of 4 bytes, sm_90a, and
// patterns whose tables fit (Config::kTableBytes): 64 x 64 x 64 blocks do, 128 x 128 x 128 do not.

#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"
#include "sm90_bsr_bsr_tiles.cuh"
#include "sm90_bsr_tiles.cuh"

#if !defined(STAGES)
#error "define STAGES (kernel.yaml lists the variants)"
#endif
#ifndef BLOCK_K
#define BLOCK_K 128
#endif
#ifndef GROUP_M
#define GROUP_M 32
#endif
#ifndef DTYPE  // 0 fp16, 1 bf16
#define DTYPE 0
#endif

namespace {

struct Config {
  static_assert(DTYPE == 0 || DTYPE == 1, "DTYPE is 0 or 1");
  using Element = mma::ElementOf<DTYPE>::Type;
  static constexpr int kTileM = 128;  // rows of a block of A
  static constexpr int kTileN = 128;  // columns of a block of B: a consumer's
  static constexpr int kTileK = 64;
  static constexpr int kBlockK = BLOCK_K;
  static constexpr int kStepsPerBlock = kBlockK / kTileK;
  static constexpr int kStages = STAGES;
  static constexpr int kGroupM = GROUP_M;

  static constexpr int kConsumers = 2;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = 232;

  static constexpr int kBytesA = kTileM * kTileK * 2;
  static constexpr int kBytesB = kTileK * kTileN * 2;
  static constexpr int kStageBytes = kBytesA + kConsumers * kBytesB;
  static constexpr int kOutPanelBytes = 64 * 128;
  static constexpr int kOutPanels = 2;  // a consumer
  static constexpr int kQueue = 4;      // messages published and not yet taken

  static constexpr int kTableBytes = 2880;
  static constexpr int kOffsetOut = kStages * kStageBytes;
  static constexpr int kOffsetTables = kOffsetOut + kConsumers * kOutPanels * kOutPanelBytes;
  static constexpr int kOffsetQueue = kOffsetTables + kTableBytes;
  static constexpr int kOffsetBarriers = kOffsetQueue + kQueue * 16;
  static constexpr int kSharedBytes = kOffsetBarriers + 8 * 2 * (kStages + kQueue);

  static_assert(kOffsetQueue % 16 == 0, "a place of the queue is one 16-byte word");
  static_assert(kBlockK % kTileK == 0, "a block of A must be whole steps of 64 columns");
  static_assert(kStages >= 2, "one stage is filled while another is read");
  static_assert(kSharedBytes <= 227 * 1024, "a CTA has 227 KiB at most");
};

using Element = Config::Element;
using PipelineState = ptx::PipelineState<Config::kStages>;

struct Problem {
  const int* a_row_ptr;
  const int* a_col_idx;
  const int* b_row_ptr;
  const int* b_col_idx;
  int* counter;
  int rows;   // block rows of A and C
  int inner;  // block columns of A, block rows of B
  int cols;   // block columns of B and C
  int words;  // of 64 columns
  int pairs;  // of block columns; the last may lack its second
  int whole;  // tiles of two columns; those behind them are of one
  int tiles;
};

// What the producer tells the consumers of up to 32 blocks of A's row. One 16-byte word.
struct __align__(16) Message {
  static constexpr int kNone = 0xffff;  // no column; as a row: no more tiles
  static constexpr int kFirst = 1;      // the tile's first message
  static constexpr int kLast = 2;

  int row_and_flags;  // flags above bit 16
  int columns;        // of consumer 0, and above bit 16 of consumer 1
  uint32_t hits[2];   // a bit a block of A: it meets a stored block in the consumer's column
};

// ---- shared memory -----------------------------------------------------------------------------------

struct Shared {
  unsigned char* memory;
  uint32_t base;

  __device__ __forceinline__ uint32_t a(int stage) const { return base + stage * Config::kStageBytes; }
  __device__ __forceinline__ uint32_t b(int consumer, int stage) const {
    return a(stage) + Config::kBytesA + consumer * Config::kBytesB;
  }
  __device__ __forceinline__ uint32_t out(int consumer, int panel) const {
    return base + Config::kOffsetOut + (consumer * Config::kOutPanels + panel) * Config::kOutPanelBytes;
  }
  __device__ __forceinline__ uint32_t full(int stage) const { return base + Config::kOffsetBarriers + stage * 8; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return full(Config::kStages + stage); }
  __device__ __forceinline__ uint32_t queue_full(int place) const { return empty(Config::kStages + place); }
  __device__ __forceinline__ uint32_t queue_empty(int place) const { return queue_full(Config::kQueue + place); }
  __device__ __forceinline__ int4* queue(int place) const {
    return reinterpret_cast<int4*>(memory + Config::kOffsetQueue) + place;
  }
  __device__ __forceinline__ unsigned long long* masks() const {
    return reinterpret_cast<unsigned long long*>(memory + Config::kOffsetTables);
  }
  __device__ __forceinline__ int* b_row_ptr(const Problem& p) const {
    return reinterpret_cast<int*>(masks() + p.inner * p.words);
  }
  __device__ __forceinline__ int* a_row_ptr(const Problem& p) const { return b_row_ptr(p) + p.inner; }
};

__host__ __device__ constexpr int64_t table_bytes(int64_t rows, int64_t inner, int64_t cols) {
  return inner * ((cols + 63) / 64) * 8 + 4 * inner + 4 * (rows + 1);
}

// ---- producer ----------------------------------------------------------------------------------------

struct Tile {
  int row = 0;
  int cols[Config::kConsumers] = {0, Message::kNone};
  int begin = 0;  // stored blocks of A's row
  int end = 0;
};

__device__ __forceinline__ Tile tile_at(const Problem& p, const Shared& shared, int index) {
  Tile tile;
  if (index < p.tiles) {
    const int beyond = index - p.whole;  // of the tiles of one column
    const int pair_tile = beyond < 0 ? index : p.whole + beyond / 2;
    const bsr::Tile at = bsr::tile_at(pair_tile, Config::kGroupM, p.rows, p.pairs);
    const auto column = [&](int which) {
      const int col = 2 * at.col + which;
      return col < p.cols ? col : Message::kNone;
    };
    tile.row = at.row;
    tile.cols[0] = column(beyond < 0 ? 0 : beyond % 2);
    tile.cols[1] = beyond < 0 ? column(1) : Message::kNone;
    if (tile.cols[0] != Message::kNone) {
      tile.begin = shared.a_row_ptr(p)[tile.row];
      tile.end = shared.a_row_ptr(p)[tile.row + 1];
    }
  }
  return tile;
}

// One thread: a step's tile of A, and those of B that are stored.
__device__ __forceinline__ void copy_step(const Shared& shared, int stage, const CUtensorMap* map_a,
                                          const CUtensorMap* map_b, int block_a, const int (&blocks_b)[2], int step) {
  const uint32_t full = shared.full(stage);
  const int found = (blocks_b[0] >= 0 ? 1 : 0) + (blocks_b[1] >= 0 ? 1 : 0);
  ptx::mbarrier_arrive_expect_tx(full, Config::kBytesA + found * Config::kBytesB);
  ptx::tma_load_2d(shared.a(stage), map_a, step * Config::kTileK, block_a * Config::kTileM, full, ptx::kEvictNormal);
#pragma unroll
  for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
    if (blocks_b[consumer] >= 0) {
      ptx::tma_load_3d(shared.b(consumer, stage), map_b, 0,
                       blocks_b[consumer] * Config::kBlockK + step * Config::kTileK, 0, full, ptx::kEvictNormal);
    }
  }
}

// One warp. The ticket after the next and the next tile's column indices are asked for a tile ahead.
__device__ __forceinline__ void produce(const Problem& p, const Shared& shared, const CUtensorMap* map_a,
                                        const CUtensorMap* map_b) {
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = threadIdx.x % 32;
  PipelineState pipe;
  pipe.parity = 1;  // the first visit to each stage need not wait
  ptx::PipelineState<Config::kQueue> place;
  place.parity = 1;
  const auto ticket = [&] { return lane == 0 ? static_cast<int>(gridDim.x) + atomicAdd(p.counter, 1) : 0; };
  const auto inner_of = [&](const Tile& tile, int base) {
    return tile.begin + base + lane < tile.end ? p.a_col_idx[tile.begin + base + lane] : -1;
  };
  const auto publish = [&](int row_and_flags, int columns, unsigned hits_0, unsigned hits_1) {
    ptx::mbarrier_wait(shared.queue_empty(place.stage), place.parity);
    if (lane == 0) {
      *shared.queue(place.stage) =
          make_int4(row_and_flags, columns, static_cast<int>(hits_0), static_cast<int>(hits_1));
      ptx::mbarrier_arrive(shared.queue_full(place.stage));
    }
    place.advance();
  };

  int index = static_cast<int>(blockIdx.x);
  int pending = ticket();
  Tile tile = tile_at(p, shared, index);
  int inner = inner_of(tile, 0);
  while (index < p.tiles) {
    const int next_index = __shfl_sync(kAll, pending, 0);
    pending = ticket();
    const Tile next = tile_at(p, shared, next_index);
    const int next_inner = inner_of(next, 0);
    const int blocks = tile.end - tile.begin;
    for (int base = 0; base == 0 || base < blocks; base += 32) {
      const int here = base == 0 ? inner : inner_of(tile, base);
      int found[Config::kConsumers];
      unsigned hits[Config::kConsumers];
#pragma unroll
      for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
        const bool look = here >= 0 && tile.cols[consumer] != Message::kNone;
        found[consumer] = look ? bsr::find_block(p, shared, here, tile.cols[consumer]) : -1;
        hits[consumer] = __ballot_sync(kAll, found[consumer] >= 0);
      }
      const int flags = (base == 0 ? Message::kFirst : 0) | (base + 32 >= blocks ? Message::kLast : 0);
      publish(tile.row | flags << 16, tile.cols[0] | tile.cols[1] << 16, hits[0], hits[1]);
      for (unsigned left = hits[0] | hits[1]; left != 0; left &= left - 1) {
        const int from = __ffs(left) - 1;
        const int blocks_b[] = {__shfl_sync(kAll, found[0], from), __shfl_sync(kAll, found[1], from)};
#pragma unroll
        for (int step = 0; step < Config::kStepsPerBlock; ++step) {
          ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
          if (lane == 0) {
            copy_step(shared, pipe.stage, map_a, map_b, tile.begin + base + from, blocks_b, step);
          }
          pipe.advance();
        }
      }
    }
    index = next_index;
    tile = next;
    inner = next_inner;
  }
  publish(Message::kNone, 0, 0, 0);
}

// ---- consumers -----------------------------------------------------------------------------------------

// One warp: has read what lies behind the barrier.
__device__ __forceinline__ void release(uint32_t barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    ptx::mbarrier_arrive(barrier);
  }
}

// One warp: takes what lies at a place of the queue and gives the place back. Lane 0 reads, and lane 0 tells.
__device__ __forceinline__ Message take(const Shared& shared, int place, uint32_t parity) {
  constexpr unsigned kAll = 0xffffffffu;
  int4 word = make_int4(0, 0, 0, 0);
  ptx::mbarrier_wait(shared.queue_full(place), parity);
  if (threadIdx.x % 32 == 0) {
    word = *shared.queue(place);
    ptx::mbarrier_arrive(shared.queue_empty(place));
  }
  return {__shfl_sync(kAll, word.x, 0),
          __shfl_sync(kAll, word.y, 0),
          {static_cast<uint32_t>(__shfl_sync(kAll, word.z, 0)), static_cast<uint32_t>(__shfl_sync(kAll, word.w, 0))}};
}

// One warpgroup: one block column of every tile.
__device__ __forceinline__ void consume(const Shared& shared, int consumer, const CUtensorMap* map_c) {
  constexpr unsigned kAll = 0xffffffffu;
  PipelineState pipe;
  ptx::PipelineState<Config::kQueue> place;
  bsr::Accumulators accum;
  for (;;) {
    const Message message = take(shared, place.stage, place.parity);
    place.advance();
    const int row = message.row_and_flags & 0xffff;
    const int flags = message.row_and_flags >> 16;
    if (row == Message::kNone) {
      break;
    }
    if ((flags & Message::kFirst) != 0) {
      bsr::clear(accum);
    }
    const uint32_t mine = consumer == 0 ? message.hits[0] : message.hits[1];
    int held = -1;  // the stage that products may still read
    mma::fence_operands(accum[0]);
    mma::fence_operands(accum[1]);
#pragma unroll 1
    for (uint32_t left = message.hits[0] | message.hits[1]; left != 0; left &= left - 1) {
      const bool meets = __any_sync(kAll, (mine & left & -left) != 0);
#pragma unroll 1
      for (int step = 0; step < Config::kStepsPerBlock; ++step) {
        ptx::mbarrier_wait(shared.full(pipe.stage), pipe.parity);
        if (meets) {
          mma::warpgroup_fence();
          bsr::multiply_step(Element{}, accum, shared.a(pipe.stage), shared.b(consumer, pipe.stage));
          mma::warpgroup_commit();
          if (held >= 0) {
            mma::warpgroup_wait<1>();  // the step before: its stage is free
            release(shared.empty(held));
          }
          held = pipe.stage;
        } else {
          if (held >= 0) {
            mma::warpgroup_wait<0>();  // nothing is held while waiting for steps of the other consumer
            release(shared.empty(held));
            held = -1;
          }
          release(shared.empty(pipe.stage));
        }
        pipe.advance();
      }
    }
    mma::warpgroup_wait<0>();
    mma::fence_operands(accum[0]);
    mma::fence_operands(accum[1]);
    if (held >= 0) {
      release(shared.empty(held));
    }
    const int column = consumer == 0 ? message.columns & 0xffff : message.columns >> 16 & 0xffff;
    if ((flags & Message::kLast) != 0 && column != Message::kNone) {
      const auto out = [&](int panel) { return shared.out(consumer, panel); };
      bsr::store_accumulators<Config::kOutPanels>(Element{}, accum, out, map_c, row * Config::kTileM,
                                                  column * Config::kTileN);
    }
  }
  ptx::tma_store_wait();  // shared memory must outlive the stores that read it
}

__global__ void __launch_bounds__(Config::kThreads, 1)
    sm90_bsr_bsr_gemm_kernel(const Problem p, const __grid_constant__ CUtensorMap map_a,
                             const __grid_constant__ CUtensorMap map_b, const __grid_constant__ CUtensorMap map_c) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared{memory, ptx::shared_address(memory)};
  const int warpgroup = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::prefetch_tensormap(&map_c);
    for (int stage = 0; stage < Config::kStages; ++stage) {
      ptx::mbarrier_init(shared.full(stage), 1);
      ptx::mbarrier_init(shared.empty(stage), 4 * Config::kConsumers);
    }
    for (int place = 0; place < Config::kQueue; ++place) {
      ptx::mbarrier_init(shared.queue_full(place), 1);
      ptx::mbarrier_init(shared.queue_empty(place), 4 * Config::kConsumers);
    }
    ptx::fence_mbarrier_init();
  }
  bsr::build_tables<Config::kThreads>(p, shared);
  __syncthreads();

  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::kProducerRegisters>();
    if (threadIdx.x < 32) {
      produce(p, shared, &map_a, &map_b);
    }
  } else {
    ptx::setmaxnreg_inc<Config::kConsumerRegisters>();
    consume(shared, warpgroup - 1, &map_c);
  }
}

}  // namespace

extern "C" int assay_bsr_bsr_gemm(const void* a_values, const int* a_row_ptr, const int* a_col_idx,
                                  const void* b_values, const int* b_row_ptr, const int* b_col_idx, void* c, int m,
                                  int n, int k, void* workspace, size_t workspace_bytes, void* stream) {
  bsr::Shape shape;
  cudaError_t error = bsr::read_shape(&shape, a_values, b_values, c, m, n, k, Config::kBlockK, workspace,
                                      workspace_bytes);
  if (error != cudaSuccess) {
    return error;
  }
  if (table_bytes(shape.rows, shape.inner, shape.cols) > Config::kTableBytes) {
    return cudaErrorInvalidValue;  // the pattern's tables must fit beside the ring
  }
  bsr::Maps maps;
  error = bsr::make_maps(&maps, shape, a_values, b_values, c, Config::kBlockK);
  launch::DeviceLimits limits;
  if (error == cudaSuccess) {
    error = launch::prepare(sm90_bsr_bsr_gemm_kernel, Config::kSharedBytes, &limits);
  }
  if (error == cudaSuccess) {
    error = cudaMemsetAsync(workspace, 0, sizeof(int), static_cast<cudaStream_t>(stream));
  }
  if (error != cudaSuccess) {
    return error;
  }
  const bsr::Tiles tiles = bsr::count_tiles(shape, limits.sms);
  const Problem problem{a_row_ptr,
                        a_col_idx,
                        b_row_ptr,
                        b_col_idx,
                        static_cast<int*>(workspace),
                        shape.rows,
                        shape.inner,
                        shape.cols,
                        (shape.cols + 63) / 64,
                        tiles.pairs,
                        tiles.whole,
                        tiles.all};
  sm90_bsr_bsr_gemm_kernel<<<tiles.grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(
      problem, maps.a, maps.b, maps.c);
  return cudaGetLastError();
}
