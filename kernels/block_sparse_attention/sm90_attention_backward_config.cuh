// What is fixed when sm90_attention_backward.cu is compiled, what its launches hand on, and where tiles lie in shared
// memory.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "attention_backward_call.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"

#if !defined(HEAD_DIM) || !defined(QUERIES) || !defined(KEYS) || !defined(QUERY_STAGES) || !defined(KEY_STAGES)
#error "define HEAD_DIM, QUERIES, KEYS, QUERY_STAGES and KEY_STAGES (README.md lists the variants)"
#endif
#ifndef DTYPE  // 0 fp16, 1 bf16
#define DTYPE 0
#endif
#ifndef HELD_KEYS  // 1: consumers hold K and V in registers, and compute dS beside the product for V; 0: neither
#define HELD_KEYS 0
#endif
#ifndef DYNAMIC  // 1: as many CTAs as SMs, which take blocks from a counter; 0: a CTA for each block
#define DYNAMIC 1
#endif

namespace attention_backward {

struct Config {
  static_assert(DTYPE == 0 || DTYPE == 1, "DTYPE is 0 or 1");
  using Element = mma::ElementOf<DTYPE>::Type;
  static constexpr int kHeadDim = HEAD_DIM;
  static constexpr int kBlock = 128;        // queries and keys of a stored block
  static constexpr int kQueries = QUERIES;  // of a step for the gradients by K and V
  static constexpr int kKeys = KEYS;        // of a step for the gradient by Q
  static constexpr int kQueryStages = QUERY_STAGES;
  static constexpr int kKeyStages = KEY_STAGES;
  static constexpr bool kHeldKeys = HELD_KEYS != 0;
  static constexpr bool kDynamic = DYNAMIC != 0;

  static constexpr int kConsumers = 2;      // warpgroups
  static constexpr int kConsumerRows = 64;  // of the held block: m of wgmma
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kProducerRegisters = 24;
  static constexpr int kConsumerRegisters = 240;
  static constexpr int kReleases = 4 * kConsumers;  // every warp that reads a stage

  static constexpr int kPanels = kHeadDim / 64;  // of 64 columns, 128 bytes
  static constexpr int kRowBytes = 128;
  static constexpr int kAccum = kHeadDim / 2;  // a thread: 64 x HEAD_DIM over 128 threads
  static constexpr int kRowThreads = 256;      // of a CTA of the first launch

  static_assert(kHeadDim == 64 || kHeadDim == 128, "products are written for these head dimensions");
  static_assert(kQueries == 64 || kQueries == 128, "products are written for so many columns");
  static_assert(kKeys == 64 || kKeys == 128, "products are written for so many columns");
};

using Element = Config::Element;

constexpr unsigned kAll = 0xffffffffu;

struct Problem {
  AssayAttentionBackward call;
  float* minus;  // [batches][heads][rows][kBlock]: -lse * log2(e); -infinity for queries without keys and past the end
  float* delta;  // the same shape: what is taken off the gradients by probabilities; 0 there
  int* places;   // [mask_batches][mask_heads][columns][rows]: Part
  int* counters;  // of blocks of keys and of queries that have been taken, beyond each CTA's first
  int rows;      // block rows of a head
  int columns;   // key blocks of a head
  int group;     // heads of Q for one of K and V
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

// What a producer tells the consumers of a stage. One 16-byte word.
struct __align__(16) Step {
  int part;   // kNone: no more steps with the held block
  int head;   // of Q
  int first;  // query or key of the stage; of kNone: the number of the next block to hold, below 0 if there is none
  int unused;
};

// A CTA holds a block of two matrices, 128 rows each, and tiles of kRows rows of two others pass by. All are
// [HEAD_DIM / 64][rows][64] with the 128-byte swizzle. kVectors: of each passing row, two numbers.
template <int kRows, int kStages, bool kVectors>
struct Shared {
  static constexpr int kHeldPanelBytes = Config::kBlock * Config::kRowBytes;
  static constexpr int kHeldBytes = Config::kPanels * kHeldPanelBytes;
  static constexpr int kPanelBytes = kRows * Config::kRowBytes;
  static constexpr int kTileBytes = Config::kPanels * kPanelBytes;
  static constexpr int kVectorBytes = kVectors ? kRows * 4 : 0;
  static constexpr int kOffsetTiles = 2 * kHeldBytes;
  static constexpr int kOffsetVectors = kOffsetTiles + kStages * 2 * kTileBytes;
  static constexpr int kOffsetSteps = kOffsetVectors + kStages * 2 * kVectorBytes;
  static constexpr int kOffsetBarriers = kOffsetSteps + kStages * 16;
  static constexpr int kBytes = kOffsetBarriers + 8 * (2 * kStages + 2);
  static constexpr uint32_t kStageBytes = 2 * kTileBytes + 2 * kVectorBytes;
  using Ring = ptx::PipelineState<kStages>;

  static_assert(kStages >= 2, "a stage is given back while the next one is in use");
  static_assert(kBytes <= 227 * 1024, "a CTA has 227 KiB at most");

  unsigned char* memory;
  uint32_t base;

  __device__ __forceinline__ uint32_t held(int which) const { return base + which * kHeldBytes; }
  __device__ __forceinline__ uint32_t tile(int stage, int which) const {
    return base + kOffsetTiles + (2 * stage + which) * kTileBytes;
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
  __device__ __forceinline__ uint32_t held_full() const { return full(2 * kStages); }
  __device__ __forceinline__ uint32_t held_empty() const { return full(2 * kStages + 1); }

  // One thread.
  __device__ __forceinline__ void init() const {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(full(stage), 1);
      ptx::mbarrier_init(empty(stage), Config::kReleases);
    }
    ptx::mbarrier_init(held_full(), 1);
    ptx::mbarrier_init(held_empty(), Config::kReleases);
    ptx::fence_mbarrier_init();
  }

  // One thread: rows `first` and on of a head of two matrices arrive in the held places.
  __device__ __forceinline__ void load_held(const CUtensorMap* map_0, const CUtensorMap* map_1, int first, int head,
                                            int batch) const {
    ptx::mbarrier_arrive_expect_tx(held_full(), 2 * kHeldBytes);
    ptx::tma_load_5d(held(0), map_0, 0, first, 0, head, batch, held_full(), ptx::kEvictFirst);
    ptx::tma_load_5d(held(1), map_1, 0, first, 0, head, batch, held_full(), ptx::kEvictFirst);
  }

  // One thread: the same into a stage. The vectors' bytes are yet to be asked for.
  __device__ __forceinline__ void load_tiles(int stage, const CUtensorMap* map_0, const CUtensorMap* map_1,
                                             const Step& what, int head, int batch) const {
    *step(stage) = make_int4(what.part, what.head, what.first, 0);
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
    return {__shfl_sync(kAll, found.x, 0), __shfl_sync(kAll, found.y, 0), __shfl_sync(kAll, found.z, 0), 0};
  }

  // One warp: has read the stage, or the held block.
  __device__ __forceinline__ void release(int stage) const { release_at(empty(stage)); }
  __device__ __forceinline__ void release_held() const { release_at(held_empty()); }
  __device__ __forceinline__ void release_at(uint32_t barrier) const {
    __syncwarp();
    ptx::mbarrier_arrive_if(threadIdx.x % 32 == 0, barrier);
  }
};

// One warp: the number of the block that a CTA holds next, below 0 if there is none.
__device__ __forceinline__ int next_block(int* counter, int blocks) {
  if constexpr (Config::kDynamic) {
    int taken = 0;
    if (threadIdx.x % 32 == 0) {
      taken = atomicAdd(counter, 1);
    }
    const int next = static_cast<int>(gridDim.x) + __shfl_sync(kAll, taken, 0);
    return next < blocks ? next : -1;
  }
  return -1;
}

// The copies into the held places wait until the block before has left them. Meanwhile, stages fill.
template <int kStages>
struct HeldCopy {
  uint32_t parity = 1;  // the first visit need not wait
  int steps = 0;        // begun before the copies
  bool waits = false;

  // `at_once`: the places are free long before.
  __device__ __forceinline__ void ask(bool at_once) {
    waits = true;
    steps = at_once ? kStages - 1 : 0;
  }
  // Before each step: whether the copies are to begin now.
  __device__ __forceinline__ bool due() { return waits && ++steps == kStages; }
};

}  // namespace attention_backward
