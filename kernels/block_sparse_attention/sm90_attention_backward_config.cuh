// What is fixed when sm90_attention_backward.cu is compiled, what its launches hand on, and where tiles lie in shared
// memory.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "attention_backward_call.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"

#if !defined(HEAD_DIM) || !defined(STAGES)
#error "define HEAD_DIM and STAGES (kernel.yaml has the variants)"
#endif
#ifndef DTYPE  // 0 fp16, 1 bf16
#define DTYPE 0
#endif

namespace attention_backward {

struct Config {
  static_assert(DTYPE == 0 || DTYPE == 1, "DTYPE is 0 or 1");
  using Element = mma::ElementOf<DTYPE>::Type;
  static constexpr int kHeadDim = HEAD_DIM;
  static constexpr int kBlock = 128;   // queries and keys of a stored block
  static constexpr int kQueries = 64;  // of a step
  static constexpr int kStages = STAGES;
  static constexpr int kKeySlots = 2;  // K of the next block arrives while this one is in use
  static constexpr bool kRoom = kHeadDim == 64;  // in registers: for K and V, and for all products in flight

  static constexpr int kConsumers = 2;      // warpgroups
  static constexpr int kConsumerRows = 64;  // of the held block: m of wgmma
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kProducerRegisters = 24;  // and of idle warps
  static constexpr int kConsumerRegisters = 240;
  static constexpr int kReleases = 4 * kConsumers;  // every warp of the consumers

  static constexpr int kPanels = kHeadDim / 64;  // of 64 columns, 128 bytes
  static constexpr int kRowBytes = 128;
  static constexpr int kAccum = kHeadDim / 2;  // a thread: 64 x HEAD_DIM over 128 threads
  static constexpr int kScores = kQueries / 2;
  static constexpr int kRowThreads = 256;  // of a CTA of the first and of the last launch
  static constexpr int kMostSorted = 1024;  // key blocks of a head; beyond, the last ones are a small part

  // A consumer computes 64 x 64 of the product for Q: its panel of a step or, of one panel, its step of two.
  static constexpr int kUnit = kConsumers / kPanels;  // steps
  static constexpr int kTile = 64 * 64;               // sums of Q that lie together

  static_assert(kHeadDim == 64 || kHeadDim == 128, "products are written for these head dimensions");
};

using Element = Config::Element;

constexpr unsigned kAll = 0xffffffffu;

struct Problem {
  AssayAttentionBackward call;
  float* minus;  // [batches][heads][rows][kBlock]: -lse * log2(e); -infinity for queries without keys and past the end
  float* delta;  // the same shape: what is added to the gradients by probabilities, -delta; 0 there
  float* sums;   // [batches][heads][rows][2][kPanels][kTile]: the gradient by Q, unscaled, as accumulators hold it
  int* places;   // [mask_batches][mask_heads][columns][rows]: Part
  int* weights;  // [key_masks][columns]: steps of a key block
  int* placed;   // [key_masks]: lists that are in `places`
  int* added;    // [turns]: key blocks whose sums are in memory
  int* rounded;  // [turns]: parts of these sums that were taken to be rounded
  int* cleared;  // [2]: block rows of later turns that were taken to be cleared, and those whose sums are zeros
  int* counter;  // of key blocks that have been taken, beyond each CTA's first
  int* order;    // [key_masks][columns]: columns, heaviest first
  int rows;      // block rows of a head
  int columns;   // key blocks of a head
  int group;     // heads of Q for one of K and V
  int together;  // heads of K and V whose key blocks are taken together
  float scale_log2;
};

// Which scores of a block count. From kFirstPartial on: those that the bits or the window leave, and the number is the
// block's place in its row's list of partial blocks.
enum Part : int { kNone = 0, kWhole = 1, kUpToLastKey = 2, kFirstPartial = 3 };

// Number of the mask that a head has.
__device__ __forceinline__ int mask_of(const Problem& p, int batch, int head) {
  const AssayAttention& c = p.call.forward;
  return (c.mask_batches > 1 ? batch : 0) * c.mask_heads + (c.mask_heads > 1 ? head : 0);
}

// Number of the order of key blocks that a head of K and V has; heads of one mask have one.
__device__ __forceinline__ int key_mask_of(const Problem& p, int batch, int kv_head) {
  const AssayAttention& c = p.call.forward;
  return c.mask_heads > 1 ? (c.mask_batches > 1 ? batch : 0) * c.kv_heads + kv_head : c.mask_batches > 1 ? batch : 0;
}

// A place of kPlaces that are visited in turn, and the parity of the visit, from how many there were: one register.
template <int kPlaces>
struct Turn {
  uint32_t number = 0;

  __device__ __forceinline__ int place() const { return static_cast<int>(number % kPlaces); }
  __device__ __forceinline__ uint32_t parity() const { return number / kPlaces & 1; }
};

// What the producer tells the consumers of a stage. One 16-byte word.
struct __align__(16) Step {
  int part;   // kNone: no more steps with the held block
  int list;   // of the block row, among all masks'
  int first;  // query of the stage; of kNone: the number of the next block to hold, below 0 if there is none
  int tile;   // number of the stage's 64 queries among all heads'
};

// K and V of a block are held, 128 rows each, and tiles of kQueries rows of Q and its gradient pass by. All are
// [HEAD_DIM / 64][rows][64] with the 128-byte swizzle, as are factors (dS) of two units, [128 keys][64 queries] a step.
struct Shared {
  static constexpr int kStages = Config::kStages;
  static constexpr int kHeldPanelBytes = Config::kBlock * Config::kRowBytes;
  static constexpr int kHeldBytes = Config::kPanels * kHeldPanelBytes;
  static constexpr int kFactorBytes = Config::kBlock * Config::kRowBytes;
  static constexpr int kTileBytes = Config::kPanels * Config::kQueries * Config::kRowBytes;
  static constexpr int kVectorBytes = Config::kQueries * 4;
  static constexpr int kSumBytes = Config::kTile;  // a warp
  static constexpr int kOffsetTiles = (1 + Config::kKeySlots) * kHeldBytes;
  static constexpr int kOffsetFactors = kOffsetTiles + kStages * 2 * kTileBytes;
  static constexpr int kOffsetSums = kOffsetFactors + 2 * Config::kUnit * kFactorBytes;
  static constexpr int kOffsetVectors = kOffsetSums + 4 * Config::kConsumers * kSumBytes;
  static constexpr int kOffsetSteps = kOffsetVectors + kStages * 2 * kVectorBytes;
  static constexpr int kOffsetNumbers = kOffsetSteps + kStages * 16;
  static constexpr int kOffsetBarriers = kOffsetNumbers + 16;
  static constexpr int kBytes = kOffsetBarriers + 8 * (2 * kStages + 10 + 2 * Config::kKeySlots);
  static constexpr uint32_t kStageBytes = 2 * kTileBytes + 2 * kVectorBytes;
  using Ring = ptx::PipelineState<kStages>;

  static_assert(kStages >= 2, "a stage is given back while the next one is in use");
  static_assert(kBytes <= 227 * 1024, "a CTA has 227 KiB at most");

  unsigned char* memory;
  uint32_t base;

  __device__ __forceinline__ uint32_t v() const { return base; }
  __device__ __forceinline__ uint32_t k(int slot) const { return base + (1 + slot) * kHeldBytes; }
  __device__ __forceinline__ uint32_t tile(int stage, int which) const {
    return base + kOffsetTiles + (2 * stage + which) * kTileBytes;
  }
  // Of half a unit, which is a step.
  __device__ __forceinline__ uint32_t factors(int unit, int half) const {
    return base + kOffsetFactors + (unit * Config::kUnit + half) * kFactorBytes;
  }
  // A warp's own.
  __device__ __forceinline__ uint32_t sums() const {
    return base + kOffsetSums + (threadIdx.x / 32 - 4) * kSumBytes;
  }
  __device__ __forceinline__ int vector_offset(int stage, int which) const {
    return kOffsetVectors + (2 * stage + which) * kVectorBytes;
  }
  __device__ __forceinline__ const float* vector(int stage, int which) const {
    return reinterpret_cast<const float*>(memory + vector_offset(stage, which));
  }
  __device__ __forceinline__ int4* step(int stage) const {
    return reinterpret_cast<int4*>(memory + kOffsetSteps) + stage;
  }
  __device__ __forceinline__ uint32_t full(int stage) const { return base + kOffsetBarriers + stage * 8; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return full(kStages + stage); }
  // Of the block whose keys are in the slot.
  __device__ __forceinline__ int* number(int slot) const {
    return reinterpret_cast<int*>(memory + kOffsetNumbers) + slot;
  }
  __device__ __forceinline__ uint32_t factors_full(int unit) const { return full(2 * kStages + unit); }
  __device__ __forceinline__ uint32_t factors_empty(int unit) const { return full(2 * kStages + 2 + unit); }
  // All sums of a block are in memory; of every other block.
  __device__ __forceinline__ uint32_t added(int which) const { return full(2 * kStages + 4 + which); }
  __device__ __forceinline__ uint32_t v_full() const { return full(2 * kStages + 6); }
  __device__ __forceinline__ uint32_t v_empty() const { return full(2 * kStages + 7); }
  __device__ __forceinline__ uint32_t over() const { return full(2 * kStages + 8); }
  // All sums of later turns are zeros.
  __device__ __forceinline__ uint32_t zeros() const { return full(2 * kStages + 9); }
  __device__ __forceinline__ uint32_t k_full(int slot) const { return full(2 * kStages + 10 + slot); }
  __device__ __forceinline__ uint32_t k_empty(int slot) const { return k_full(Config::kKeySlots + slot); }

  // One thread.
  __device__ __forceinline__ void init() const {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(full(stage), 1);
      ptx::mbarrier_init(empty(stage), 32 * Config::kReleases);
    }
    for (int i = 0; i < 2; ++i) {
      ptx::mbarrier_init(factors_full(i), Config::kReleases);
      ptx::mbarrier_init(factors_empty(i), Config::kReleases);
      ptx::mbarrier_init(added(i), Config::kReleases);
    }
    ptx::mbarrier_init(v_full(), 1);
    ptx::mbarrier_init(v_empty(), Config::kReleases);
    ptx::mbarrier_init(over(), 1);
    ptx::mbarrier_init(zeros(), 2);  // both idle warps
    for (int slot = 0; slot < Config::kKeySlots; ++slot) {
      ptx::mbarrier_init(k_full(slot), 1);
      ptx::mbarrier_init(k_empty(slot), Config::kReleases + 1);  // and the warp that publishes
    }
    ptx::fence_mbarrier_init();
  }

  // One thread: 128 rows of a head of K or V, from `first` on, arrive where they are held.
  __device__ __forceinline__ void load_held(uint32_t to, uint32_t barrier, const CUtensorMap* map, int first, int head,
                                            int batch) const {
    ptx::mbarrier_arrive_expect_tx(barrier, kHeldBytes);
    ptx::tma_load_5d(to, map, 0, first, 0, head, batch, barrier, ptx::kEvictFirst);
  }

  // One thread: rows of Q and its gradient arrive in a stage. The vectors' bytes are yet to be asked for.
  __device__ __forceinline__ void load_tiles(int stage, const CUtensorMap* map_0, const CUtensorMap* map_1,
                                             const Step& what, int head, int batch) const {
    *step(stage) = make_int4(what.part, what.list, what.first, what.tile);
    ptx::mbarrier_arrive_expect_tx(full(stage), kStageBytes);
    ptx::tma_load_5d(tile(stage, 0), map_0, 0, what.first, 0, head, batch, full(stage), ptx::kEvictNormal);
    ptx::tma_load_5d(tile(stage, 1), map_1, 0, what.first, 0, head, batch, full(stage), ptx::kEvictNormal);
  }

  // One thread: no more steps with this block.
  __device__ __forceinline__ void end(int stage, int next) const {
    *step(stage) = make_int4(kNone, 0, next, 0);
    ptx::mbarrier_arrive(full(stage));
  }

  // One warp. Lane 0 reads what the producer wrote, and tells: that alone the race checker can follow.
  __device__ __forceinline__ Step read_step(int stage) const {
    int4 found = make_int4(0, 0, 0, 0);
    if (threadIdx.x % 32 == 0) {
      found = *step(stage);
    }
    return {__shfl_sync(kAll, found.x, 0), __shfl_sync(kAll, found.y, 0), __shfl_sync(kAll, found.z, 0),
            __shfl_sync(kAll, found.w, 0)};
  }

  __device__ __forceinline__ int read_number(int slot) const {
    int found = 0;
    if (threadIdx.x % 32 == 0) {
      found = *number(slot);
    }
    return __shfl_sync(kAll, found, 0);
  }

  // One warp: has read a stage. Every lane says so for itself, since each has read numbers of its own.
  __device__ __forceinline__ void release_stage(int stage) const { ptx::mbarrier_arrive(empty(stage)); }
  // ... what the barrier guards.
  __device__ __forceinline__ void release(uint32_t barrier) const {
    __syncwarp();
    ptx::mbarrier_arrive_if(threadIdx.x % 32 == 0, barrier);
  }
  // ... has written its part of the unit's factors.
  __device__ __forceinline__ void hand_over_factors(int unit) const {
    ptx::fence_proxy_async();
    release(factors_full(unit));
  }
};

}  // namespace attention_backward
