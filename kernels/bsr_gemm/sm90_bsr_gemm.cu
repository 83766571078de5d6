// C[m,n] = A_bsr[m,k] * B[k,n] with stored blocks of 128 rows, 16-bit (or fp8) in, 16-bit out, fp32 accumulators, for
// Hopper: TMA, warpgroup products, clusters. Blocks of 64 x 64: sm90_bsr_gemm_64.cu.
//
// A cluster of CLUSTER CTAs computes 128 rows (one block row of A) x CLUSTER * TILE_N columns of C. It walks
// the stored 128 x BLOCK_K blocks of that block row in steps of 64 columns, and reads for each step the 64
// rows of B that the block's column index selects.
//
//                     CTA 0          CTA 1           The CTAs of a cluster need the same tiles of A: each
//                 +------------+------------+        copies 128 / CLUSTER rows of it and multicasts them to
//              64 |     B      |     B      |        all. Two block rows of a random pattern have few columns
//                 +------------+------------+        in common, so B is not shared.
//           64
//         +----+  +------------+------------+        384 threads a CTA, one CTA an SM:
//         |    |  |consumer 0  |consumer 0  | 64       warpgroup 0: producer. One warp walks the blocks
//     128 | A  |  +------------+------------+            and starts the copies, the others idle.
//         |    |  |consumer 1  |consumer 1  | 64       warpgroups 1, 2: consumers, 64 x TILE_N each,
//         +----+  +------------+------------+            TILE_N / 2 fp32 accumulators a thread.
//                     TILE_N       TILE_N
//
// Shared memory: a ring of STAGES stages, each A [128][64] (16 KiB) then B [TILE_N / 64][64][64] (TILE_N * 128
// bytes), 128-byte swizzle as TMA writes it and wgmma reads it; 32 KiB through which C leaves (8 KiB twice for each
// consumer); the order of the block rows; two mbarriers a stage. With 256 columns and 4 stages: 224 KiB and a bit.
//
// Persistent: clusters take tiles in turn. Tiles run down a group of GROUP_M block rows, then to the next
// columns, so that the group's blocks of A and the running columns of B stay in L2; KEEP_A percent of A is marked to be
// evicted last, for a large group is more than L2 holds beside B and C. Block rows are taken
// longest first; where they differ, every second round of clusters runs in reverse, so that they even out. The ring runs
// across tile borders: while consumers store C, the next tile's first steps land.
//
// DTYPE 2 (fp8, E4M3): B is given k-major, [n, k] row-major, since wgmma knows no other layout of 8-bit operands;
// a step has 128 columns of A; C is bf16; k % 16 == 0.
//
// Requires: m % 128 == 0, k % BLOCK_K == 0, n % 8 == 0, 16-byte aligned pointers, sm_90a.

#include <type_traits>

#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"
#include "sm90_bsr_tiles.cuh"

#if !defined(TILE_N) || !defined(STAGES) || !defined(CLUSTER)
#error "define TILE_N, STAGES and CLUSTER (kernel.yaml lists the variants)"
#endif
#ifndef BLOCK_K
#define BLOCK_K 128
#endif
#ifndef GROUP_M
#define GROUP_M 32
#endif
#ifndef LATE_STEP  // step of the next tile in which the second half of C leaves
#define LATE_STEP 2
#endif
#ifndef ZIGZAG  // 1: every second round walks the blocks from last to first
#define ZIGZAG 1
#endif
#ifndef KEEP_A  // percent of A that L2 is told to keep; 0: as everything else
#define KEEP_A 0
#endif
#ifndef DTYPE  // of A and B: 0 fp16, 1 bf16, 2 fp8 (E4M3); C has the first two's own type, bf16 for fp8
#define DTYPE 0
#endif

namespace {

struct Config {
  using Element = mma::ElementOf<DTYPE>::Type;
  static constexpr bool kFp8 = std::is_same_v<Element, mma::Float8E4M3>;
  using Result = mma::ElementOf<kFp8 ? 1 : DTYPE>::Type;  // FP8's products leave in bf16
  static constexpr int kElementBytes = kFp8 ? 1 : 2;
  static constexpr int kTileM = 128;  // rows of a stored block
  static constexpr int kTileN = TILE_N;
  static constexpr int kRowBytes = bsr::kRowBytes;
  static constexpr int kTileK = kRowBytes / kElementBytes;
  static constexpr int kBlockK = BLOCK_K;
  static constexpr int kStages = STAGES;
  static constexpr int kCluster = CLUSTER;
  static constexpr int kGroupM = GROUP_M;
  static constexpr bool kZigzag = ZIGZAG != 0;
  static constexpr int kKeepA = KEEP_A;

  static constexpr int kConsumers = 2;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kConsumerM = kTileM / kConsumers;
  static constexpr int kAccum = kTileN / 2;  // a thread: 64 x TILE_N over 128 threads
  // 65536 registers: 40 for each thread of the producer's warpgroup, 232 for the consumers'.
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = 232;

  static constexpr int kStepsPerBlock = kBlockK / kTileK;
  static constexpr int kPanel = 64;  // columns of B or C in 128 bytes
  static constexpr int kPanels = kTileN / kPanel;
  static constexpr int kPanelBytes = kTileK * kRowBytes;  // of B, 16-bit types
  static constexpr int kBytesA = kTileM * kRowBytes;
  static constexpr int kBytesB = kElementBytes * kTileK * kTileN;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kRowsA = kTileM / kCluster;  // rows of A that one CTA copies for all
  static constexpr int kOutBytes = kConsumerM * kRowBytes;  // one panel of a consumer's part of C
  static constexpr int kOutPanels = 2;
  static constexpr int kLatePanels = kPanels - kOutPanels;
  static constexpr int kLatePairs = kLatePanels * 16;  // a thread
  static constexpr int kLateStep = LATE_STEP;
  // Steps whose products are made half by half: the two of the last block. FP8 has one, twice as fast: halves of it lose
  // more than they hide. One step of a narrow block is too short, too.
  static constexpr int kTailSteps = kTileN == 256 && kStepsPerBlock == 2 ? 2 : 0;

  static constexpr int kMaxSortedRows = 1024;  // beyond this, block rows keep their order
  static constexpr int kOffsetOut = kStages * kStageBytes;
  static constexpr int kOffsetOrder = kOffsetOut + kConsumers * kOutPanels * kOutBytes;
  static constexpr int kOffsetBarriers = kOffsetOrder + 2 * kMaxSortedRows;
  static constexpr int kSharedBytes = kOffsetBarriers + 2 * 8 * kStages;
  // Every warp of every consumer in the cluster says that it has read a stage.
  static constexpr int kReleases = 4 * kConsumers * kCluster;

  static_assert(kTileN == 128 || kTileN == 256, "products are written for 128 and 256 columns");
  static_assert(kBlockK % kTileK == 0, "a stored block must be whole steps of 64 columns");
  static_assert(kCluster == 1 || kCluster == 2 || kCluster == 4, "A's tile is cut into whole groups of 8 rows");
  static_assert(kKeepA >= 0 && kKeepA <= 100, "a share in percent");
  static_assert(kStages >= 2, "one stage is filled while another is read");
  static_assert(kPanels == kOutPanels || kPanels == 2 * kOutPanels, "late panels take the early ones' memory");
  static_assert(kStageBytes % 1024 == 0, "swizzled tiles begin at multiples of 1024 bytes");
  static_assert(4 * kMaxSortedRows <= kOffsetOrder - kOffsetOut, "row lengths are sorted where C leaves later");
  static_assert(kSharedBytes <= 227 * 1024, "a CTA has 227 KiB at most");
};

using Element = Config::Element;
using PipelineState = ptx::PipelineState<Config::kStages>;

struct Problem {
  const int* row_ptr;
  const int* col_idx;
  int block_rows;
  int tiles_n;  // columns of cluster tiles
  int tiles;
};

// ---- which tile ------------------------------------------------------------------------------------

// Block rows by falling length, and whether lengths differ.
struct Order {
  const uint16_t* rows;
  bool ragged;
};

// A tile as both sides walk it.
struct Work {
  int begin = 0;  // stored blocks of the tile's block row
  int end = 0;
  int row = 0;  // block row
  int col = 0;  // column of cluster tiles
  bool live = false;
  bool backward = false;  // blocks from last to first

  __device__ __forceinline__ int length() const { return end - begin; }
  __device__ __forceinline__ int block(int i) const { return backward ? end - 1 - i : begin + i; }
};

__device__ __forceinline__ Work work_at(const Problem& p, const Order& order, int round) {
  Work work;
  const int index = bsr::tile_index<Config::kCluster>(round, order.ragged);
  if (index < p.tiles) {
    const bsr::Tile tile = bsr::tile_at(index, Config::kGroupM, p.block_rows, p.tiles_n);
    work.row = p.block_rows <= Config::kMaxSortedRows ? order.rows[tile.row] : tile.row;
    work.col = tile.col;
    work.begin = p.row_ptr[work.row];
    work.end = p.row_ptr[work.row + 1];
    work.live = true;
    // Every second round walks back: L2 still has the blocks of A and the rows of B that were used last.
    work.backward = Config::kZigzag && round % 2 == 1;
  }
  return work;
}

// ---- producer --------------------------------------------------------------------------------------

struct Shared {
  uint32_t base;

  __device__ __forceinline__ uint32_t a(int stage) const { return base + stage * Config::kStageBytes; }
  __device__ __forceinline__ uint32_t b(int stage) const { return a(stage) + Config::kBytesA; }
  __device__ __forceinline__ uint32_t out(int consumer) const {
    return base + Config::kOffsetOut + consumer * Config::kOutPanels * Config::kOutBytes;
  }
  __device__ __forceinline__ uint32_t full(int stage) const { return base + Config::kOffsetBarriers + stage * 8; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return full(Config::kStages + stage); }
};

// One thread: the copies of one step into a stage that all consumers of the cluster have left.
__device__ __forceinline__ void copy_step(const Shared& shared, int stage, const CUtensorMap* map_a,
                                          const CUtensorMap* map_b, int block, int inner, int step, int column,
                                          uint32_t rank, uint64_t policy_a) {
  const uint32_t full = shared.full(stage);
  ptx::mbarrier_arrive_expect_tx(full, Config::kStageBytes);
  const int part = static_cast<int>(rank) * Config::kRowsA;
  const int row_a = block * Config::kTileM + part;
  if constexpr (Config::kCluster == 1) {
    ptx::tma_load_2d(shared.a(stage), map_a, step * Config::kTileK, row_a, full, policy_a);
  } else {
    ptx::tma_load_multicast_2d(shared.a(stage) + part * Config::kRowBytes, map_a, step * Config::kTileK, row_a, full,
                               (1 << Config::kCluster) - 1, policy_a);
  }
  const int row_b = inner * Config::kBlockK + step * Config::kTileK;
  if constexpr (Config::kFp8) {
    ptx::tma_load_2d(shared.b(stage), map_b, row_b, column, full, ptx::kEvictNormal);
  } else {
#pragma unroll
    for (int panel = 0; panel < Config::kPanels; ++panel) {
      ptx::tma_load_2d(shared.b(stage) + panel * Config::kPanelBytes, map_b, column + panel * Config::kPanel, row_b,
                       full, ptx::kEvictNormal);
    }
  }
}

// One warp. Lanes hold the next 32 column indices; row bounds and first indices of the next tile are asked
// for while this one is copied.
__device__ __forceinline__ void produce(const Problem& p, const Shared& shared, const Order& order,
                                        const CUtensorMap* map_a, const CUtensorMap* map_b) {
  const int lane = threadIdx.x % 32;
  const uint32_t rank = Config::kCluster == 1 ? 0 : ptx::cluster_ctarank();
  const uint64_t policy_a =
      Config::kKeepA == 0 ? ptx::kEvictNormal : ptx::createpolicy_evict_last(Config::kKeepA / 100.0f);
  PipelineState pipe;
  pipe.parity = 1;  // the first visit to each stage need not wait
  Work work = work_at(p, order, 0);
  int inner = lane < work.length() ? p.col_idx[work.block(lane)] : 0;
  for (int round = 0; work.live; ++round) {
    const Work next = work_at(p, order, round + 1);
    const int column = (work.col * Config::kCluster + static_cast<int>(rank)) * Config::kTileN;
    const int inner_next = lane < next.length() ? p.col_idx[next.block(lane)] : 0;
    const int length = work.length();
    for (int i = 0; i < length; ++i) {
      if (i > 0 && i % 32 == 0) {
        inner = i + lane < length ? p.col_idx[work.block(i + lane)] : 0;
      }
      const int inner_here = __shfl_sync(0xffffffffu, inner, i % 32);
#pragma unroll
      for (int step = 0; step < Config::kStepsPerBlock; ++step) {
        ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
        if (lane == 0) {
          copy_step(shared, pipe.stage, map_a, map_b, work.block(i), inner_here, step, column, rank, policy_a);
        }
        pipe.advance();
      }
    }
    work = next;
    inner = inner_next;
  }
}

// ---- consumers -------------------------------------------------------------------------------------

// Descriptors of a consumer's operands in stage 0; the other stages lie at multiples of a stage's bytes.
struct Operands {
  uint64_t a;
  uint64_t b;

  __device__ __forceinline__ Operands(const Shared& shared, int consumer)
      : a(mma::smem_descriptor_128b(shared.a(0) + consumer * Config::kConsumerM * Config::kRowBytes, 0,
                                    8 * Config::kRowBytes)),
        b(mma::smem_descriptor_128b(shared.b(0), Config::kFp8 ? 0 : Config::kPanelBytes, 8 * Config::kRowBytes)) {}
};

// One step's four products of 32 bytes of A's rows, added to the accumulators: of all columns, or of as many as there
// are accumulators for, from byte `from_b` of the tile of B on.
template <int kCount>
__device__ __forceinline__ void multiply_step(float (&accum)[kCount], const Operands& operands, int stage,
                                              int from_b = 0) {
  // Within 128 bytes of k, an operand along k moves by 32 bytes; B along n by 16 rows.
  constexpr int kNextB = Config::kFp8 ? 32 : 16 * Config::kRowBytes;
  const uint64_t a = operands.a + stage * (Config::kStageBytes >> 4);
  const uint64_t b = operands.b + stage * (Config::kStageBytes >> 4) + (from_b >> 4);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    mma::wgmma(Element{}, accum, a + k * (32 >> 4), b + k * (kNextB >> 4));
  }
}

// Every warp tells every CTA of the cluster that it has read the stage: their copies of A come here too.
__device__ __forceinline__ void release(const Shared& shared, int stage) {
  const uint32_t lane = threadIdx.x % 32;
  if constexpr (Config::kCluster == 1) {
    if (lane == 0) {
      ptx::mbarrier_arrive(shared.empty(stage));
    }
  } else {
    if (lane < Config::kCluster) {
      ptx::mbarrier_arrive_cluster(shared.empty(stage), lane);
    }
  }
}

// C leaves in panels of 64 columns, each warp its own 16 rows with its own stores, so that no warp waits for another.
// There is memory for two panels a consumer. The first two leave at once, while the other half of the last products is
// made; the others wait as rounded pairs in registers
// while the next tile's products have begun, and leave a few steps later, when the memory is free again.
struct Late {
  uint32_t pairs[Config::kLatePairs];
  int row;
  int column;
  bool waiting = false;
};

__device__ __forceinline__ uint32_t round_pair(const float* accum, int pair) {
  return mma::pack_pair(Config::Result{}, accum[2 * pair], accum[2 * pair + 1]);
}

// The stores that read the panels' memory last have read it; lane 0 issued them.
__device__ __forceinline__ void wait_for_panels() {
  ptx::tma_store_wait_read<0>();
  __syncwarp();
}

__device__ __forceinline__ void store_late(Late& late, const Shared& shared, int consumer, const CUtensorMap* map_c) {
  wait_for_panels();
  bsr::store_panels<Config::kLatePanels>(shared.out(consumer), map_c, late.row,
                                         late.column + Config::kOutPanels * Config::kPanel,
                                         [&](int i) { return late.pairs[i]; });
  late.waiting = false;
}

using Accum = float[Config::kAccum];
using Half = float[Config::kAccum / 2];

// The first panels of a tile: from `accum` on, at once.
__device__ __forceinline__ void store_early(const float* accum, const Shared& shared, int consumer,
                                            const CUtensorMap* map_c, int row, int column) {
  wait_for_panels();
  bsr::store_panels<Config::kOutPanels>(shared.out(consumer), map_c, row, column,
                                        [&](int i) { return round_pair(accum, i); });
}

// The others: rounded, to leave later.
__device__ __forceinline__ void keep_late(Late& late, const Accum& accum, int row, int column) {
  if constexpr (Config::kLatePairs > 0) {
#pragma unroll
    for (int i = 0; i < Config::kLatePairs; ++i) {
      late.pairs[i] = round_pair(accum, Config::kOutPanels * 16 + i);
    }
    late.row = row;
    late.column = column;
    late.waiting = true;
  }
}

// Adds the products of `steps` steps. What waits to leave does so on the way, or at the end of a short tile.
__device__ __forceinline__ void multiply_steps(Accum& accum, PipelineState& pipe, int steps, const Operands& operands,
                                               Late& late, const Shared& shared, int consumer,
                                               const CUtensorMap* map_c) {
  int last_stage = 0;
  mma::fence_operands(accum);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ptx::mbarrier_wait(shared.full(pipe.stage), pipe.parity);
    mma::warpgroup_fence();
    multiply_step(accum, operands, pipe.stage);
    mma::warpgroup_commit();
    if (Config::kLatePairs > 0 && step == Config::kLateStep && late.waiting) {
      store_late(late, shared, consumer, map_c);
    }
    if (step > 0) {
      mma::warpgroup_wait<1>();  // the step before: its stage is free
      release(shared, last_stage);
    }
    last_stage = pipe.stage;
    pipe.advance();
  }
  mma::warpgroup_wait<0>();
  mma::fence_operands(accum);
  if (steps > 0) {
    release(shared, last_stage);
  }
  if (Config::kLatePairs > 0 && late.waiting) {
    store_late(late, shared, consumer, map_c);
  }
}

// The last kSteps steps of a tile, half by half: while the right half is multiplied, the left one leaves.
template <int kSteps>
__device__ __forceinline__ void multiply_tail(Accum& accum, PipelineState& pipe, const Operands& operands,
                                              const Shared& shared, int consumer, const CUtensorMap* map_c, int row,
                                              int column) {
  Half& left = reinterpret_cast<Half&>(accum[0]);
  Half& right = reinterpret_cast<Half&>(accum[Config::kAccum / 2]);
  const PipelineState begin = pipe;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    ptx::mbarrier_wait(shared.full(pipe.stage), pipe.parity);
    pipe.advance();
  }
  mma::warpgroup_fence();
  PipelineState at = begin;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    multiply_step(left, operands, at.stage);
    at.advance();
  }
  mma::warpgroup_commit();
  at = begin;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    multiply_step(right, operands, at.stage, Config::kBytesB / 2);
    at.advance();
  }
  mma::warpgroup_commit();
  mma::warpgroup_wait<1>();
  mma::fence_operands(left);
  store_early(accum, shared, consumer, map_c, row, column);
  mma::warpgroup_wait<0>();
  mma::fence_operands(right);
  at = begin;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    release(shared, at.stage);
    at.advance();
  }
}

// The last kSteps steps of a tile where there are `halves`, and C's way out. Each branch goes to its end: where registers
// of products met others, the compiler would wait for each product.
template <int kSteps>
__device__ __forceinline__ void finish_tile(bool halves, Accum& accum, PipelineState& pipe, const Operands& operands,
                                            Late& late, const Shared& shared, int consumer, const CUtensorMap* map_c,
                                            int row, int column) {
  if constexpr (kSteps > 0) {
    if (halves) {
      multiply_tail<kSteps>(accum, pipe, operands, shared, consumer, map_c, row, column);
      keep_late(late, accum, row, column);
      return;
    }
  }
  store_early(accum, shared, consumer, map_c, row, column);
  keep_late(late, accum, row, column);
}

// One warpgroup.
__device__ __forceinline__ void consume(const Problem& p, const Shared& shared, const Order& order, int consumer,
                                        const CUtensorMap* map_c) {
  const uint32_t rank = Config::kCluster == 1 ? 0 : ptx::cluster_ctarank();
  const Operands operands(shared, consumer);
  PipelineState pipe;
  Late late;
  Work work = work_at(p, order, 0);
  for (int round = 0; work.live; ++round) {
    const Work next = work_at(p, order, round + 1);
    const int steps = work.length() * Config::kStepsPerBlock;
    const int row = work.row * Config::kTileM + consumer * Config::kConsumerM;
    const int column = (work.col * Config::kCluster + static_cast<int>(rank)) * Config::kTileN;
    const bool halves = Config::kTailSteps > 0 && steps > 0;
    Accum accum;
#pragma unroll
    for (int i = 0; i < Config::kAccum; ++i) {
      accum[i] = 0.0f;
    }
    multiply_steps(accum, pipe, halves ? steps - Config::kTailSteps : steps, operands, late, shared, consumer, map_c);
    finish_tile<Config::kTailSteps>(halves, accum, pipe, operands, late, shared, consumer, map_c, row, column);
    work = next;
  }
  if (Config::kLatePairs > 0 && late.waiting) {
    store_late(late, shared, consumer, map_c);
  }
  ptx::tma_store_wait();  // shared memory must outlive the stores that read it
}

__global__ void __launch_bounds__(Config::kThreads, 1)
    sm90_bsr_gemm_kernel(const Problem p, const __grid_constant__ CUtensorMap map_a,
                         const __grid_constant__ CUtensorMap map_b, const __grid_constant__ CUtensorMap map_c) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared{ptx::shared_address(memory)};
  auto* rows = reinterpret_cast<uint16_t*>(memory + Config::kOffsetOrder);
  Order order{rows, true};
  // By a shuffle, so that the compiler knows it to be one for the warp, and all that follows from it.
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);

  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::prefetch_tensormap(&map_c);
    for (int stage = 0; stage < Config::kStages; ++stage) {
      ptx::mbarrier_init(shared.full(stage), 1);
      ptx::mbarrier_init(shared.empty(stage), Config::kReleases);
    }
    ptx::fence_mbarrier_init();
  }
  // The others' barriers must exist before anybody copies or arrives there; until then there are rows to sort.
  __syncwarp();
  if constexpr (Config::kCluster > 1) {
    ptx::cluster_arrive();
  }
  if (p.block_rows <= Config::kMaxSortedRows) {
    order.ragged = bsr::sort_rows<Config::kThreads>(p.row_ptr, p.col_idx, p.block_rows,
                                                    reinterpret_cast<int*>(memory + Config::kOffsetOut), rows);
  }
  if constexpr (Config::kCluster > 1) {
    ptx::cluster_wait();
  } else {
    __syncthreads();
  }

  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::kProducerRegisters>();
    if (threadIdx.x < 32) {
      produce(p, shared, order, &map_a, &map_b);
    }
  } else {
    ptx::setmaxnreg_inc<Config::kConsumerRegisters>();
    consume(p, shared, order, warpgroup - 1, &map_c);
  }
  if constexpr (Config::kCluster > 1) {
    __syncwarp();
    ptx::cluster_sync();  // nobody leaves while others may still copy or arrive here
  }
}

}  // namespace

extern "C" int assay_bsr_gemm(const void* a_values, const int* a_row_ptr, const int* a_col_idx, const void* b, void* c,
                              int m, int n, int k, void* /*workspace*/, size_t /*workspace_bytes*/, void* stream) {
  if (m <= 0 || n <= 0 || k <= 0 || m % Config::kTileM != 0 || k % Config::kBlockK != 0 || n % 8 != 0) {
    return cudaErrorInvalidValue;
  }
  if (!launch::is_aligned_16(a_values) || !launch::is_aligned_16(b) || !launch::is_aligned_16(c)) {
    return cudaErrorInvalidValue;
  }
  constexpr int kClusterN = Config::kCluster * Config::kTileN;
  const int block_rows = m / Config::kTileM;
  const int tiles_n = (n + kClusterN - 1) / kClusterN;
  // The number of stored blocks is not known here: the tensor map covers as many as there can be.
  const int64_t rows_a = static_cast<int64_t>(block_rows) * (k / Config::kBlockK) * Config::kTileM;
  if (static_cast<int64_t>(block_rows) * tiles_n > INT32_MAX / 2 || rows_a > INT32_MAX) {
    return cudaErrorInvalidValue;  // tile numbers and coordinates are ints
  }
  CUtensorMap map_a;
  CUtensorMap map_b;
  CUtensorMap map_c;
  cudaError_t error = launch::make_tensor_map_2d(&map_a, a_values, rows_a, Config::kBlockK, Config::kRowsA,
                                                 Config::kTileK, Config::kElementBytes);
  if (error == cudaSuccess) {
    error = Config::kFp8 ? launch::make_tensor_map_2d(&map_b, b, n, k, Config::kTileN, Config::kTileK, 1)
                         : launch::make_tensor_map_2d(&map_b, b, k, n, Config::kTileK, Config::kPanel);
  }
  if (error == cudaSuccess) {
    error = launch::make_tensor_map_2d(&map_c, c, m, n, 16, Config::kPanel);
  }
  if (error != cudaSuccess) {
    return error;
  }
  const Problem problem{a_row_ptr, a_col_idx, block_rows, tiles_n, block_rows * tiles_n};
  return launch::launch_clusters<Config::kCluster>(sm90_bsr_gemm_kernel, Config::kThreads, Config::kSharedBytes,
                                                   problem.tiles, stream, problem, map_a, map_b, map_c);
}
