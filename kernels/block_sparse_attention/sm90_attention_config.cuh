// What is fixed when sm90_block_sparse_attention.cu is compiled, what its parts tell each other, and where that lies in
// shared memory.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "attention_call.cuh"
#include "attention_fp8_call.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"

#if !defined(HEAD_DIM) || !defined(SLOTS) || !defined(Q_STAGES)
#error "define HEAD_DIM, SLOTS and Q_STAGES (README.md lists the variants)"
#endif
#ifndef DTYPE  // 0 fp16, 1 bf16, 2 FP8 (E4M3) with scales
#define DTYPE 0
#endif
#ifndef BLOCK  // queries and keys of a stored block: 128 or 64
#define BLOCK 128
#endif
#ifndef CONSUMERS  // warpgroups of 64 queries: 2 or 3
#define CONSUMERS 2
#endif
#ifndef Q_REGISTERS  // 1: Q waits in registers, 0: in shared memory
#define Q_REGISTERS 0
#endif
#ifndef CHECKED_SUMS  // 1: steps inside a tile need no maxima
#define CHECKED_SUMS 1
#endif
#ifndef DYNAMIC  // 1: tiles from a counter; 0: dealt in turn
#define DYNAMIC 1
#endif
#ifndef OVERLAP  // 1: exponentials run beside the same consumer's products; 0: after them
#define OVERLAP 1
#endif
#ifndef PING_PONG  // 1: consumers of one tile take turns at the tensor cores
#define PING_PONG 0
#endif

namespace attention {

struct Config {
  static_assert(DTYPE >= 0 && DTYPE <= 2, "DTYPE is 0, 1 or 2");
  static constexpr bool kScaled = DTYPE == 2;
  using Element = mma::ElementOf<DTYPE>::Type;
  using Output = mma::ElementOf<kScaled ? 1 : DTYPE>::Type;
  static constexpr int kElementBytes = kScaled ? 1 : 2;
  static constexpr int kHeadDim = HEAD_DIM;
  static constexpr int kBlock = BLOCK;  // queries and keys of a stored block
  static constexpr int kSlots = SLOTS;  // of each stream
  static constexpr int kQStages = Q_STAGES;
  static constexpr bool kPingPong = PING_PONG != 0;
  static constexpr bool kQRegisters = Q_REGISTERS != 0;
  static constexpr bool kCheckedSums = CHECKED_SUMS != 0;
  static constexpr bool kDynamic = DYNAMIC != 0;
  static constexpr bool kOverlap = OVERLAP != 0;

  static constexpr int kConsumers = CONSUMERS;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kConsumerRows = 64;  // queries of a consumer: m of wgmma
  static constexpr int kKeys = 128;         // of a step: one key block of 128, or two of 64
  static constexpr int kParts = kKeys / kBlock;
  // Each stream has its tiles, its ring and its producer warp. One for all consumers where their queries make up a
  // block row: they share its keys. Else a tile has one consumer's queries, and each consumer has its own stream.
  static constexpr int kStreams = kConsumers * kConsumerRows == kBlock ? 1 : kConsumers;
  static constexpr int kStreamConsumers = kConsumers / kStreams;
  static constexpr int kTileRows = kStreamConsumers * kConsumerRows;
  static constexpr int kBlockTiles = kBlock / kTileRows;  // tiles of a block row
  // K stays in its slot until the sums have been checked; else it goes once its scores are there, and is read again
  // from global memory where the check fails. A stream of its own has few slots.
  static constexpr bool kKeepsKeys = kStreams == 1;
  // A tile's last step checks sums, too, though Q must leave its place by then: it is in registers, or stays until the
  // check is done, or is read again from global memory where the check fails. At D = 64 with blocks of 128 that costs
  // more than the maxima do.
  static constexpr bool kChecksLast = kBlock == 64 || kStreams == 1;
  // A CTA begins with so many registers a thread and deals them anew: what consumers take, producers must have left.
  static constexpr int kRegisters = 65536 / kThreads / 8 * 8;
  static constexpr int kProducerRegisters = kConsumers == 2 ? 24 : 32;
  static constexpr int kConsumerRegisters = kConsumers == 2 ? 240 : 160;

  static constexpr int kRowBytes = 128;
  static constexpr int kPanels = kHeadDim * kElementBytes / kRowBytes;  // of 64 columns, or 128
  static constexpr int kSlotPanelBytes = kKeys * kRowBytes;
  static constexpr int kSlotBytes = kPanels * kSlotPanelBytes;
  static constexpr int kQPanelBytes = kConsumerRows * kRowBytes;
  static constexpr int kQBytes = kPanels * kQPanelBytes;  // a consumer's
  // One copy brings all panels of 128 keys; 64 keys fill half of each panel, and need a copy for each.
  static constexpr int kCopyPanels = kParts == 1 ? kPanels : 1;
  static constexpr int kScores = kKeys / 2;  // a thread: 64 x 128 over 128 threads
  static constexpr int kAccum = kHeadDim / 2;
  static constexpr int kProbabilities = kScores * kElementBytes / 4;  // words
  static constexpr int kScoreProducts = kHeadDim * kElementBytes / 32;
  static constexpr int kValueProducts = kKeys * kElementBytes / 32;
  static constexpr int kQueue = 4;                    // tiles published and not yet taken
  // Steps of a tile that are copied before its Q, which may have to wait until the tile before has left Q's place. By
  // then, the ring has no slot that is free earlier than that place.
  static constexpr int kStepsBeforeQ = kQStages > 1 || kQRegisters ? 0 : kSlots / 2 - 1;

  // One in so many of a step's exponentials hides its second product; it is rounded beside the others.
  static constexpr int kHidden = kHeadDim * kElementBytes == 128 ? 4 : 2;

  // Binary orders by which a maximum may be outgrown, and of the probability that a maximum has: E4M3 ends at 448.
  static constexpr float kSlack = kScaled ? 2.0f : 8.0f;
  static constexpr float kLift = kScaled ? 6.0f : 0.0f;
  // Of a thread's 32 probabilities in a row: none then leaves the type's range.
  static constexpr float kMostSum = kScaled ? 448.0f : 8192.0f;
  static constexpr int kSettledLog2 = 6;  // a sum that left it is between this power of two and the next, then
  static constexpr float kSettledSum = 1 << kSettledLog2;

  static constexpr int kOffsetQ = kStreams * kSlots * kSlotBytes;
  static constexpr int kOffsetQueue = kOffsetQ + kQStages * kConsumers * kQBytes;
  static constexpr int kOffsetKeys = kOffsetQueue + kStreams * kQueue * 16;
  static constexpr int kOffsetMasked = kOffsetKeys + kStreams * kSlots * 16;
  static constexpr int kOffsetBarriers = kOffsetMasked + 8 * ((kStreams * kSlots + 1) / 2);
  static constexpr int kStreamBarriers = 2 * kSlots + 2 * kQueue;
  static constexpr int kSharedBytes =
      kOffsetBarriers + 8 * (kStreams * kStreamBarriers + 2 * kQStages * kConsumers);
  static constexpr int kReleases = 4 * kStreamConsumers;  // every warp that reads a stream

  static_assert(kHeadDim == 64 || kHeadDim == 128, "products are written for these head dimensions");
  static_assert(kConsumers == 2 || kConsumers == 3, "registers are dealt for these");
  static_assert(kBlockTiles * kTileRows == kBlock, "tiles fill block rows");
  static_assert(kBlock == 64 || kBlock == 128, "a step has one block of 128 keys or two of 64");
  static_assert(kSlots >= 3, "K of the next step and V of this one are in use while another arrives");
  static_assert(kStreams == 1 || !kPingPong, "turns need consumers with as many steps");
  static_assert(kProducerRegisters + kConsumers * kConsumerRegisters <= (1 + kConsumers) * kRegisters,
                "consumers would wait for registers for ever");
  static_assert(kSharedBytes <= 227 * 1024, "a CTA has 227 KiB at most");
  static_assert(!kScaled || (kHeadDim == 128 && kBlock == 128), "of FP8, a row of 128 bytes is a row of a tile");
};

using Element = Config::Element;
using Ring = ptx::PipelineState<Config::kSlots>;
using QRing = ptx::PipelineState<Config::kQStages>;

constexpr unsigned kAll = 0xffffffffu;
constexpr float kLn2 = 0.6931471805599453f;

// Of a step's scores: what makes binary exponents of them. FP8 has factors of its own, a key block's (as the producer
// tells it) and its values', by the head's largest: as a binary logarithm, which joins the exponents.
struct __align__(8) StepScale {
  float log2;
  float values_log2;
};

// The base of the problem, so that it takes no room where there are none.
template <bool kScaled>
struct Scales {
  __device__ __forceinline__ float of_row(const AssayAttention&, int, int, int) const { return 1.0f; }
  __device__ __forceinline__ float of_output(const AssayAttention&, int, int) const { return 1.0f; }
  __device__ __forceinline__ StepScale of_step(const AssayAttention&, int, int, int) const { return {}; }
};
template <>
struct Scales<true> {
  const float* q;
  const float* k;
  const float* v;
  const float* v_top;
  int rows;     // block rows of a head
  int columns;  // key blocks of a head

  __device__ __forceinline__ float of_row(const AssayAttention& c, int batch, int head, int row) const {
    return q[(static_cast<int64_t>(batch) * c.heads + head) * rows + row];
  }
  __device__ __forceinline__ float of_output(const AssayAttention& c, int batch, int kv_head) const {
    return v_top[static_cast<int64_t>(batch) * c.kv_heads + kv_head];
  }
  __device__ __forceinline__ StepScale of_step(const AssayAttention& c, int batch, int kv_head, int column) const {
    const int64_t head = static_cast<int64_t>(batch) * c.kv_heads + kv_head;
    const int64_t at = head * columns + column;
    return {k[at], __log2f(__fdividef(v[at], v_top[head]))};
  }
};

struct Problem : Scales<Config::kScaled> {
  AssayAttention call;
  int* counter;  // null: tiles are dealt in turn
  int rows;   // block rows of a head; each has kBlockTiles tiles
  int tiles;  // of all heads and batches
  int group;  // heads of Q for one of K and V
  float scale_log2;
};

// Where a block row's lists begin, in lists of all patterns.
__device__ __forceinline__ int list_of(const Problem& p, int batch, int head, int row) {
  const AssayAttention& c = p.call;
  const int pattern = (c.mask_batches > 1 ? batch : 0) * c.mask_heads + (c.mask_heads > 1 ? head : 0);
  return pattern * p.rows + row;
}

// What a producer tells the consumers of a tile. One 16-byte word; `row` is the tile's among the head's.
struct __align__(16) Published {
  int row;
  int head;
  int batch;
  int steps;  // below 0: no more tiles
};

// The first of the warp's 16 rows within its tile.
__device__ __forceinline__ int first_row(int consumer) {
  return (Config::kStreams == 1 ? consumer * Config::kConsumerRows : 0) + threadIdx.x / 32 % 4 * 16;
}

// The first of the thread's two queries.
__device__ __forceinline__ int query_of(const Published& tile, int consumer) {
  return tile.row * Config::kTileRows + first_row(consumer) + threadIdx.x % 32 / 4;
}

// What is masked of a key block: below 0 one of these, else its place in the row's list of partial blocks.
enum Part : int { kWhole = -1, kUpToLastKey = -2 };

// A step's key blocks: the first key of each, and which part of it counts.
struct __align__(8 * Config::kParts) StepKeys {
  int key[Config::kParts];
  int part[Config::kParts];
};

// Shared memory as one stream sees it.
struct Shared {
  unsigned char* memory;
  uint32_t base;
  int stream;

  __device__ __forceinline__ void* pointer(uint32_t shared) const { return memory + (shared - base); }
  __device__ __forceinline__ int slot_index(int slot) const {
    return Config::kStreams == 1 ? slot : stream * Config::kSlots + slot;
  }
  __device__ __forceinline__ uint32_t slot(int slot) const { return base + slot_index(slot) * Config::kSlotBytes; }
  __device__ __forceinline__ uint32_t q(int consumer, int stage) const {
    return base + Config::kOffsetQ + (stage * Config::kConsumers + consumer) * Config::kQBytes;
  }
  __device__ __forceinline__ uint32_t barrier(int number) const {
    return base + Config::kOffsetBarriers + (Config::kStreams == 1 ? 0 : stream * Config::kStreamBarriers * 8) +
           number * 8;
  }
  __device__ __forceinline__ uint32_t full(int slot) const { return barrier(slot); }
  __device__ __forceinline__ uint32_t empty(int slot) const { return barrier(Config::kSlots + slot); }
  __device__ __forceinline__ uint32_t queue_full(int place) const { return barrier(2 * Config::kSlots + place); }
  __device__ __forceinline__ uint32_t queue_empty(int place) const { return queue_full(Config::kQueue + place); }
  __device__ __forceinline__ uint32_t q_full(int consumer, int stage) const {
    return base + Config::kOffsetBarriers +
           (Config::kStreams * Config::kStreamBarriers + stage * Config::kConsumers + consumer) * 8;
  }
  __device__ __forceinline__ uint32_t q_empty(int consumer, int stage) const {
    return q_full(consumer, Config::kQStages + stage);
  }
  __device__ __forceinline__ int4* queue() const {
    int4* const queues = reinterpret_cast<int4*>(memory + Config::kOffsetQueue);
    return Config::kStreams == 1 ? queues : queues + stream * Config::kQueue;
  }
  // Of each slot that holds K: its key blocks, what FP8 has beside them (a StepScale), and whether any of its scores
  // are masked.
  __device__ __forceinline__ uint32_t keys(int slot) const {
    return base + Config::kOffsetKeys + slot_index(slot) * 16;
  }
  __device__ __forceinline__ uint32_t scale(int slot) const { return keys(slot) + sizeof(StepKeys); }
  __device__ __forceinline__ uint32_t masked(int slot) const {
    return base + Config::kOffsetMasked + slot_index(slot) * 4;
  }
};

}  // namespace attention
