// C[m,n] = A_bsr[m,k] * B_bsr[k,n], 16-bit in, dense 16-bit out, fp32 accumulators, for Hopper: TMA and warpgroup
// products.
//
// A CTA computes a 128 x 256 tile of C: one block row of A, two neighbouring block columns of B. It walks the blocks of
// A's row that meet a stored block in either column, so a block of A is copied once for both: with 16 of 64 stored
// everywhere, 7 copies instead of 8.
//
//                     64 of B's blocks
//                 +----------+----------+     384 threads a CTA, one CTA an SM:
//              64 | B: col 0 | B: col 1 |       warpgroup 0, a warp each: the scheduler takes tiles from a counter,
//                 +----------+----------+           intersects, and tells the others; one thread copies A, one B; the
//           64        128        128                last warp sorts.
//         +----+  +----------+----------+       warpgroups 1, 2: consumers, one block column each: 128 x 128, 128
//         |    |  |          |          |           fp32 accumulators a thread.
//     128 | A  |  |consumer 0|consumer 1|
//         |    |  |          |          |     A step: 64 columns of a block of A, and those rows of B's blocks that
//         +----+  +----------+----------+     are stored.
//
// Intersection: B's pattern lies in shared memory as bit masks, 64 columns a word, one row of words for each of B's
// block rows. Each lane looks up one block of A's row: are its columns' bits set, and how many are set before them,
// which is the place of B's block among its row.
//
// Shared memory: panels through which C leaves, two of 64 x 64 a consumer; messages and mbarriers; a ring of slots of
// 16 KiB; the pattern's tables. A step takes two slots or three, in order: A [128][64], then B [2][64][64] for each
// consumer that has a stored block there, 128-byte swizzle. Where a consumer has none, nothing of the step concerns it:
// it neither waits for it nor gives it back, and may be leaving its C while the other multiplies.
//
// A parity tells a phase only from the one before it, so nobody may skip one: each consumer has rings of barriers of
// its own, one full and one empty a step of its own, and those steps that both have complete one more barrier, for A.
// A step's slots are free when all who had it gave it back, in the order of steps; the copying threads count for
// themselves.
//
// Who shares memory with whom by ordinary accesses: the tables are written by one lane a word and only read after the
// barrier that all threads meet; the order of the last tiles is read behind a named barrier. A message is written by
// the scheduler's lanes, each of which arrives for what it has written; it is read by the two copying threads and by
// lane 0 of each consumer warp, and the same threads give it back. (An mbarrier orders what the arriving thread itself
// has done: accesses by other lanes would hang on a warp barrier in between, and 64-bit atomics on shared memory are
// loops of plain reads and compare-and-swap.)
//
// A CTA's first tile goes with its number; the others come from a counter in the workspace, set to zero before the
// launch: their lengths vary by chance, and a fixed share would leave the unlucky CTA a fifth behind. A tile is taken
// when there is room to tell of it, so that none is hoarded. Tiles run down a group of GROUP_M block rows, then to the
// next pair of columns. The last tiles, one a CTA, are taken column by column, and longest first, so that CTAs end
// together.
//
// Requires: m, n % 128 == 0, k % BLOCK_K == 0, 16-byte aligned pointers, a workspace of 4 bytes, sm_90a, and
// patterns whose tables fit (Config::kMostTableBytes) and have room for less than 65536 blocks each: 128 x 128 x 128
// do.

#include <algorithm>
#include <cstdint>

#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"
#include "sm90_bsr_tiles.cuh"

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
  static constexpr int kGroupM = GROUP_M;

  static constexpr int kConsumers = 2;
  static constexpr int kCopiers = 2;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kProducerRegisters = 56;
  static constexpr int kConsumerRegisters = 224;

  static constexpr int kSlotBytes = kTileM * 128;  // a step's tile of A, or of a block of B
  static constexpr int kSlots = 12;                // one less where the tables are large
  static constexpr int kSteps = kSlots / 2;        // under way at most
  static constexpr int kOutPanelBytes = 64 * 128;
  static constexpr int kOutPanels = 2;  // a consumer
  static constexpr int kQueue = 2;      // messages published and not yet taken
  static constexpr int kMessageBytes = 16 + kConsumers * 32 * 2;
  static constexpr int kBarriers = kSteps * (2 * kConsumers + 1) + 2 * kQueue;

  static constexpr int kOffsetQueue = kConsumers * kOutPanels * kOutPanelBytes;
  static constexpr int kOffsetBarriers = kOffsetQueue + kQueue * kMessageBytes;
  static constexpr int kOffsetSlots = kOffsetQueue + 1024;
  static constexpr int kSharedBytes = 227 * 1024;
  static constexpr int kTableBytes = kSharedBytes - kOffsetSlots - kSlots * kSlotBytes;
  static constexpr int kMostTableBytes = kTableBytes + kSlotBytes;
  static constexpr int kMostBlocks = 65535;  // of a pattern: indices of 16 bits

  static_assert(kBlockK % kTileK == 0, "a block of A must be whole steps of 64 columns");
  static_assert(kTileN * kTileK * 2 == kSlotBytes, "A's and B's tiles take turns in the slots");
  static_assert(kMessageBytes % 16 == 0, "a message begins with a 16-byte word");
  static_assert(kOffsetBarriers + 8 * kBarriers <= kOffsetSlots, "messages and barriers have 1 KiB");
  static_assert(kSlots - 1 >= 2 * (1 + kConsumers), "a consumer holds a step until it has the next");
  static_assert(kSlots - 1 >= kStepsPerBlock * (1 + kConsumers), "a block's slots go round the ring once at most");
  static_assert(kTableBytes > 0, "a CTA has 227 KiB at most");
};

using Element = Config::Element;
using StepState = ptx::PipelineState<Config::kSteps>;
using QueueState = ptx::PipelineState<Config::kQueue>;

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
  int slots;
  bool sorts;  // tiles of one column are taken by falling length
};

// What the scheduler tells of up to 32 blocks of A's row. Behind this 16-byte word: for each consumer, where in B's
// values the blocks lie that it meets, 16 bits a block of A.
struct __align__(16) Message {
  static constexpr int kNone = 0xffff;  // as a row: no more tiles
  static constexpr int kFirst = 1;      // the tile's first message
  static constexpr int kLast = 2;

  uint32_t row_and_flags;     // flags above bit 16, and above those the number of the tile's columns
  uint32_t column_and_begin;  // consumer 0's column; above bit 16 where the 32 blocks begin in A's values
  uint32_t hits[2];           // a bit a block of A: it meets a stored block in the consumer's column

  __device__ __forceinline__ int row() const { return static_cast<int>(row_and_flags & 0xffff); }
  __device__ __forceinline__ bool is(int flag) const { return (row_and_flags >> 16 & flag) != 0; }
  __device__ __forceinline__ int columns() const { return static_cast<int>(row_and_flags >> 18); }
  __device__ __forceinline__ int column() const { return static_cast<int>(column_and_begin & 0xffff); }
  __device__ __forceinline__ int begin() const { return static_cast<int>(column_and_begin >> 16); }
};

// ---- shared memory -----------------------------------------------------------------------------------

struct Shared {
  unsigned char* memory;
  uint32_t base;
  int slots;

  __device__ __forceinline__ uint32_t out(int consumer, int panel) const {
    return base + (consumer * Config::kOutPanels + panel) * Config::kOutPanelBytes;
  }
  __device__ __forceinline__ uint32_t slot(int i) const {
    return base + Config::kOffsetSlots + i * Config::kSlotBytes;
  }
  // The slot that lies `count` behind.
  __device__ __forceinline__ int behind(int i, int count) const {
    return i + count < slots ? i + count : i + count - slots;
  }
  __device__ __forceinline__ uint32_t barrier(int i) const { return base + Config::kOffsetBarriers + i * 8; }
  __device__ __forceinline__ uint32_t full(int consumer, int step) const {
    return barrier(consumer * Config::kSteps + step);
  }
  __device__ __forceinline__ uint32_t empty(int consumer, int step) const {
    return full(Config::kConsumers + consumer, step);
  }
  // A's tile, in a step that both consumers have.
  __device__ __forceinline__ uint32_t full_common(int step) const { return full(2 * Config::kConsumers, step); }
  __device__ __forceinline__ uint32_t queue_full(int place) const { return full_common(Config::kSteps + place); }
  __device__ __forceinline__ uint32_t queue_empty(int place) const { return queue_full(Config::kQueue + place); }
  __device__ __forceinline__ Message* message(int place) const {
    return reinterpret_cast<Message*>(memory + Config::kOffsetQueue + place * Config::kMessageBytes);
  }
  __device__ __forceinline__ uint16_t* blocks_b(int place, int consumer) const {
    return reinterpret_cast<uint16_t*>(message(place) + 1) + 32 * consumer;
  }
  __device__ __forceinline__ unsigned long long* masks() const {
    return reinterpret_cast<unsigned long long*>(memory + Config::kOffsetSlots + slots * Config::kSlotBytes);
  }
  __device__ __forceinline__ uint16_t* b_row_ptr(const Problem& p) const {
    return reinterpret_cast<uint16_t*>(masks() + p.inner * p.words);
  }
  __device__ __forceinline__ uint16_t* a_row_ptr(const Problem& p) const { return b_row_ptr(p) + p.inner; }
  // Of the tiles of one column: which comes when, and how many blocks each multiplies, 255 at most.
  __device__ __forceinline__ uint16_t* last_order(const Problem& p) const { return a_row_ptr(p) + p.rows + 1; }
  __device__ __forceinline__ unsigned char* last_length(const Problem& p) const {
    return reinterpret_cast<unsigned char*>(last_order(p) + p.tiles - p.whole);
  }
};

constexpr int64_t table_bytes(int64_t rows, int64_t inner, int64_t cols) {
  return inner * ((cols + 63) / 64) * 8 + 2 * inner + 2 * (rows + 1);
}

constexpr int64_t order_bytes(int64_t tiles) { return 3 * tiles; }

// ---- patterns -----------------------------------------------------------------------------------------

// The bits of one block column in the two halves of a word of 64; none where `col` lies in another word.
__device__ __forceinline__ void add_column(int col, int word, unsigned& low, unsigned& high) {
  const int bit = col - word * 64;
  low |= bit >= 0 && bit < 32 ? 1u << bit : 0u;
  high |= bit >= 32 && bit < 64 ? 1u << (bit - 32) : 0u;
}

// All threads: B's pattern as masks, p.words a block row, and both patterns' row bounds. Every word has one writer; a
// barrier follows.
__device__ __forceinline__ void build_tables(const Problem& p, const Shared& shared) {
  constexpr unsigned kAll = 0xffffffffu;
  constexpr int kWarps = Config::kThreads / 32;
  constexpr int kRows = 8;  // block rows of B whose indices a warp asks for at once: nothing else runs meanwhile
  const int lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i <= p.rows; i += Config::kThreads) {
    shared.a_row_ptr(p)[i] = p.a_row_ptr[i];
  }
#pragma unroll 1
  for (int top = threadIdx.x / 32; top < p.inner; top += kRows * kWarps) {
    const int mine = top + lane * kWarps;
    const bool have = lane < kRows && mine < p.inner;
    const int begin = have ? p.b_row_ptr[mine] : 0;
    const int end = have ? p.b_row_ptr[mine + 1] : 0;
    if (have) {
      shared.b_row_ptr(p)[mine] = begin;
    }
    int first[kRows];  // one lane a stored block
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int at = __shfl_sync(kAll, begin, i) + lane;
      first[i] = at < __shfl_sync(kAll, end, i) ? p.b_col_idx[at] : -1;
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = top + i * kWarps;
      const int further = __shfl_sync(kAll, begin, i) + lane + 32;
      const int row_end = __shfl_sync(kAll, end, i);
      if (row < p.inner) {
#pragma unroll 1
        for (int word = 0; word < p.words; ++word) {
          unsigned low = 0;
          unsigned high = 0;
          add_column(first[i], word, low, high);
#pragma unroll 1
          for (int at = further; at < row_end; at += 32) {
            add_column(p.b_col_idx[at], word, low, high);
          }
          __syncwarp();
          low = __reduce_or_sync(kAll, low);  // the lanes' bits meet in registers
          high = __reduce_or_sync(kAll, high);
          if (lane == 0) {
            shared.masks()[row * p.words + word] = static_cast<unsigned long long>(high) << 32 | low;
          }
        }
      }
    }
  }
}

// Where block (inner, col) of B is stored, or -1. Needs the tables.
__device__ __forceinline__ int find_block(const Problem& p, const Shared& shared, int inner, int col) {
  const unsigned long long* masks = shared.masks() + inner * p.words;
  const unsigned long long bit = 1ull << (col % 64);
  const unsigned long long word = masks[col / 64];
  if ((word & bit) == 0) {
    return -1;
  }
  int place = shared.b_row_ptr(p)[inner] + __popcll(word & (bit - 1));
  for (int i = 0; i < col / 64; ++i) {
    place += __popcll(masks[i]);
  }
  return place;
}

// ---- tiles -------------------------------------------------------------------------------------------

__device__ __forceinline__ bool is_stored(const Problem& p, const Shared& shared, int inner, int col) {
  return (shared.masks()[inner * p.words + col / 64] >> (col % 64) & 1) != 0;
}

struct Tile {
  int row;
  int col;      // consumer 0's
  int columns;  // 2, 1, or none at the edge
};

__device__ __forceinline__ Tile tile_at(const Problem& p, int index) {
  const int beyond = index - p.whole;  // of the tiles of one column
  const bsr::Tile at = bsr::tile_at(beyond < 0 ? index : p.whole + beyond / 2, Config::kGroupM, p.rows, p.pairs);
  const int col = 2 * at.col + (beyond < 0 ? 0 : beyond % 2);
  return {at.row, col, min(beyond < 0 ? 2 : 1, max(0, p.cols - col))};
}

// Named barriers: 0 is the CTA's.
constexpr int kSorted = 1;

// One warp: the tiles of one column by falling length, equal ones in their own order.
__device__ __forceinline__ void sort_last(const Problem& p, const Shared& shared) {
  const int lane = threadIdx.x % 32;
  const int count = p.tiles - p.whole;
  for (int i = lane; i < count; i += 32) {
    const Tile tile = tile_at(p, p.whole + i);
    int length = 0;
    if (tile.columns > 0) {
#pragma unroll 8
      for (int at = shared.a_row_ptr(p)[tile.row]; at < shared.a_row_ptr(p)[tile.row + 1]; ++at) {
        length += is_stored(p, shared, p.a_col_idx[at], tile.col);
      }
    }
    shared.last_length(p)[i] = static_cast<unsigned char>(min(length, 255));
  }
  __syncwarp();
  for (int i = lane; i < count; i += 32) {
    const int length = shared.last_length(p)[i];
    int place = 0;
#pragma unroll 8
    for (int other = 0; other < count; ++other) {
      const int its = shared.last_length(p)[other];
      place += its > length || (its == length && other < i);
    }
    shared.last_order(p)[place] = static_cast<uint16_t>(i);
  }
  ptx::named_barrier_arrive<64>(kSorted);
}

// ---- scheduler ---------------------------------------------------------------------------------------

// One warp.
__device__ __forceinline__ void schedule(const Problem& p, const Shared& shared) {
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = threadIdx.x % 32;
  QueueState place;
  place.parity = 1;  // the first visit to each place need not wait
  const auto wait_for_room = [&] { ptx::mbarrier_wait(shared.queue_empty(place.stage), place.parity); };
  const auto publish = [&](const Message& message) {
    if (lane == 0) {
      *shared.message(place.stage) = message;
    }
    ptx::mbarrier_arrive(shared.queue_full(place.stage));  // each lane, for what it has written
    place.advance();
  };

  bool awaits_order = p.sorts;
  int index = static_cast<int>(blockIdx.x);
  while (index < p.tiles) {
    if (p.sorts && index >= p.whole) {
      if (awaits_order) {
        ptx::named_barrier_sync<64>(kSorted);
        awaits_order = false;
      }
      index = p.whole + shared.last_order(p)[index - p.whole];
    }
    const Tile tile = tile_at(p, index);
    const int begin = shared.a_row_ptr(p)[tile.row];
    const int blocks = tile.columns > 0 ? shared.a_row_ptr(p)[tile.row + 1] - begin : 0;
    for (int base = 0; base == 0 || base < blocks; base += 32) {
      const int inner = base + lane < blocks ? p.a_col_idx[begin + base + lane] : -1;
      int found[Config::kConsumers];
      uint32_t hits[Config::kConsumers];
#pragma unroll
      for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
        const bool look = inner >= 0 && consumer < tile.columns;
        found[consumer] = look ? find_block(p, shared, inner, tile.col + consumer) : -1;
        hits[consumer] = __ballot_sync(kAll, found[consumer] >= 0);
      }
      wait_for_room();
#pragma unroll
      for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
        shared.blocks_b(place.stage, consumer)[lane] = static_cast<uint16_t>(found[consumer]);
      }
      const uint32_t flags = (base == 0 ? Message::kFirst : 0) | (base + 32 >= blocks ? Message::kLast : 0);
      publish({tile.row | flags << 16 | static_cast<uint32_t>(tile.columns) << 18,
               static_cast<uint32_t>(tile.col) | static_cast<uint32_t>(begin + base) << 16,
               {hits[0], hits[1]}});
    }
    wait_for_room();
    index = lane == 0 ? static_cast<int>(gridDim.x) + atomicAdd(p.counter, 1) : 0;
    index = __shfl_sync(kAll, index, 0);
  }
  wait_for_room();
  publish({Message::kNone, 0, {0, 0}});
  if (awaits_order) {
    ptx::named_barrier_sync<64>(kSorted);
  }
}

// ---- copies ------------------------------------------------------------------------------------------

// One thread: copies A's tiles (kA), or B's. Both go through all steps, and count for themselves which slots are free.
template <bool kA>
__device__ __forceinline__ void copy(const Shared& shared, const CUtensorMap* map) {
  constexpr uint32_t kCommon = 3;  // a step that both consumers have; else 1 or 2
  QueueState place;
  int slot = 0;
  int room = shared.slots;
  uint32_t under_way = 0;  // who has a step, two bits each, the oldest lowest
  int steps = 0;           // ... and how many there are
  StepState next[Config::kConsumers];
  StepState oldest[Config::kConsumers];
  StepState common;
  for (;;) {
    ptx::mbarrier_wait(shared.queue_full(place.stage), place.parity);
    const Message message = *shared.message(place.stage);
    if (message.row() == Message::kNone) {
      break;
    }
#pragma unroll 1
    for (uint32_t left = message.hits[0] | message.hits[1]; left != 0; left &= left - 1) {
      const int block = __ffs(left) - 1;
      const uint32_t who = (message.hits[0] >> block & 1) | (message.hits[1] >> block & 1) << 1;
      const int need = who == kCommon ? 3 : 2;
      int rows_b[Config::kConsumers];
#pragma unroll
      for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
        rows_b[consumer] = shared.blocks_b(place.stage, consumer)[block] * Config::kBlockK;
      }
#pragma unroll 1
      for (int step = 0; step < Config::kStepsPerBlock; ++step) {
        while (room < need) {
          const uint32_t had = under_way & 3;
#pragma unroll
          for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
            if ((had >> consumer & 1) != 0) {
              ptx::mbarrier_wait(shared.empty(consumer, oldest[consumer].stage), oldest[consumer].parity);
              oldest[consumer].advance();
            }
          }
          room += had == kCommon ? 3 : 2;
          under_way >>= 2;
          --steps;
        }
        room -= need;
        under_way |= who << 2 * steps;
        ++steps;

        uint32_t full[Config::kConsumers];
#pragma unroll
        for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
          full[consumer] = shared.full(consumer, next[consumer].stage);
          if ((who >> consumer & 1) != 0) {
            next[consumer].advance();
          }
        }
        if (kA) {
          uint32_t full_a = who == 1 ? full[0] : full[1];
          if (who == kCommon) {
            full_a = shared.full_common(common.stage);
            common.advance();
            ptx::mbarrier_arrive_expect_tx(full[0], Config::kSlotBytes);
            ptx::mbarrier_arrive_expect_tx(full[1], Config::kSlotBytes);
          }
          ptx::mbarrier_arrive_expect_tx(full_a, (who == kCommon ? 1 : 2) * Config::kSlotBytes);
          ptx::tma_load_2d(shared.slot(slot), map, step * Config::kTileK, (message.begin() + block) * Config::kTileM,
                           full_a, ptx::kEvictNormal);
        } else {
#pragma unroll
          for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
            if ((who >> consumer & 1) != 0) {
              const int to = shared.behind(slot, who == kCommon ? 1 + consumer : 1);
              ptx::tma_load_3d(shared.slot(to), map, 0, rows_b[consumer] + step * Config::kTileK, 0, full[consumer],
                               ptx::kEvictNormal);
            }
          }
        }
        slot = shared.behind(slot, need);
      }
    }
    ptx::mbarrier_arrive(shared.queue_empty(place.stage));
    place.advance();
  }
}

// ---- products -----------------------------------------------------------------------------------------

// A warpgroup's 128 x 128 tile of C, as two halves of 64 rows.
using Accumulators = float[2][64];

__device__ __forceinline__ void clear(Accumulators& accum) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      accum[half][i] = 0.0f;
    }
  }
}

// accum += A [128][64] * B [64][128], both in shared memory as TMA swizzles them, B as two panels of 64 columns.
__device__ __forceinline__ void multiply_step(Accumulators& accum, uint32_t a, uint32_t b) {
  const uint64_t desc_a = mma::smem_descriptor_128b(a, 0, 1024);
  const uint64_t desc_b = mma::smem_descriptor_128b(b, 64 * bsr::kRowBytes, 1024);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      mma::wgmma(Element{}, accum[half], desc_a + half * (64 * 128 >> 4) + k * (32 >> 4), desc_b + k * (2048 >> 4));
    }
  }
}

// ---- the way out --------------------------------------------------------------------------------------

// Each warp its own 16 rows of each half, with its own stores, through the consumer's panels in turn; `out(i)` is where
// panel i lies.
template <typename Out>
__device__ __forceinline__ void store_accumulators(const Accumulators& accum, Out out, const CUtensorMap* map_c,
                                                   int row, int column) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int half = i / 2;
    const int panel = i % 2;
    ptx::tma_store_wait_read<Config::kOutPanels - 1>();  // the store that read this panel last has read it
    __syncwarp();
    const uint32_t memory = out(i % Config::kOutPanels);
    bsr::store_panels<1>(memory, map_c, row + half * 64, column + panel * 64, [&](int pair) {
      const float* s = accum[half] + panel * 32 + 2 * pair;
      return mma::pack_pair(Element{}, s[0], s[1]);
    });
  }
}

// ---- consumers -----------------------------------------------------------------------------------------

// One warp: takes a message and gives its place back. Lane 0 reads, and lane 0 tells.
__device__ __forceinline__ Message take(const Shared& shared, const QueueState& place) {
  constexpr unsigned kAll = 0xffffffffu;
  Message message = {};
  ptx::mbarrier_wait(shared.queue_full(place.stage), place.parity);
  if (threadIdx.x % 32 == 0) {
    message = *shared.message(place.stage);
    ptx::mbarrier_arrive(shared.queue_empty(place.stage));
  }
  return {__shfl_sync(kAll, message.row_and_flags, 0),
          __shfl_sync(kAll, message.column_and_begin, 0),
          {__shfl_sync(kAll, message.hits[0], 0), __shfl_sync(kAll, message.hits[1], 0)}};
}

// One warpgroup: one block column of every tile.
__device__ __forceinline__ void consume(const Shared& shared, int consumer, const CUtensorMap* map_c) {
  constexpr unsigned kAll = 0xffffffffu;
  QueueState place;
  StepState mine;
  StepState common;
  int slot = 0;
  Accumulators accum;
  for (;;) {
    const Message message = take(shared, place);
    place.advance();
    if (message.row() == Message::kNone) {
      break;
    }
    if (message.is(Message::kFirst)) {
      clear(accum);
    }
    const uint32_t hits = consumer == 0 ? message.hits[0] : message.hits[1];
    const uint32_t others = consumer == 0 ? message.hits[1] : message.hits[0];
    uint32_t held = 0;  // the empty barrier of a step that products may still read
    const auto give_back = [&] {
      __syncwarp();
      if (threadIdx.x % 32 == 0) {
        ptx::mbarrier_arrive(held);
      }
      held = 0;
    };
    mma::fence_operands(accum[0]);
    mma::fence_operands(accum[1]);
#pragma unroll 1
    for (uint32_t left = hits | others; left != 0; left &= left - 1) {
      const uint32_t bit = left & -left;
      const bool is_common = (hits & others & bit) != 0;
      const int need = is_common ? 3 : 2;
      if (!__any_sync(kAll, (hits & bit) != 0)) {
        slot = shared.behind(slot, need * Config::kStepsPerBlock);
        continue;
      }
#pragma unroll 1
      for (int step = 0; step < Config::kStepsPerBlock; ++step) {
        ptx::mbarrier_wait(shared.full(consumer, mine.stage), mine.parity);
        if (is_common) {
          ptx::mbarrier_wait(shared.full_common(common.stage), common.parity);
          common.advance();
        }
        const int slot_b = shared.behind(slot, is_common ? 1 + consumer : 1);
        mma::warpgroup_fence();
        multiply_step(accum, shared.slot(slot), shared.slot(slot_b));
        mma::warpgroup_commit();
        if (held != 0) {
          mma::warpgroup_wait<1>();  // the step before
          give_back();
        }
        held = shared.empty(consumer, mine.stage);
        mine.advance();
        slot = shared.behind(slot, need);
      }
      // Slots are freed in order: held while the other's steps are next, a step could keep them from being copied, and
      // this consumer's own behind them.
      const uint32_t rest = left & (left - 1);
      if (__any_sync(kAll, (hits & rest & -rest) == 0)) {
        mma::warpgroup_wait<0>();
        give_back();
      }
    }
    mma::warpgroup_wait<0>();  // nothing is held here, but the compiler must see it
    mma::fence_operands(accum[0]);
    mma::fence_operands(accum[1]);
    if (message.is(Message::kLast) && consumer < message.columns()) {
      const auto out = [&](int panel) { return shared.out(consumer, panel); };
      store_accumulators(accum, out, map_c, message.row() * Config::kTileM,
                         (message.column() + consumer) * Config::kTileN);
    }
  }
  ptx::tma_store_wait();  // shared memory must outlive the stores that read it
}

__global__ void __launch_bounds__(Config::kThreads, 1)
    sm90_bsr_bsr_gemm_kernel(const Problem p, const __grid_constant__ CUtensorMap map_a,
                             const __grid_constant__ CUtensorMap map_b, const __grid_constant__ CUtensorMap map_c) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared{memory, ptx::shared_address(memory), p.slots};
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_a);
    ptx::prefetch_tensormap(&map_b);
    ptx::prefetch_tensormap(&map_c);
    for (int step = 0; step < Config::kSteps; ++step) {
      for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
        ptx::mbarrier_init(shared.full(consumer, step), 1);
        ptx::mbarrier_init(shared.empty(consumer, step), 4);
      }
      ptx::mbarrier_init(shared.full_common(step), 1);
    }
    for (int place = 0; place < Config::kQueue; ++place) {
      ptx::mbarrier_init(shared.queue_full(place), 32);
      ptx::mbarrier_init(shared.queue_empty(place), 4 * Config::kConsumers + Config::kCopiers);
    }
    ptx::fence_mbarrier_init();
  }
  build_tables(p, shared);
  __syncthreads();

  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::kProducerRegisters>();
    if (threadIdx.x < 32) {
      schedule(p, shared);
    } else if (threadIdx.x == 32) {
      copy<true>(shared, &map_a);
    } else if (threadIdx.x == 64) {
      copy<false>(shared, &map_b);
    } else if (threadIdx.x >= 96 && p.sorts) {
      sort_last(p, shared);
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
  if (m <= 0 || n <= 0 || k <= 0 || m % Config::kTileM != 0 || n % Config::kTileN != 0 || k % Config::kBlockK != 0) {
    return cudaErrorInvalidValue;
  }
  if (!launch::is_aligned_16(a_values) || !launch::is_aligned_16(b_values) || !launch::is_aligned_16(c) ||
      !launch::is_aligned_16(workspace) || workspace == nullptr || workspace_bytes < sizeof(int)) {
    return cudaErrorInvalidValue;
  }
  const int rows = m / Config::kTileM;
  const int inner = k / Config::kBlockK;
  const int cols = n / Config::kTileN;
  const int64_t most_blocks_a = static_cast<int64_t>(rows) * inner;
  const int64_t most_blocks_b = static_cast<int64_t>(inner) * cols;
  const int64_t tables = table_bytes(rows, inner, cols);
  if (tables > Config::kMostTableBytes || most_blocks_a > Config::kMostBlocks || most_blocks_b > Config::kMostBlocks) {
    return cudaErrorInvalidValue;  // the pattern's tables must fit beside the slots
  }

  // How many blocks are stored is not known here: the tensor maps cover as many as there can be. Without any there may
  // be no memory: nothing is read then, but a tensor map needs an address.
  const void* blocks_a = a_values != nullptr ? a_values : c;
  const void* blocks_b = b_values != nullptr ? b_values : c;
  CUtensorMap map_a;
  CUtensorMap map_b;
  CUtensorMap map_c;
  cudaError_t error = launch::make_tensor_map_2d(&map_a, blocks_a, most_blocks_a * Config::kTileM, Config::kBlockK,
                                                 Config::kTileM, Config::kTileK);
  if (error == cudaSuccess) {
    error = launch::make_tensor_map_panels(&map_b, blocks_b, most_blocks_b * Config::kBlockK, Config::kTileN,
                                           Config::kTileK, Config::kTileN / 64);
  }
  if (error == cudaSuccess) {
    error = launch::make_tensor_map_2d(&map_c, c, m, n, 16, 64);
  }
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

  const int pairs = (cols + 1) / 2;
  const int split = std::min(rows * pairs, limits.sms);  // tiles that are taken column by column
  const int whole = rows * pairs - split;
  const int tiles = whole + 2 * split;
  const int grid = std::min(tiles, limits.sms);
  const int slots = tables <= Config::kTableBytes ? Config::kSlots : Config::kSlots - 1;
  const int64_t beside = Config::kTableBytes + (Config::kSlots - slots) * Config::kSlotBytes - tables;
  // Sorted while other tiles are multiplied: each CTA must have one.
  const bool sorts = whole >= grid && order_bytes(tiles - whole) <= beside;
  const Problem problem{a_row_ptr,
                        a_col_idx,
                        b_row_ptr,
                        b_col_idx,
                        static_cast<int*>(workspace),
                        rows,
                        inner,
                        cols,
                        (cols + 63) / 64,
                        pairs,
                        whole,
                        tiles,
                        slots,
                        sorts};
  sm90_bsr_bsr_gemm_kernel<<<grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(
      problem, map_a, map_b, map_c);
  return cudaGetLastError();
}
