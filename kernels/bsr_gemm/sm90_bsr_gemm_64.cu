// C[m,n] = A_bsr[m,k] * B[k,n] with stored blocks of 64 x 64, 16-bit in and out, fp32 accumulators, for Hopper: TMA,
// warpgroup products, clusters.
//
// A stored block of 64 rows brings 64 FLOP for each byte of B it meets: half of what 128 rows bring. At the rate of
// the tensor cores that asks L2 for nearly twice what it delivers. So a CTA takes 2 * ROWS_EACH block rows at once
// and walks the union of their block columns: a tile of B is copied once for all rows that have its column. In a
// random pattern of density d, the union of g rows has 1 - (1 - d)^g of all columns, against g * d one by one: at a
// quarter, 0.88 of the copies for two rows and 0.68 for four. Rows with many columns in common are put together first
// (then 0.62 for four). The picture has ROWS_EACH 2.
//
//                       CTA 0          CTA 1
//                   +------------+------------+        A union column: the tile of B, and of A only the
//                64 |     B      |     B      |        blocks that are stored, here of rows 0 and 3.
//                   +------------+------------+        The CTAs of a cluster walk the same union; each copies
//             64                                       64 / CLUSTER rows of a block of A to all of them.
//           +----+  +------------+------------+
//         64| A  |  |consumer 0  |consumer 0  | row 0  384 threads a CTA, one CTA an SM:
//           +----+  +------------+------------+          warpgroup 0: producers, one thread each for B and for
//                   |consumer 0  |consumer 0  | row 1      each consumer's A. Each merges the rows' column
//                   +------------+------------+            indices for itself.
//                   |consumer 1  |consumer 1  | row 2    warpgroups 1, 2: consumers, ROWS_EACH block
//           +----+  +------------+------------+            rows of 64 x TILE_N each.
//         64| A  |  |consumer 1  |consumer 1  | row 3
//           +----+  +------------+------------+
//                       TILE_N       TILE_N
//
// Shared memory: a ring of SLOTS_B stages, tiles of B, [TILE_N / 64][64][64] (TILE_N * 128 bytes); for each consumer a
// ring of SLOTS_A stages, blocks of A, [64][64] (8 KiB), each with a note that says which tile of B and which of the
// consumer's rows it belongs to; OUT_PANELS panels a consumer through which C leaves (8 KiB each); the order of the
// block rows; two mbarriers a stage of each ring. 128-byte swizzle as TMA writes it and wgmma reads it. ROWS_EACH 1,
// TILE_N 256, SLOTS_B 4, SLOTS_A 4, OUT_PANELS 2: 226 KiB and a bit, as ROWS_EACH 2, TILE_N 192, SLOTS_B 6, SLOTS_A 4,
// OUT_PANELS 1.
//
// A consumer takes its own ring's blocks in turn and never looks at tiles of B that its rows do not need: the
// producer of B arrives at their barriers for it. Both rings run across tile borders.
//
// Producers are threads of different warps, for one that did it all was what the kernel waited for: some 1200 cycles
// a column.
//
// Persistent: clusters take tiles in turn, down GROUP_M groups of rows, then to the next columns. Block rows are
// sorted longest first; every second round of clusters runs in reverse, and walks its columns from last to first.
//
// Requires: m % 64 == 0, k % 64 == 0, n % 8 == 0, 16-byte aligned pointers, sm_90a.

#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"
#include "sm90_bsr_tiles.cuh"

#if !defined(ROWS_EACH) || !defined(TILE_N) || !defined(SLOTS_A) || !defined(SLOTS_B) || !defined(OUT_PANELS)
#error "define ROWS_EACH, TILE_N, SLOTS_A, SLOTS_B and OUT_PANELS (kernel.yaml lists the variants)"
#endif
#ifndef CLUSTER
#define CLUSTER 2
#endif
#ifndef GROUP_M
#define GROUP_M 32
#endif
#ifndef DTYPE  // of A, B and C: 0 fp16, 1 bf16
#define DTYPE 0
#endif

namespace {

struct Config {
  static_assert(DTYPE == 0 || DTYPE == 1, "DTYPE is 0 or 1: 8-bit blocks of 64 columns do not fill a row of the swizzle");
  using Element = mma::ElementOf<DTYPE>::Type;
  static constexpr int kBlock = 64;  // rows and columns of a stored block
  static constexpr int kTileN = TILE_N;
  static constexpr int kRowBytes = bsr::kRowBytes;
  static constexpr int kCluster = CLUSTER;
  static constexpr int kGroupM = GROUP_M;

  static constexpr int kConsumers = 2;
  static constexpr int kRowsEach = ROWS_EACH;
  static constexpr int kRows = kConsumers * kRowsEach;  // block rows of a CTA
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kAccum = kTileN / 2;  // a thread and block row: 64 x TILE_N over 128 threads
  // 65536 registers: 56 for each thread of the producers' warpgroup, which walk kRows rows at once, 224 for the others.
  static constexpr int kProducerRegisters = 56;
  static constexpr int kConsumerRegisters = 224;

  static constexpr int kPanel = 64;  // columns of B or C in 128 bytes
  static constexpr int kPanels = kTileN / kPanel;
  static constexpr int kPanelBytes = kBlock * kRowBytes;
  static constexpr int kStagesA = SLOTS_A;
  static constexpr int kStagesB = SLOTS_B;
  static constexpr int kBytesA = kBlock * kRowBytes;
  static constexpr int kBytesB = kPanels * kPanelBytes;
  static constexpr int kRowsA = kBlock / kCluster;  // rows of a block of A that one CTA copies for all
  static constexpr int kOutPanels = OUT_PANELS;
  static constexpr int kOutBytes = kBlock * kRowBytes;

  static constexpr int kMaxSortedRows = 1024;  // beyond this, block rows keep their order
  static constexpr int kOffsetA = kStagesB * kBytesB;
  static constexpr int kOffsetOut = kOffsetA + kConsumers * kStagesA * kBytesA;
  static constexpr int kOffsetOrder = kOffsetOut + kConsumers * kOutPanels * kOutBytes;
  static constexpr int kOffsetNotes = kOffsetOrder + 2 * kMaxSortedRows;
  static constexpr int kOffsetBarriersA = kOffsetNotes + 8 * ((4 * kConsumers * kStagesA + 7) / 8);
  static constexpr int kOffsetBarriersB = kOffsetBarriersA + 2 * 8 * kConsumers * kStagesA;
  static constexpr int kSharedBytes = kOffsetBarriersB + 2 * 8 * kStagesB;
  // Scratch of the ordering, where tiles of B arrive later: row lengths, rows by length, columns as bits.
  static constexpr int kOffsetLengths = 0;
  static constexpr int kOffsetSorted = kOffsetLengths + 4 * kMaxSortedRows;
  static constexpr int kOffsetColumns = kOffsetSorted + 2 * kMaxSortedRows;
  static constexpr int kColumnWords = 4;

  // Every warp says that it has read a stage: a block of A to all CTAs of the cluster, a tile of B to its own. Those
  // who copy A arrive at tiles of B too (produce_a).
  static constexpr int kReleasesA = 4 * kCluster;
  static constexpr int kReleasesB = 4 * kRows + kConsumers;

  static_assert(kTileN == 128 || kTileN == 192 || kTileN == 256, "products are written for these columns");
  static_assert(kRowsEach >= 1 && kAccum * kRowsEach <= 192, "accumulators must leave registers for the rest");
  static_assert(kCluster == 1 || kCluster == 2, "of larger clusters too few fit on a GPU");
  static_assert(kStagesA >= 2 && kStagesB >= 2 && kStagesB <= 256, "one stage is filled while another is read");
  static_assert(kOffsetColumns + 4 * kColumnWords * kMaxSortedRows <= kOffsetA, "the ordering's scratch must fit");
  static_assert(kSharedBytes <= 227 * 1024, "a CTA has 227 KiB at most");
};

using Element = Config::Element;
using PipelineStateA = ptx::PipelineState<Config::kStagesA>;
using PipelineStateB = ptx::PipelineState<Config::kStagesB>;

struct Problem {
  const int* row_ptr;
  const int* col_idx;
  int block_rows;
  int groups;   // of Config::kRows block rows
  int tiles_n;  // columns of cluster tiles
  int tiles;
  bool whole_panels;  // n is a multiple of a panel: one copy brings all panels of a tile of B
};

struct Shared {
  uint32_t base;

  __device__ __forceinline__ uint32_t b(int stage) const { return base + stage * Config::kBytesB; }
  __device__ __forceinline__ uint32_t a(int consumer, int stage) const {
    return base + Config::kOffsetA + (consumer * Config::kStagesA + stage) * Config::kBytesA;
  }
  __device__ __forceinline__ uint32_t out(int consumer, int panel) const {
    return base + Config::kOffsetOut + (consumer * Config::kOutPanels + panel) * Config::kOutBytes;
  }
  __device__ __forceinline__ uint32_t note(int consumer, int stage) const {
    return base + Config::kOffsetNotes + (consumer * Config::kStagesA + stage) * 4;
  }
  __device__ __forceinline__ uint32_t full_a(int consumer, int stage) const {
    return base + Config::kOffsetBarriersA + (consumer * Config::kStagesA + stage) * 8;
  }
  __device__ __forceinline__ uint32_t empty_a(int consumer, int stage) const {
    return full_a(Config::kConsumers + consumer, stage);
  }
  __device__ __forceinline__ uint32_t full_b(int stage) const { return base + Config::kOffsetBarriersB + stage * 8; }
  __device__ __forceinline__ uint32_t empty_b(int stage) const { return full_b(Config::kStagesB + stage); }
};

// What goes with a block of A: the stage of its tile of B, the parity to wait for there, the consumer's row.
struct Note {
  int stage_b;
  uint32_t parity_b;
  int row;

  __device__ __forceinline__ uint32_t packed() const { return stage_b | parity_b << 8 | row << 9; }
  __device__ __forceinline__ static Note unpack(uint32_t bits) {
    return {static_cast<int>(bits & 0xff), bits >> 8 & 1, static_cast<int>(bits >> 9)};
  }
};

__device__ __forceinline__ uint32_t cluster_rank() { return Config::kCluster == 1 ? 0 : ptx::cluster_ctarank(); }

// ---- order of block rows -----------------------------------------------------------------------------

// All threads: the block columns of each row as 128 bits, columns 128 apart sharing one. Eight lanes a row join their
// bits in registers: every word has one writer, and no atomic.
__device__ __forceinline__ void collect_columns(const Problem& p, uint32_t* columns) {
  constexpr int kLanes = 8;
  const int lane = threadIdx.x % kLanes;
  for (int first = 0; first < p.block_rows; first += Config::kThreads / kLanes) {
    const int row = first + threadIdx.x / kLanes;
    const bool there = row < p.block_rows;
    const int end = there ? p.row_ptr[row + 1] : 0;
    uint32_t bits[Config::kColumnWords] = {};
#pragma unroll 4
    for (int i = there ? p.row_ptr[row] + lane : 0; i < end; i += kLanes) {
      const int bit = p.col_idx[i] % (32 * Config::kColumnWords);
#pragma unroll
      for (int word = 0; word < Config::kColumnWords; ++word) {
        bits[word] |= bit / 32 == word ? 1u << bit % 32 : 0;
      }
    }
#pragma unroll
    for (int word = 0; word < Config::kColumnWords; ++word) {
#pragma unroll
      for (int distance = kLanes / 2; distance > 0; distance /= 2) {
        bits[word] |= __shfl_xor_sync(0xffffffffu, bits[word], distance);
      }
      if (there && lane == 0) {
        columns[row * Config::kColumnWords + word] = bits[word];
      }
    }
  }
  __syncthreads();
}

// All threads: puts together rows with many columns in common. Each warp takes a set of up to 32 rows of similar
// length, a lane a row; a group begins with the longest row left, and takes in the row that has most in common with it.
__device__ __forceinline__ void match_rows(const Problem& p, const uint16_t* sorted, const uint32_t* columns,
                                           uint16_t* order) {
  constexpr int kSet = 32 / Config::kRows * Config::kRows;
  const int lane = threadIdx.x % 32;
  for (int first = threadIdx.x / 32 * kSet; first < p.block_rows; first += Config::kThreads / 32 * kSet) {
    const bool there = lane < kSet && first + lane < p.block_rows;
    const int row = there ? sorted[first + lane] : 0;
    bool left = there;
    int own_place = 0;
    uint32_t own[Config::kColumnWords];
    uint32_t together[Config::kColumnWords] = {};
#pragma unroll
    for (int word = 0; word < Config::kColumnWords; ++word) {
      own[word] = there ? columns[row * Config::kColumnWords + word] : 0;
    }
    const int rows = __popc(__ballot_sync(0xffffffffu, there));
    for (int place = 0; place < rows; ++place) {
      const bool begins = place % Config::kRows == 0;
      int common = 1;  // more than nothing: this row may still be chosen
#pragma unroll
      for (int word = 0; word < Config::kColumnWords; ++word) {
        common += begins ? 0 : __popc(own[word] & together[word]);
      }
      // The first of the rows that have most in common.
      const uint32_t best = __reduce_max_sync(0xffffffffu, left ? common * 32 + 31 - lane : 0);
      const int chosen = 31 - static_cast<int>(best % 32);
#pragma unroll
      for (int word = 0; word < Config::kColumnWords; ++word) {
        const uint32_t bits = __shfl_sync(0xffffffffu, own[word], chosen);
        together[word] = begins ? bits : together[word] | bits;
      }
      if (lane == chosen) {
        own_place = place;
        left = false;
      }
    }
    if (there) {
      order[first + own_place] = static_cast<uint16_t>(row);
    }
  }
}

// All threads: `order` becomes the block rows in the order in which groups take them. Ends with all threads in step.
__device__ __forceinline__ void order_rows(const Problem& p, unsigned char* memory, uint16_t* order) {
  if (p.block_rows <= Config::kMaxSortedRows) {
    auto* lengths = reinterpret_cast<int*>(memory + Config::kOffsetLengths);
    auto* sorted = reinterpret_cast<uint16_t*>(memory + Config::kOffsetSorted);
    auto* columns = reinterpret_cast<uint32_t*>(memory + Config::kOffsetColumns);
    bsr::sort_rows<Config::kThreads>(p.row_ptr, p.col_idx, p.block_rows, lengths, sorted);
    collect_columns(p, columns);
    match_rows(p, sorted, columns, order);
    ptx::fence_proxy_async();  // tiles of B are copied to where the scratch was
  }
  __syncthreads();
}

// ---- which tile ------------------------------------------------------------------------------------

struct Work {
  int group = -1;  // none: the cluster is done
  int col = 0;     // column of cluster tiles

  __device__ __forceinline__ bool live() const { return group >= 0; }
};

__device__ __forceinline__ Work work_at(const Problem& p, int round) {
  const int index = bsr::tile_index<Config::kCluster>(round, true);
  if (index >= p.tiles) {
    return {};
  }
  const bsr::Tile tile = bsr::tile_at(index, Config::kGroupM, p.groups, p.tiles_n);
  return {tile.row, tile.col};
}

// Every second round walks the columns from last to first: L2 still has the blocks of A and the rows of B that were
// used last.
__device__ __forceinline__ bool walks_back(int round) { return round % 2 == 1; }

// Block row `i` of a group; -1 where the last group has fewer.
__device__ __forceinline__ int row_at(const Problem& p, const uint16_t* order, int group, int i) {
  const int place = group * Config::kRows + i;
  if (place >= p.block_rows) {
    return -1;
  }
  return p.block_rows <= Config::kMaxSortedRows ? order[place] : place;
}

// ---- producer --------------------------------------------------------------------------------------

// Keys rise in the order in which columns are walked.
constexpr uint32_t kLastKey = 0x7fffffff;
constexpr uint32_t kNoColumn = 0xffffffff;  // its key is above kLastKey in both directions

__device__ __forceinline__ uint32_t key_of(uint32_t column, bool backward) {
  return backward ? kLastKey - column : column;  // its own inverse
}

// One thread's walk along the block rows of a group: their columns in order, each once, with the rows that have it.
struct Walk {
  static constexpr int kAhead = 2;

  bool backward = false;
  int block[Config::kRows];                         // stored block that each row stands at
  int left[Config::kRows];                          // stored blocks from there on
  uint32_t keys[Config::kRows];                     // of the blocks they stand at
  uint32_t columns_ahead[Config::kRows][kAhead];    // of those behind, as they are loaded: nothing waits for them yet

  __device__ __forceinline__ uint32_t column(const Problem& p, int row, int ahead) const {
    uint32_t found = kNoColumn;
    if (ahead < left[row]) {
      found = p.col_idx[backward ? block[row] - ahead : block[row] + ahead];
    }
    return found;
  }

  __device__ __forceinline__ void begin(const Problem& p, const uint16_t* order, const Work& work, int round) {
    backward = walks_back(round);
#pragma unroll
    for (int i = 0; i < Config::kRows; ++i) {
      const int row = row_at(p, order, work.group, i);
      const int first = row < 0 ? 0 : p.row_ptr[row];
      left[i] = row < 0 ? 0 : p.row_ptr[row + 1] - first;
      block[i] = backward ? first + left[i] - 1 : first;
    }
#pragma unroll
    for (int i = 0; i < Config::kRows; ++i) {
      keys[i] = column(p, i, 0);
#pragma unroll
      for (int ahead = 0; ahead < kAhead; ++ahead) {
        columns_ahead[i][ahead] = column(p, i, 1 + ahead);
      }
    }
#pragma unroll
    for (int i = 0; i < Config::kRows; ++i) {
      keys[i] = key_of(keys[i], backward);
    }
  }

  // Key of the column that comes next; above kLastKey at the end.
  __device__ __forceinline__ uint32_t next() const {
    uint32_t least = keys[0];
#pragma unroll
    for (int i = 1; i < Config::kRows; ++i) {
      least = min(least, keys[i]);
    }
    return least;
  }

  __device__ __forceinline__ bool has(int row, uint32_t key) const { return keys[row] == key; }

  __device__ __forceinline__ void pass(const Problem& p, uint32_t key) {
#pragma unroll
    for (int i = 0; i < Config::kRows; ++i) {
      if (has(i, key)) {
        block[i] += backward ? -1 : 1;
        --left[i];
        keys[i] = key_of(columns_ahead[i][0], backward);
#pragma unroll
        for (int ahead = 0; ahead + 1 < kAhead; ++ahead) {
          columns_ahead[i][ahead] = columns_ahead[i][ahead + 1];
        }
        columns_ahead[i][kAhead - 1] = column(p, i, kAhead);
      }
    }
  }
};

// One thread: a tile of B into a stage that everybody has left.
__device__ __forceinline__ void copy_b(const Problem& p, const Shared& shared, int stage, const CUtensorMap* map_b,
                                       int row, int column) {
  const uint32_t full = shared.full_b(stage);
  ptx::mbarrier_arrive_expect_tx(full, Config::kBytesB);
  if (p.whole_panels) {
    ptx::tma_load_3d(shared.b(stage), map_b, 0, row, column / Config::kPanel, full, ptx::kEvictNormal);
  } else {
#pragma unroll
    for (int panel = 0; panel < Config::kPanels; ++panel) {
      ptx::tma_load_2d(shared.b(stage) + panel * Config::kPanelBytes, map_b, column + panel * Config::kPanel, row, full,
                       ptx::kEvictNormal);
    }
  }
}

// One thread: this CTA's part of a block of A into a stage that the consumers with this number have left in all CTAs.
__device__ __forceinline__ void copy_a(const Shared& shared, int consumer, int stage, const CUtensorMap* map_a,
                                       int block, Note note, uint32_t rank) {
  asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(shared.note(consumer, stage)), "r"(note.packed()) : "memory");
  const uint32_t full = shared.full_a(consumer, stage);
  ptx::mbarrier_arrive_expect_tx(full, Config::kBytesA);  // after the note: who waits here sees it
  const int part = static_cast<int>(rank) * Config::kRowsA;
  const uint32_t to = shared.a(consumer, stage) + part * Config::kRowBytes;
  if constexpr (Config::kCluster == 1) {
    ptx::tma_load_2d(to, map_a, 0, block * Config::kBlock, full, ptx::kEvictNormal);
  } else {
    ptx::tma_load_multicast_2d(to, map_a, 0, block * Config::kBlock + part, full, (1 << Config::kCluster) - 1,
                               ptx::kEvictNormal);
  }
}

// One thread: the tiles of B.
__device__ __forceinline__ void produce_b(const Problem& p, const Shared& shared, const uint16_t* order,
                                          const CUtensorMap* map_b) {
  const int rank = static_cast<int>(cluster_rank());
  PipelineStateB pipe;
  pipe.parity = 1;  // the first visit to each stage need not wait
  Work work = work_at(p, 0);
  for (int round = 0; work.live(); ++round) {
    const int column = (work.col * Config::kCluster + rank) * Config::kTileN;
    Walk walk;
    walk.begin(p, order, work, round);
    for (uint32_t key = walk.next(); key <= kLastKey; key = walk.next()) {
      int absent = 0;  // rows that do not need the tile: nobody else arrives for them
#pragma unroll
      for (int row = 0; row < Config::kRows; ++row) {
        absent += walk.has(row, key) ? 0 : 1;
      }
      walk.pass(p, key);
      const uint32_t empty = shared.empty_b(pipe.stage);
      ptx::mbarrier_wait(empty, pipe.parity);
      if (absent > 0) {
        ptx::mbarrier_arrive(empty, 4 * absent);
      }
      copy_b(p, shared, pipe.stage, map_b, static_cast<int>(key_of(key, walk.backward)) * Config::kBlock, column);
      pipe.advance();
    }
    work = work_at(p, round + 1);
  }
}

// One thread: a consumer's blocks of A. It walks the same columns as produce_b, and so knows the stage of each tile of
// B. It waits until that stage is free and arrives there too, for every column: so neither of the two is ever a
// whole ring ahead of the other. A barrier's parity tells a phase from the next one, not from the one after.
__device__ __forceinline__ void produce_a(const Problem& p, const Shared& shared, const uint16_t* order,
                                          const CUtensorMap* map_a, int consumer) {
  const uint32_t rank = cluster_rank();
  PipelineStateB pipe_b;
  PipelineStateA pipe;
  pipe_b.parity = 1;
  pipe.parity = 1;
  Work work = work_at(p, 0);
  for (int round = 0; work.live(); ++round) {
    Walk walk;
    walk.begin(p, order, work, round);
    for (uint32_t key = walk.next(); key <= kLastKey; key = walk.next()) {
      int blocks[Config::kRowsEach];  // -1: the row has none in this column
#pragma unroll
      for (int i = 0; i < Config::kRows; ++i) {
        if (i / Config::kRowsEach == consumer) {
          blocks[i % Config::kRowsEach] = walk.has(i, key) ? walk.block[i] : -1;
        }
      }
      walk.pass(p, key);
      const uint32_t empty_b = shared.empty_b(pipe_b.stage);
      ptx::mbarrier_wait(empty_b, pipe_b.parity);
#pragma unroll
      for (int i = 0; i < Config::kRowsEach; ++i) {
        if (blocks[i] >= 0) {
          ptx::mbarrier_wait(shared.empty_a(consumer, pipe.stage), pipe.parity);
          copy_a(shared, consumer, pipe.stage, map_a, blocks[i], Note{pipe_b.stage, pipe_b.parity ^ 1, i}, rank);
          pipe.advance();
        }
      }
      ptx::mbarrier_arrive(empty_b);
      pipe_b.advance();
    }
    work = work_at(p, round + 1);
  }
}

// ---- consumers -------------------------------------------------------------------------------------

// A block's four products of 16 columns of A, added to the accumulators.
__device__ __forceinline__ void multiply_block(float (&accum)[Config::kAccum], uint32_t a, uint32_t b) {
  const uint64_t desc_a = mma::smem_descriptor_128b(a, 0, 8 * Config::kRowBytes);
  const uint64_t desc_b = mma::smem_descriptor_128b(b, Config::kPanelBytes, 8 * Config::kRowBytes);
  mma::warpgroup_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    // Within 128 bytes of k, A moves by 32 bytes; B by 16 rows.
    mma::wgmma(Element{}, accum, desc_a + k * (32 >> 4), desc_b + k * (16 * Config::kRowBytes >> 4));
  }
  mma::warpgroup_commit();
}

// The same for the accumulators of row `row`, kFirst or later. Fence and commit lie within the branch, and the branch
// depends on a vote: only then does the compiler see that no product waits for another.
template <int kFirst = 0>
__device__ __forceinline__ void multiply_row(float (&accum)[Config::kRowsEach][Config::kAccum], int row, uint32_t a,
                                             uint32_t b) {
  if constexpr (kFirst + 1 == Config::kRowsEach) {
    multiply_block(accum[kFirst], a, b);
  } else {
    if (__any_sync(0xffffffffu, row == kFirst)) {
      multiply_block(accum[kFirst], a, b);
    } else {
      multiply_row<kFirst + 1>(accum, row, a, b);
    }
  }
}

// One warp: the note beside a block. Lane 0 reads it, and lane 0 gives the stage back (`release`), so that its own
// arrival puts the producer's next note after the read; the others hear of it by a shuffle.
__device__ __forceinline__ Note note_at(const Shared& shared, int consumer, int stage) {
  uint32_t bits = 0;
  if (threadIdx.x % 32 == 0) {
    asm volatile("ld.shared.u32 %0, [%1];\n" : "=r"(bits) : "r"(shared.note(consumer, stage)) : "memory");
  }
  return Note::unpack(__shfl_sync(0xffffffffu, bits, 0));
}

// Every warp says that it has read a block of A and a tile of B, to its own CTA.
__device__ __forceinline__ void release(const Shared& shared, int consumer, int stage_a, int stage_b) {
  if (threadIdx.x % 32 == 0) {
    ptx::mbarrier_arrive(shared.empty_b(stage_b));
    ptx::mbarrier_arrive(shared.empty_a(consumer, stage_a));
  }
}

// The block of A is copied by both CTAs of a cluster, so the other one is told as well.
__device__ __forceinline__ void release_there(const Shared& shared, int consumer, int stage, uint32_t rank) {
  if (Config::kCluster > 1 && threadIdx.x % 32 == 0) {
    ptx::mbarrier_arrive_cluster(shared.empty_a(consumer, stage), rank ^ 1);
  }
}

// One warp: its 16 rows of a block row of C. `panel` is the panel of the consumer's memory that comes next.
__device__ __forceinline__ void store_accum(const float (&accum)[Config::kAccum], const Shared& shared, int consumer,
                                            int& panel, const CUtensorMap* map_c, int row, int column) {
#pragma unroll
  for (int i = 0; i < Config::kPanels; ++i) {
    ptx::tma_store_wait_read<Config::kOutPanels - 1>();  // the store that read this panel last has read it
    __syncwarp();
    bsr::store_panels<1>(shared.out(consumer, panel), map_c, row, column + i * Config::kPanel, [&](int pair) {
      return mma::pack_pair(Element{}, accum[i * 32 + 2 * pair], accum[i * 32 + 2 * pair + 1]);
    });
    panel = panel + 1 == Config::kOutPanels ? 0 : panel + 1;
  }
}

// Stored blocks of a consumer's rows in a tile.
__device__ __forceinline__ int blocks_at(const Problem& p, const uint16_t* order, const Work& work, int consumer) {
  int blocks = 0;
#pragma unroll
  for (int i = 0; i < Config::kRowsEach; ++i) {
    const int row = work.live() ? row_at(p, order, work.group, consumer * Config::kRowsEach + i) : -1;
    blocks += row < 0 ? 0 : p.row_ptr[row + 1] - p.row_ptr[row];
  }
  return blocks;
}

// One warpgroup.
__device__ __forceinline__ void consume(const Problem& p, const Shared& shared, const uint16_t* order, int consumer,
                                        const CUtensorMap* map_c) {
  const uint32_t rank = cluster_rank();
  PipelineStateA pipe;
  int panel = 0;
  Work work = work_at(p, 0);
  int blocks = blocks_at(p, order, work, consumer);
  for (int round = 0; work.live(); ++round) {
    Work following;
    int blocks_following = 0;
    float accum[Config::kRowsEach][Config::kAccum];
#pragma unroll
    for (int i = 0; i < Config::kRowsEach; ++i) {
#pragma unroll
      for (int j = 0; j < Config::kAccum; ++j) {
        accum[i][j] = 0.0f;
      }
      mma::fence_operands(accum[i]);
    }
    int tell = -1;  // stage of A that the other CTA has not been told of
#pragma unroll 1
    for (int i = 0; i < blocks; ++i) {
      ptx::mbarrier_wait(shared.full_a(consumer, pipe.stage), pipe.parity);
      const Note note = note_at(shared, consumer, pipe.stage);
      ptx::mbarrier_wait(shared.full_b(note.stage_b), note.parity_b);
      multiply_row(accum, note.row, shared.a(consumer, pipe.stage), shared.b(note.stage_b));
      // While the products run: a word to another SM takes as long as half of them.
      if (tell >= 0) {
        release_there(shared, consumer, tell, rank);
      }
      tell = pipe.stage;
      if (i == 0) {
        following = work_at(p, round + 1);
        blocks_following = blocks_at(p, order, following, consumer);
      }
      // Nothing is held while waiting for the next block: it may be many columns away, and the ring of B too short
      // for all of them. The tensor cores have the other consumer meanwhile.
      mma::warpgroup_wait<0>();
      release(shared, consumer, pipe.stage, note.stage_b);
      pipe.advance();
    }
    if (tell >= 0) {
      release_there(shared, consumer, tell, rank);
    }
#pragma unroll
    for (int i = 0; i < Config::kRowsEach; ++i) {
      mma::fence_operands(accum[i]);
    }
    if (blocks == 0) {
      following = work_at(p, round + 1);
      blocks_following = blocks_at(p, order, following, consumer);
    }
    const int column = (work.col * Config::kCluster + static_cast<int>(rank)) * Config::kTileN;
#pragma unroll
    for (int i = 0; i < Config::kRowsEach; ++i) {
      const int row = row_at(p, order, work.group, consumer * Config::kRowsEach + i);
      if (row >= 0) {
        store_accum(accum[i], shared, consumer, panel, map_c, row * Config::kBlock, column);
      }
    }
    work = following;
    blocks = blocks_following;
  }
  ptx::tma_store_wait();  // shared memory must outlive the stores that read it
}

__global__ void __launch_bounds__(Config::kThreads, 1)
    sm90_bsr_gemm_64_kernel(const Problem p, const __grid_constant__ CUtensorMap map_a,
                            const __grid_constant__ CUtensorMap map_b, const __grid_constant__ CUtensorMap map_c) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared{ptx::shared_address(memory)};
  auto* order = reinterpret_cast<uint16_t*>(memory + Config::kOffsetOrder);
  const int warpgroup = threadIdx.x / 128;

  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::prefetch_tensormap(&map_c);
    for (int stage = 0; stage < Config::kStagesB; ++stage) {
      ptx::mbarrier_init(shared.full_b(stage), 1);
      ptx::mbarrier_init(shared.empty_b(stage), Config::kReleasesB);
    }
    for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
      for (int stage = 0; stage < Config::kStagesA; ++stage) {
        ptx::mbarrier_init(shared.full_a(consumer, stage), 1);
        ptx::mbarrier_init(shared.empty_a(consumer, stage), Config::kReleasesA);
      }
    }
    ptx::fence_mbarrier_init();
  }
  // The others' barriers must exist before anybody copies or arrives there; until then there are rows to order.
  __syncwarp();
  if constexpr (Config::kCluster > 1) {
    ptx::cluster_arrive();
  }
  order_rows(p, memory, order);
  if constexpr (Config::kCluster > 1) {
    ptx::cluster_wait();
  }

  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::kProducerRegisters>();
    if (threadIdx.x == 0) {
      produce_b(p, shared, order, &map_b);
    } else if (threadIdx.x == 32) {
      produce_a(p, shared, order, &map_a, 0);
    } else if (threadIdx.x == 64) {
      produce_a(p, shared, order, &map_a, 1);
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
  if (m <= 0 || n <= 0 || k <= 0 || m % Config::kBlock != 0 || k % Config::kBlock != 0 || n % 8 != 0) {
    return cudaErrorInvalidValue;
  }
  if (!launch::is_aligned_16(a_values) || !launch::is_aligned_16(b) || !launch::is_aligned_16(c)) {
    return cudaErrorInvalidValue;
  }
  constexpr int kClusterN = Config::kCluster * Config::kTileN;
  const int block_rows = m / Config::kBlock;
  const int groups = (block_rows + Config::kRows - 1) / Config::kRows;
  const int tiles_n = (n + kClusterN - 1) / kClusterN;
  // The number of stored blocks is not known here: the tensor map covers as many as there can be.
  const int64_t rows_a = static_cast<int64_t>(block_rows) * (k / Config::kBlock) * Config::kBlock;
  if (static_cast<int64_t>(groups) * tiles_n > INT32_MAX / 2 || rows_a > INT32_MAX) {
    return cudaErrorInvalidValue;  // tile numbers and coordinates are ints
  }
  const bool whole_panels = n % Config::kPanel == 0;
  CUtensorMap map_a;
  CUtensorMap map_b;
  CUtensorMap map_c;
  cudaError_t error =
      launch::make_tensor_map_2d(&map_a, a_values, rows_a, Config::kBlock, Config::kRowsA, Config::kBlock);
  if (error == cudaSuccess) {
    error = whole_panels ? launch::make_tensor_map_panels(&map_b, b, k, n, Config::kBlock, Config::kPanels)
                         : launch::make_tensor_map_2d(&map_b, b, k, n, Config::kBlock, Config::kPanel);
  }
  if (error == cudaSuccess) {
    error = launch::make_tensor_map_2d(&map_c, c, m, n, 16, Config::kPanel);
  }
  if (error != cudaSuccess) {
    return error;
  }
  const Problem problem{a_row_ptr, a_col_idx, block_rows, groups, tiles_n, groups * tiles_n, whole_panels};
  return launch::launch_clusters<Config::kCluster>(sm90_bsr_gemm_64_kernel, Config::kThreads, Config::kSharedBytes,
                                                   problem.tiles, stream, problem, map_a, map_b, map_c);
}
