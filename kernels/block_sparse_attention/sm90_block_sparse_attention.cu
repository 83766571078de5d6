// O = softmax(scale * Q K^T over the selected blocks) V, and its log-sum-exp, for Hopper: 16-bit in and out, fp32
// scores and sums, TMA and warpgroup products in one fused kernel. Blocks of 128 queries x 128 keys, head dimension
// HEAD_DIM.
//
//                  128 keys                   384 threads a CTA, one CTA an SM:
//               +------------+                  warpgroup 0: producer. One warp takes tiles, publishes them and starts
//       HEAD_DIM|    K^T     |                    all copies, running ahead of the consumers.
//               +------------+                  warpgroups 1, 2: consumers of 64 queries each, of the same tile.
//     +------+  +------------+  +------+
//  64 |  Q   |  |consumer 0  |  |      |      A tile is a block row of queries of one head. Its lists of key blocks lie
//     +------+  +------------+  |  O   |      on the device: full blocks, and partial ones whose scores are masked by
//  64 |  Q   |  |consumer 1  |  |      |      code. No plan is made on the host.
//     +------+  +------------+  +------+
//
// The tensor cores are to see one stream of products, without a seam between tiles. Blocks are numbered across all
// tiles of a CTA; a consumer asks for the scores of block i + 1 before the values of block i, also where i + 1 belongs
// to the next tile. While the values of a tile's last block are multiplied, the next tile's first scores become
// probabilities. Thus neither Q's copy nor the prologue nor O's way out leave the tensor cores idle. The two consumers
// take turns: while one's products run, the other computes exponentials (PING_PONG).
//
// Shared memory: a ring of SLOTS slots, each 128 rows of K or V, [HEAD_DIM / 64][128][64], 128-byte swizzle, in the
// order of use: K0, K1, V0, K2, V1, ...; Q_STAGES places for Q, a half for each consumer; a note for each slot, which
// key block it is and whether it is masked; a queue of tiles; mbarriers. O leaves from registers: quads exchange words
// until each thread holds 16 bytes of a row.
//
// Softmax: running maxima as usual, but O and the sums stay scaled by an older maximum until the new one has outgrown
// it by 2^8 in any row of the warp: probabilities then reach 256 at most, which fp16 holds with the same relative
// precision. With CHECKED_SUMS 1, only a tile's first and last blocks and masked ones ask for maxima. The others take
// their exponentials at once, by the reference they find. No probability exceeds the sum it is part of: where a
// thread's sum is small enough, all is well, and without comparing and exchanging the exponentials begin as soon as the
// scores are there. Where it is not, the warp computes its scores again, by mma.sync, and goes the long way.
//
// Tiles run through the rows of one head, then the next head, so that a head's K and V stay in L2. With DYNAMIC 1 they
// come from a counter in the workspace, longest rows first if the caller gives such an order.
//
// Requires: 16-byte aligned pointers, strides that are multiples of 8 elements, columns within the keys, sm_90a.

#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"
#include "sm90_attention_ptx.cuh"

#if !defined(HEAD_DIM) || !defined(SLOTS) || !defined(Q_STAGES)
#error "define HEAD_DIM, SLOTS and Q_STAGES (kernel.yaml lists the variants)"
#endif
#ifndef DTYPE  // 0 fp16, 1 bf16
#define DTYPE 0
#endif
#ifndef PING_PONG  // 1: consumers take turns at the tensor cores
#define PING_PONG 1
#endif
#ifndef Q_REGISTERS  // 1: Q waits in registers, 0: in shared memory
#define Q_REGISTERS 0
#endif
#ifndef CHECKED_SUMS  // 1: blocks inside a tile need no maxima
#define CHECKED_SUMS 1
#endif
#ifndef DYNAMIC  // 1: tiles from a counter; 0: dealt in turn
#define DYNAMIC 1
#endif
#ifndef ZIGZAG  // 1: every second row walks its list from last to first
#define ZIGZAG 0
#endif

// What is to be computed. Strides in elements; lists as FlexAttention's BlockMask has them, int32 on the device:
// counts [mask_batches][mask_heads][rows], columns [mask_batches][mask_heads][rows][pitch], rows = ceil(queries / 128).
extern "C" struct AssayAttention {
  const void* q;  // [batches][heads][queries][HEAD_DIM], any strides
  const void* k;  // [batches][kv_heads][keys][HEAD_DIM]
  const void* v;
  void* o;       // as q
  float* lse;    // [batches][heads][queries], natural logarithm; may be null
  int64_t q_batch, q_head, q_row;
  int64_t k_batch, k_head, k_row;
  int64_t v_batch, v_head, v_row;
  int64_t o_batch, o_head, o_row;
  const int* full_counts;  // null: no such blocks
  const int* full_columns;
  const int* partial_counts;
  const int* partial_columns;
  const int* order;  // [mask_batches][mask_heads][rows]: which row comes first; null: as they are
  int full_pitch, partial_pitch;
  int mask_batches, mask_heads;  // 1, or as many as there are
  int batches, heads, kv_heads, queries, keys;
  // In partial blocks key j counts for query i where -left <= j - (i + keys - queries) <= right; below 0: no bound.
  int window_left, window_right;
  float scale;
};

namespace {

struct Config {
#if DTYPE == 0
  using Element = mma::Half;
#elif DTYPE == 1
  using Element = mma::Bfloat16;
#else
#error "DTYPE is 0 or 1"
#endif
  static constexpr int kHeadDim = HEAD_DIM;
  static constexpr int kBlock = 128;  // queries and keys of a block
  static constexpr int kSlots = SLOTS;
  static constexpr int kQStages = Q_STAGES;
  static constexpr bool kPingPong = PING_PONG != 0;
  static constexpr bool kQRegisters = Q_REGISTERS != 0;
  static constexpr bool kCheckedSums = CHECKED_SUMS != 0;
  static constexpr bool kDynamic = DYNAMIC != 0;
  static constexpr bool kZigzag = ZIGZAG != 0;

  static constexpr int kConsumers = 2;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kConsumerRows = kBlock / kConsumers;
  // 65536 registers: 24 for each thread of the producer's warpgroup, 240 for the consumers'.
  static constexpr int kProducerRegisters = 24;
  static constexpr int kConsumerRegisters = 240;

  static constexpr int kPanels = kHeadDim / 64;  // of 64 columns, 128 bytes
  static constexpr int kRowBytes = 128;
  static constexpr int kSlotPanelBytes = kBlock * kRowBytes;
  static constexpr int kSlotBytes = kPanels * kSlotPanelBytes;
  static constexpr int kQPanelBytes = kConsumerRows * kRowBytes;
  static constexpr int kQBytes = kPanels * kQPanelBytes;  // a consumer's half
  static constexpr int kScores = kBlock / 2;              // a thread: 64 x 128 over 128 threads
  static constexpr int kAccum = kHeadDim / 2;
  static constexpr int kProbabilities = kScores / 2;  // pairs
  static constexpr int kQueue = 4;                    // tiles published and not yet taken
  // Blocks of a tile that are copied before its Q, which may have to wait until the tile before has left Q's place. By
  // then, the ring has no slot that is free earlier than that place.
  static constexpr int kBlocksBeforeQ = kQStages > 1 || kQRegisters ? 0 : kSlots / 2 - 1;

  static constexpr float kSlack = 8.0f;  // binary orders by which a maximum may be outgrown
  static constexpr float kMostSum = 8192.0f;  // of a thread's 32 probabilities in a row: none then leaves fp16's range

  static constexpr int kOffsetQ = kSlots * kSlotBytes;
  static constexpr int kOffsetQueue = kOffsetQ + kQStages * kConsumers * kQBytes;
  static constexpr int kOffsetNotes = kOffsetQueue + kQueue * 16;
  static constexpr int kOffsetBarriers = kOffsetNotes + 8 * ((kSlots + 1) / 2);
  static constexpr int kSharedBytes = kOffsetBarriers + 8 * (2 * kSlots + 2 * kQStages * kConsumers + 2 * kQueue);
  static constexpr int kReleases = 4 * kConsumers;  // every warp of every consumer

  static_assert(kHeadDim == 64 || kHeadDim == 128, "products are written for these head dimensions");
  static_assert(kSlots >= 4, "K of the next block and V of this one are in use while the next two arrive");
  static_assert(kSharedBytes <= 227 * 1024, "a CTA has 227 KiB at most");
};

using Element = Config::Element;
using Ring = ptx::PipelineState<Config::kSlots>;
using QRing = ptx::PipelineState<Config::kQStages>;

constexpr unsigned kAll = 0xffffffffu;

struct Problem {
  AssayAttention call;
  int* counter;
  int rows;   // block rows of a head
  int tiles;  // of all heads and batches
  int group;  // heads of Q for one of K and V
  float scale_log2;
};

// What the producer tells the consumers of a tile. One 16-byte word.
struct __align__(16) Published {
  int row;
  int head;
  int batch;
  int blocks;  // below 0: no more tiles
};

// ---- shared memory -----------------------------------------------------------------------------------

struct Shared {
  unsigned char* memory;
  uint32_t base;

  __device__ __forceinline__ uint32_t slot(int slot) const { return base + slot * Config::kSlotBytes; }
  __device__ __forceinline__ uint32_t q(int consumer, int stage) const {
    return base + Config::kOffsetQ + (stage * Config::kConsumers + consumer) * Config::kQBytes;
  }
  __device__ __forceinline__ uint32_t full(int slot) const { return base + Config::kOffsetBarriers + slot * 8; }
  __device__ __forceinline__ uint32_t empty(int slot) const { return full(Config::kSlots + slot); }
  __device__ __forceinline__ uint32_t q_full(int consumer, int stage) const {
    return empty(Config::kSlots + stage * Config::kConsumers + consumer);
  }
  __device__ __forceinline__ uint32_t q_empty(int consumer, int stage) const {
    return q_full(consumer, Config::kQStages + stage);
  }
  __device__ __forceinline__ uint32_t queue_full(int place) const {
    return empty(Config::kSlots + 2 * Config::kQStages * Config::kConsumers + place);
  }
  __device__ __forceinline__ uint32_t queue_empty(int place) const { return queue_full(Config::kQueue + place); }
  __device__ __forceinline__ int4* queue() const { return reinterpret_cast<int4*>(memory + Config::kOffsetQueue); }
  __device__ __forceinline__ int* notes() const { return reinterpret_cast<int*>(memory + Config::kOffsetNotes); }
};

// A key block and whether its scores are masked.
__device__ __forceinline__ int make_note(int column, bool masked) { return column * 2 + (masked ? 1 : 0); }
__device__ __forceinline__ bool is_masked(int note) { return (note & 1) != 0; }
__device__ __forceinline__ int first_key(int note) { return (note >> 1) * Config::kBlock; }

// ---- producer ----------------------------------------------------------------------------------------

struct Tile {
  int row = 0;
  int head = 0;
  int batch = 0;
  int list = 0;
  int partial = 0;
  int blocks = 0;
  bool backward = false;
};

__device__ __forceinline__ Tile tile_at(const Problem& p, int index) {
  Tile tile;
  if (index < p.tiles) {
    const AssayAttention& c = p.call;
    const int pair = index / p.rows;
    const int place = index - pair * p.rows;
    tile.batch = pair / c.heads;
    tile.head = pair - tile.batch * c.heads;
    const int pattern = (c.mask_batches > 1 ? tile.batch : 0) * c.mask_heads + (c.mask_heads > 1 ? tile.head : 0);
    const int lists = pattern * p.rows;
    // Below a diagonal, the last rows are the longest.
    tile.row = c.order != nullptr ? c.order[lists + place] : c.window_right >= 0 ? p.rows - 1 - place : place;
    tile.list = lists + tile.row;
    tile.partial = c.partial_counts != nullptr ? c.partial_counts[tile.list] : 0;
    tile.blocks = tile.partial + (c.full_counts != nullptr ? c.full_counts[tile.list] : 0);
    tile.backward = Config::kZigzag && place % 2 == 1;
  }
  return tile;
}

// The tile's i-th block as a note: partial blocks come first, or last where the tile walks backward.
__device__ __forceinline__ int note_of(const Problem& p, const Tile& tile, int i) {
  if (i >= tile.blocks) {
    return 0;
  }
  const AssayAttention& c = p.call;
  const int at = tile.backward ? tile.blocks - 1 - i : i;
  const bool partial = at < tile.partial;
  const int column = partial ? c.partial_columns[static_cast<int64_t>(tile.list) * c.partial_pitch + at]
                             : c.full_columns[static_cast<int64_t>(tile.list) * c.full_pitch + at - tile.partial];
  return make_note(column, partial || (column + 1) * Config::kBlock > c.keys);
}

// A block's V waits until the next block's K has been asked for.
struct Waiting {
  int row = -1;
  int head = 0;
  int batch = 0;
};

// One warp. The ticket after the next and the next tile's first indices are asked for a tile ahead.
__device__ __forceinline__ void produce(const Problem& p, const Shared& shared, const CUtensorMap* map_q,
                                        const CUtensorMap* map_k, const CUtensorMap* map_v) {
  const int lane = threadIdx.x % 32;
  Ring pipe;
  pipe.parity = 1;  // the first visit to each slot need not wait
  QRing q_pipe;
  q_pipe.parity = 1;
  ptx::PipelineState<Config::kQueue> place;
  place.parity = 1;
  Waiting value;

  int round = 0;
  const auto ticket = [&] {  // of the tile after the last that was asked for; lane 0 knows it
    const int grid = static_cast<int>(gridDim.x);
    ++round;
    if constexpr (Config::kDynamic) {
      return lane == 0 ? grid + atomicAdd(p.counter, 1) : 0;
    } else {
      return round * grid + static_cast<int>(round % 2 == 0 ? blockIdx.x : grid - 1 - blockIdx.x);
    }
  };
  const auto publish = [&](const Tile& tile, int blocks) {
    ptx::mbarrier_wait(shared.queue_empty(place.stage), place.parity);
    if (lane == 0) {
      shared.queue()[place.stage] = make_int4(tile.row, tile.head, tile.batch, blocks);
      ptx::mbarrier_arrive(shared.queue_full(place.stage));
    }
    place.advance();
  };
  const auto load_q = [&](const Tile& tile) {
#pragma unroll
    for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
      ptx::mbarrier_wait(shared.q_empty(consumer, q_pipe.stage), q_pipe.parity);
      if (lane == 0) {
        const uint32_t full = shared.q_full(consumer, q_pipe.stage);
        ptx::mbarrier_arrive_expect_tx(full, Config::kQBytes);
        ptx::tma_load_5d(shared.q(consumer, q_pipe.stage), map_q, 0,
                         tile.row * Config::kBlock + consumer * Config::kConsumerRows, 0, tile.head, tile.batch, full,
                         ptx::kEvictFirst);
      }
    }
    q_pipe.advance();
  };
  const auto load_slot = [&](const CUtensorMap* map, int row, int head, int batch, int note) {
    ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
    if (lane == 0) {
      const uint32_t full = shared.full(pipe.stage);
      shared.notes()[pipe.stage] = note;
      ptx::mbarrier_arrive_expect_tx(full, Config::kSlotBytes);
      ptx::tma_load_5d(shared.slot(pipe.stage), map, 0, row, 0, head, batch, full, ptx::kEvictNormal);
    }
    pipe.advance();
  };
  const auto load_value = [&] {
    if (value.row >= 0) {
      load_slot(map_v, value.row, value.head, value.batch, 0);
    }
  };

  int index = static_cast<int>(blockIdx.x);
  int pending = ticket();
  Tile tile = tile_at(p, index);
  int notes = note_of(p, tile, lane);
  bool first = true;
  while (index < p.tiles) {
    const int next_index = __shfl_sync(kAll, pending, 0);
    pending = ticket();
    const Tile next = tile_at(p, next_index);
    const int next_notes = note_of(p, next, lane);

    publish(tile, tile.blocks);
    const int q_at = first ? 0 : min(tile.blocks, Config::kBlocksBeforeQ);
    const int kv_head = tile.head / p.group;
    for (int i = 0; i < tile.blocks; ++i) {
      if (i > 0 && i % 32 == 0) {
        notes = note_of(p, tile, i + lane);
      }
      if (i == q_at) {
        load_q(tile);
      }
      const int note = __shfl_sync(kAll, notes, i % 32);
      load_slot(map_k, first_key(note), kv_head, tile.batch, note);
      load_value();
      value.row = first_key(note);
      value.head = kv_head;
      value.batch = tile.batch;
    }
    if (tile.blocks > 0) {
      if (q_at == tile.blocks) {
        load_q(tile);
      }
      first = false;
    }
    index = next_index;
    tile = next;
    notes = next_notes;
  }
  load_value();
  publish(tile, -1);
}

// ---- consumers: products -------------------------------------------------------------------------------

// What a consumer knows of its 64 queries: where they lie in shared memory, or they themselves.
struct Queries {
  uint32_t shared;
  uint32_t words[Config::kQRegisters ? Config::kHeadDim / 4 : 1];

  // 16 x 16 for this warp, as the left operand of a product.
  __device__ __forceinline__ void fragment(uint32_t (&a)[4], int step) const {
    const int lane = threadIdx.x % 32;
    const int row = threadIdx.x / 32 % 4 * 16 + lane % 16;
    mma::ldmatrix_x4(a, shared + step / 4 * Config::kQPanelBytes + mma::swizzle_128b(row, step % 4 * 2 + lane / 16));
  }

  __device__ __forceinline__ void load() {
    if constexpr (Config::kQRegisters) {
#pragma unroll
      for (int step = 0; step < Config::kHeadDim / 16; ++step) {
        uint32_t a[4];
        fragment(a, step);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          words[4 * step + i] = a[i];
        }
      }
    }
  }

  // Before products that read them, and after the wait for these.
  __device__ __forceinline__ void hold() {
    if constexpr (Config::kQRegisters) {
#pragma unroll
      for (int i = 0; i < Config::kHeadDim / 4; ++i) {
        asm volatile("" : "+r"(words[i])::"memory");
      }
    }
  }
};

// scores (64 x 128) = Q (64 x HEAD_DIM) * K (128 x HEAD_DIM)^T
__device__ __forceinline__ void multiply_scores(float (&scores)[Config::kScores], const Queries& q, uint32_t k) {
  const uint64_t desc_q = mma::smem_descriptor_128b(q.shared, 0, 8 * Config::kRowBytes);
  const uint64_t desc_k = mma::smem_descriptor_128b(k, 0, 8 * Config::kRowBytes);
#pragma unroll
  for (int step = 0; step < Config::kHeadDim / 16; ++step) {
    const int panel = step / 4;
    const int within = step % 4 * 32;
    const uint64_t b = desc_k + ((panel * Config::kSlotPanelBytes + within) >> 4);
    if constexpr (Config::kQRegisters) {
      if (step == 0) {
        mma::wgmma_scores<false>(Element{}, scores, q.words, b);
      } else {
        mma::wgmma_scores<true>(Element{}, scores, q.words + 4 * step, b);
      }
    } else {
      const uint64_t a = desc_q + ((panel * Config::kQPanelBytes + within) >> 4);
      if (step == 0) {
        mma::wgmma_scores<false>(Element{}, scores, a, b);
      } else {
        mma::wgmma_scores<true>(Element{}, scores, a, b);
      }
    }
  }
}

// accum (64 x HEAD_DIM) += P (64 x 128) * V (128 x HEAD_DIM)
__device__ __forceinline__ void multiply_values(float (&accum)[Config::kAccum],
                                                const uint32_t (&p)[Config::kProbabilities], uint32_t v) {
  const uint64_t desc = mma::smem_descriptor_128b(v, Config::kSlotPanelBytes, 8 * Config::kRowBytes);
#pragma unroll
  for (int step = 0; step < Config::kBlock / 16; ++step) {
    mma::wgmma_values(Element{}, accum, p[4 * step], p[4 * step + 1], p[4 * step + 2], p[4 * step + 3],
                      desc + (step * 16 * Config::kRowBytes >> 4));
  }
}

// The products in flight read these registers: nothing may take their place before this line.
__device__ __forceinline__ void hold(uint32_t (&p)[Config::kProbabilities]) {
#pragma unroll
  for (int i = 0; i < Config::kProbabilities; ++i) {
    asm volatile("" : "+r"(p[i])::"memory");
  }
}

// One warp: has read what lies behind the barrier.
__device__ __forceinline__ void release(uint32_t barrier) {
  __syncwarp();
  ptx::mbarrier_arrive_if(threadIdx.x % 32 == 0, barrier);
}

// ---- consumers: softmax ---------------------------------------------------------------------------------

// Of a thread's two rows, lane / 4 and 8 further down: the maximum that exponents refer to, and the thread's own part
// of the sum.
struct Softmax {
  float reference[2] = {-INFINITY, -INFINITY};
  float minus[2] = {INFINITY, INFINITY};  // -reference * scale_log2
  float sum[2] = {0.0f, 0.0f};
};

// Scores outside the window, or beyond the last key, become -infinity.
__device__ __forceinline__ void apply_mask(float (&scores)[Config::kScores], const AssayAttention& c, int key,
                                           int query) {
  const int lane = threadIdx.x % 32;
  const int here = key + lane % 4 * 2;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int middle = query + lane / 4 + 8 * r + c.keys - c.queries;
    const int low = c.window_left < 0 ? 0 : middle - c.window_left;
    const int high = c.window_right < 0 ? c.keys - 1 : min(c.keys - 1, middle + c.window_right);
    const int from = low - here;
    const int to = high - here;
#pragma unroll
    for (int j = 0; j < Config::kScores / 4; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[4 * j + 2 * r + e];
        score = 8 * j + e >= from && 8 * j + e <= to ? score : -INFINITY;
      }
    }
  }
}

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAll, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAll, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(kAll, x, 1);
  return x + __shfl_xor_sync(kAll, x, 2);
}

// Each row's scores become probabilities: 2^(score * scale_log2 + minus). `sums`: those of the thread.
__device__ __forceinline__ void take_exponentials(float (&scores)[Config::kScores], const float (&minus)[2],
                                                  float (&sums)[2], float scale_log2) {
  float parts[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};
#pragma unroll
  for (int j = 0; j < Config::kScores / 4; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& score = scores[4 * j + i];
      score = ptx::exp2_approx(fmaf(score, scale_log2, minus[i / 2]));
      parts[i / 2][i % 2] += score;
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    sums[r] = parts[r][0] + parts[r][1];
  }
}

// Scores become probabilities, relative to the state's references. True where the warp's sums so far had to be scaled,
// by `factor`, to new ones: what was accumulated with them must be, too.
__device__ __forceinline__ bool exponentiate(float (&scores)[Config::kScores], Softmax& state, float (&factor)[2],
                                             float scale_log2) {
  float top[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float even = fmaxf(scores[2 * r], scores[2 * r + 1]);
    float odd = fmaxf(scores[4 + 2 * r], scores[4 + 2 * r + 1]);
#pragma unroll
    for (int j = 2; j < Config::kScores / 4; j += 2) {
      even = fmaxf(even, fmaxf(scores[4 * j + 2 * r], scores[4 * j + 2 * r + 1]));
      odd = fmaxf(odd, fmaxf(scores[4 * j + 4 + 2 * r], scores[4 * j + 4 + 2 * r + 1]));
    }
    top[r] = quad_max(fmaxf(even, odd));
  }
  // Both -infinity: no number, and not greater.
  const bool outgrown = (top[0] - state.reference[0]) * scale_log2 > Config::kSlack ||
                        (top[1] - state.reference[1]) * scale_log2 > Config::kSlack;
  const bool scaled = __any_sync(kAll, outgrown);
  if (scaled) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float reference = fmaxf(state.reference[r], top[r]);
      const float by = reference == -INFINITY ? 0.0f : reference;
      factor[r] = ptx::exp2_approx((state.reference[r] - by) * scale_log2);
      state.reference[r] = reference;
      state.minus[r] = -reference * scale_log2;
      state.sum[r] *= factor[r];
    }
  }
  // A row without any score: its reference is no number to refer to.
  float minus[2];
  float sums[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    minus[r] = state.reference[r] == -INFINITY ? 0.0f : state.minus[r];
  }
  take_exponentials(scores, minus, sums, scale_log2);
  state.sum[0] += sums[0];
  state.sum[1] += sums[1];
  return scaled;
}

// One warp: its 16 rows of the scores, as multiply_scores leaves them.
__device__ __forceinline__ void multiply_scores_by_warp(float (&scores)[Config::kScores], const Queries& q,
                                                        uint32_t k) {
  const int lane = threadIdx.x % 32;
  const int key = lane % 8 + lane / 16 * 8;
#pragma unroll
  for (int i = 0; i < Config::kScores; ++i) {
    scores[i] = 0.0f;
  }
  const auto multiply = [&](const uint32_t(&a)[4], int step) {
#pragma unroll
    for (int j = 0; j < Config::kScores / 4; j += 2) {
      uint32_t b[4];
      mma::ldmatrix_x4(b, k + step / 4 * Config::kSlotPanelBytes +
                              mma::swizzle_128b(key + 8 * j, step % 4 * 2 + lane / 8 % 2));
      mma::mma_sync(Element{}, scores + 4 * j, a, b[0], b[1]);
      mma::mma_sync(Element{}, scores + 4 * j + 4, a, b[2], b[3]);
    }
  };
  if constexpr (Config::kQRegisters) {
#pragma unroll
    for (int step = 0; step < Config::kHeadDim / 16; ++step) {
      const uint32_t a[4] = {q.words[4 * step], q.words[4 * step + 1], q.words[4 * step + 2], q.words[4 * step + 3]};
      multiply(a, step);
    }
  } else {
#pragma unroll 1
    for (int step = 0; step < Config::kHeadDim / 16; ++step) {
      uint32_t a[4];
      q.fragment(a, step);
      multiply(a, step);
    }
  }
}

// ptxas moves the wait for products up over whatever does not depend on them, and the exponentials would run after the
// products instead of beside them. It moves nothing over a branch, and this one, which is never taken, depends on all.
__device__ __forceinline__ void stay_before(const float (&sums)[2]) {
  if (sums[0] + sums[1] < 0.0f) {
    __trap();
  }
}

__device__ __forceinline__ void scale_accum(float (&accum)[Config::kAccum], const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < Config::kAccum; ++i) {
    accum[i] *= factor[i / 2 % 2];
  }
}

// A product's accumulators are the next one's left operand, word for word: pairs of neighbouring columns.
__device__ __forceinline__ void round_probabilities(uint32_t (&p)[Config::kProbabilities],
                                                    const float (&scores)[Config::kScores]) {
#pragma unroll
  for (int i = 0; i < Config::kProbabilities; ++i) {
    p[i] = mma::pack_pair(Element{}, scores[2 * i], scores[2 * i + 1]);
  }
}

// ---- consumers: the way out -------------------------------------------------------------------------------

// The thread's 16-byte part of 32 columns from `column` on, of its row `r`.
__device__ __forceinline__ void store_words(const AssayAttention& c, const Published& tile, int query, int column,
                                            const uint32_t (&words)[4]) {
  if (query < c.queries) {
    auto* o = static_cast<uint16_t*>(c.o) + tile.batch * c.o_batch + tile.head * c.o_head + query * c.o_row;
    *reinterpret_cast<uint4*>(o + column + threadIdx.x % 4 * 8) = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

__device__ __forceinline__ void store_lse(const AssayAttention& c, const Published& tile, int query, float lse) {
  if (c.lse != nullptr && threadIdx.x % 4 == 0 && query < c.queries) {
    c.lse[(static_cast<int64_t>(tile.batch) * c.heads + tile.head) * c.queries + query] = lse;
  }
}

// First of the thread's two queries.
__device__ __forceinline__ int query_of(const Published& tile, int consumer) {
  return tile.row * Config::kBlock + consumer * Config::kConsumerRows + threadIdx.x / 32 % 4 * 16 +
         threadIdx.x % 32 / 4;
}

__device__ __forceinline__ void store_tile(float (&accum)[Config::kAccum], const Softmax& state,
                                           const AssayAttention& c, const Published& tile, int consumer) {
  const int query = query_of(tile, consumer);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float sum = quad_sum(state.sum[r]);
    const bool any = state.reference[r] > -INFINITY;
    const float share = any ? __fdividef(1.0f, sum) : 0.0f;
    store_lse(c, tile, query + 8 * r, any ? state.reference[r] * c.scale + __logf(sum) : -INFINITY);
#pragma unroll
    for (int column = 0; column < Config::kHeadDim; column += 32) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = (column / 8 + i) * 4 + 2 * r;
        words[i] = mma::pack_pair(Element{}, accum[at] * share, accum[at + 1] * share);
      }
      mma::transpose_quad(words);
      store_words(c, tile, query + 8 * r, column, words);
    }
  }
}

__device__ __forceinline__ void store_empty(const AssayAttention& c, const Published& tile, int consumer) {
  const int query = query_of(tile, consumer);
  const uint32_t zeros[4] = {0, 0, 0, 0};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    store_lse(c, tile, query + 8 * r, -INFINITY);
#pragma unroll
    for (int column = 0; column < Config::kHeadDim; column += 32) {
      store_words(c, tile, query + 8 * r, column, zeros);
    }
  }
}

// ---- consumers ---------------------------------------------------------------------------------------------

// One warp: takes what lies at a place of the queue and gives the place back. Lane 0 reads, and lane 0 tells.
__device__ __forceinline__ Published take(const Shared& shared, int number) {
  const int place = number % Config::kQueue;
  int4 entry = make_int4(0, 0, 0, 0);
  ptx::mbarrier_wait(shared.queue_full(place), number / Config::kQueue & 1);
  if (threadIdx.x % 32 == 0) {
    entry = shared.queue()[place];
    ptx::mbarrier_arrive(shared.queue_empty(place));
  }
  return {__shfl_sync(kAll, entry.x, 0), __shfl_sync(kAll, entry.y, 0), __shfl_sync(kAll, entry.z, 0),
          __shfl_sync(kAll, entry.w, 0)};
}

// The next tile that has blocks, or the end; the empty ones before it are written.
__device__ __forceinline__ Published next_tile(const Problem& p, const Shared& shared, int consumer, int& number) {
  Published tile = take(shared, number++);
  while (tile.blocks == 0) {
    store_empty(p.call, tile, consumer);
    tile = take(shared, number++);
  }
  return tile;
}

// Where a block's K, and V of the block before, lie in the ring. Whether they have landed is asked long before they are
// needed: the answer takes some 50 cycles.
struct Place {
  int slot_k;
  int slot_v;
  uint32_t parity_k;
  uint32_t parity_v;
  bool here_k;
  bool here_v;

  __device__ __forceinline__ void look(const Shared& shared, Ring& pipe) {
    slot_k = pipe.stage;
    parity_k = pipe.parity;
    pipe.advance();
    slot_v = pipe.stage;
    parity_v = pipe.parity;
    pipe.advance();
    here_k = ptx::mbarrier_test(shared.full(slot_k), parity_k);
    here_v = ptx::mbarrier_test(shared.full(slot_v), parity_v);
  }
  __device__ __forceinline__ void wait_k(const Shared& shared) const {
    ptx::mbarrier_wait_unless(here_k, shared.full(slot_k), parity_k);
  }
  __device__ __forceinline__ void wait_v(const Shared& shared) const {
    ptx::mbarrier_wait_unless(here_v, shared.full(slot_v), parity_v);
  }
};

// Consumers take turns at the tensor cores; `turn` is whose.
__device__ __forceinline__ void wait_turn(int consumer) {
  if constexpr (Config::kPingPong) {
    ptx::named_barrier_sync<256>(1 + consumer);
  }
}
__device__ __forceinline__ void pass_turn(int consumer) {
  if constexpr (Config::kPingPong) {
    ptx::named_barrier_arrive<256>(1 + (consumer ^ 1));
  }
}

// One warpgroup.
__device__ __forceinline__ void consume(const Problem& p, const Shared& shared, int consumer) {
  Ring pipe;
  QRing q_pipe;
  int number = 0;
  if (consumer == 1) {
    pass_turn(consumer);
  }
  Published tile = next_tile(p, shared, consumer, number);
  if (tile.blocks < 0) {
    return;
  }

  float scores[Config::kScores];
  float accum[Config::kAccum];
  uint32_t probabilities[Config::kProbabilities];
  float factor[2];
  Softmax state;
#pragma unroll
  for (int i = 0; i < Config::kAccum; ++i) {
    accum[i] = 0.0f;
  }

  int left = tile.blocks - 1;  // of the tile's blocks, those whose scores have not been asked for
  Queries queries;
  const auto leave_q = [&] {
    release(shared.q_empty(consumer, q_pipe.stage));
    q_pipe.advance();
  };
  const auto enter_q = [&] {
    ptx::mbarrier_wait(shared.q_full(consumer, q_pipe.stage), q_pipe.parity);
    queries.shared = shared.q(consumer, q_pipe.stage);
    queries.load();
  };
  enter_q();
  ptx::mbarrier_wait(shared.full(pipe.stage), pipe.parity);
  int note = shared.notes()[pipe.stage];
  queries.hold();
  mma::warpgroup_fence();
  multiply_scores(scores, queries, shared.slot(pipe.stage));
  mma::warpgroup_commit();
  mma::warpgroup_wait<0>();
  mma::fence_operands(scores);
  release(shared.empty(pipe.stage));
  pipe.advance();
  if (Config::kQRegisters || left == 0) {
    leave_q();
  }
  if (is_masked(note)) {
    apply_mask(scores, p.call, first_key(note),
               tile.row * Config::kBlock + consumer * Config::kConsumerRows + threadIdx.x / 32 % 4 * 16);
  }
  exponentiate(scores, state, factor, p.scale_log2);
  round_probabilities(probabilities, scores);

  // In each turn: probabilities are those of a block of `tile`, its values not yet multiplied; accum has all before it.
  Place place;
  place.look(shared, pipe);
#pragma unroll 1
  while (true) {
    const bool last = left == 0;
    Published next = tile;
    if (__builtin_expect(last, 0)) {
      next = next_tile(p, shared, consumer, number);
      if (next.blocks < 0) {
        break;
      }
      left = next.blocks;
      enter_q();
    }
    --left;
    place.wait_k(shared);
    wait_turn(consumer);
    mma::fence_operands(accum);
    hold(probabilities);
    queries.hold();
    mma::warpgroup_fence();
    multiply_scores(scores, queries, shared.slot(place.slot_k));
    mma::warpgroup_commit();
    place.wait_v(shared);
    mma::warpgroup_fence();
    multiply_values(accum, probabilities, shared.slot(place.slot_v));
    mma::warpgroup_commit();
    pass_turn(consumer);

    note = shared.notes()[place.slot_k];
    const Place here = place;
    place.look(shared, pipe);
    mma::warpgroup_wait<1>();
    mma::fence_operands(scores);
    queries.hold();
    if (__builtin_expect(Config::kCheckedSums && !last && left > 0 && !is_masked(note), 1)) {
      float sums[2];
      take_exponentials(scores, state.minus, sums, p.scale_log2);
      stay_before(sums);
      mma::warpgroup_wait<0>();
      mma::fence_operands(accum);
      hold(probabilities);
      release(shared.empty(here.slot_v));
      round_probabilities(probabilities, scores);
      // Also where a sum is no number.
      if (__builtin_expect(!__all_sync(kAll, sums[0] <= Config::kMostSum && sums[1] <= Config::kMostSum), 0)) {
        multiply_scores_by_warp(scores, queries, shared.slot(here.slot_k));
        if (exponentiate(scores, state, factor, p.scale_log2)) {
          scale_accum(accum, factor);
        }
        round_probabilities(probabilities, scores);
      } else {
        state.sum[0] += sums[0];
        state.sum[1] += sums[1];
      }
      release(shared.empty(here.slot_k));
    } else {
      release(shared.empty(here.slot_k));
      // What is in registers has arrived there for certain once products have used it. An arrival just behind ldmatrix
      // may come before its answer, and the next tile's Q with it.
      if (Config::kQRegisters ? last : left == 0) {
        leave_q();
      }
      if (is_masked(note)) {
        apply_mask(scores, p.call, first_key(note),
                   next.row * Config::kBlock + consumer * Config::kConsumerRows + threadIdx.x / 32 % 4 * 16);
      }
      const Softmax before = state;
      if (last) {
        state = Softmax();
      }
      const bool scaled = exponentiate(scores, state, factor, p.scale_log2);
      stay_before(state.sum);
      mma::warpgroup_wait<0>();
      mma::fence_operands(accum);
      hold(probabilities);
      release(shared.empty(here.slot_v));
      if (last) {
        store_tile(accum, before, p.call, tile, consumer);
#pragma unroll
        for (int i = 0; i < Config::kAccum; ++i) {
          accum[i] = 0.0f;
        }
        tile = next;
      } else if (scaled) {
        scale_accum(accum, factor);
      }
      round_probabilities(probabilities, scores);
    }
  }

  // The values of the last tile's last block: place.slot_k is what comes next in the ring.
  place.wait_k(shared);
  mma::fence_operands(accum);
  hold(probabilities);
  mma::warpgroup_fence();
  multiply_values(accum, probabilities, shared.slot(place.slot_k));
  mma::warpgroup_commit();
  mma::warpgroup_wait<0>();
  mma::fence_operands(accum);
  hold(probabilities);
  store_tile(accum, state, p.call, tile, consumer);
}

__global__ void __launch_bounds__(Config::kThreads, 1)
    sm90_block_sparse_attention_kernel(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap map_q,
                                       const __grid_constant__ CUtensorMap map_k,
                                       const __grid_constant__ CUtensorMap map_v) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared{memory, ptx::shared_address(memory)};
  const int warpgroup = __shfl_sync(kAll, threadIdx.x / 128, 0);  // uniform, as the compiler then knows
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_q);
    ptx::prefetch_tensormap(&map_k);
    ptx::prefetch_tensormap(&map_v);
    for (int slot = 0; slot < Config::kSlots; ++slot) {
      ptx::mbarrier_init(shared.full(slot), 1);
      ptx::mbarrier_init(shared.empty(slot), Config::kReleases);
    }
    for (int stage = 0; stage < Config::kQStages; ++stage) {
      for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
        ptx::mbarrier_init(shared.q_full(consumer, stage), 1);
        ptx::mbarrier_init(shared.q_empty(consumer, stage), 4);
      }
    }
    for (int place = 0; place < Config::kQueue; ++place) {
      ptx::mbarrier_init(shared.queue_full(place), 1);
      ptx::mbarrier_init(shared.queue_empty(place), Config::kReleases);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::kProducerRegisters>();
    if (threadIdx.x < 32) {
      produce(p, shared, &map_q, &map_k, &map_v);
    }
  } else {
    ptx::setmaxnreg_inc<Config::kConsumerRegisters>();
    consume(p, shared, warpgroup - 1);
  }
}

// ---- order of rows ---------------------------------------------------------------------------------------

constexpr int kMostOrderedRows = 8192;  // a million keys; beyond, rows keep their order

// One CTA a list: `order` becomes its rows by falling number of blocks, equal ones in their own order.
__global__ void __launch_bounds__(1024) order_rows_kernel(const int* full_counts, const int* partial_counts, int rows,
                                                          int* order) {
  __shared__ int lengths[kMostOrderedRows];
  const int64_t list = static_cast<int64_t>(blockIdx.x) * rows;
  if (rows > kMostOrderedRows) {
    for (int row = threadIdx.x; row < rows; row += blockDim.x) {
      order[list + row] = row;
    }
    return;
  }
  bool differ = false;
  for (int row = threadIdx.x; row < rows; row += blockDim.x) {
    const auto length = [&](int at) {
      return (full_counts != nullptr ? full_counts[list + at] : 0) +
             (partial_counts != nullptr ? partial_counts[list + at] : 0);
    };
    lengths[row] = length(row);
    differ = differ || lengths[row] != length(0);
    order[list + row] = row;
  }
  if (__syncthreads_or(differ)) {
    for (int row = threadIdx.x; row < rows; row += blockDim.x) {
      const int length = lengths[row];
      int place = 0;
      for (int other = 0; other < rows; ++other) {
        place += lengths[other] > length || (lengths[other] == length && other < row);
      }
      order[list + place] = row;
    }
  }
}

// ---- host ----------------------------------------------------------------------------------------------

bool strides_fit(int64_t batch, int64_t head, int64_t row) { return batch % 8 == 0 && head % 8 == 0 && row % 8 == 0; }

// [batch][head][row][HEAD_DIM] as panels of 64 columns: a box is [HEAD_DIM / 64][box_rows][64], its coordinates are
// {0, row, 0, head, batch}.
cudaError_t make_map(CUtensorMap* map, const void* pointer, int batches, int heads, int rows, int64_t batch,
                     int64_t head, int64_t row, uint32_t box_rows) {
  const auto bytes = [](int64_t elements) { return static_cast<cuuint64_t>(elements) * 2; };
  const auto count = [](int size) { return static_cast<cuuint64_t>(size); };
  constexpr uint32_t kPanels = Config::kPanels;
  return launch::make_tensor_map<5>(map, pointer, {64, count(rows), kPanels, count(heads), count(batches)},
                                    {bytes(row), 128, bytes(head), bytes(batch)}, {64, box_rows, kPanels, 1, 1});
}

}  // namespace

// Writes which row comes first: `order` [lists][rows] for counts [lists][rows], of which one may be null. Needed once
// for a mask, not for each call.
extern "C" int assay_block_sparse_attention_order(const int* full_counts, const int* partial_counts, int lists,
                                                  int rows, int* order, void* stream) {
  if (lists <= 0 || rows <= 0 || order == nullptr) {
    return cudaErrorInvalidValue;
  }
  order_rows_kernel<<<lists, 1024, 0, static_cast<cudaStream_t>(stream)>>>(full_counts, partial_counts, rows, order);
  return cudaGetLastError();
}

// `workspace`: 4 bytes, for the counter of tiles.
extern "C" int assay_block_sparse_attention(const AssayAttention* call, void* workspace, size_t workspace_bytes,
                                            void* stream) {
  const AssayAttention& c = *call;
  if (c.batches <= 0 || c.heads <= 0 || c.kv_heads <= 0 || c.queries <= 0 || c.keys <= 0 || c.heads % c.kv_heads != 0 ||
      !(c.scale > 0.0f)) {
    return cudaErrorInvalidValue;
  }
  if ((c.mask_batches != 1 && c.mask_batches != c.batches) || (c.mask_heads != 1 && c.mask_heads != c.heads)) {
    return cudaErrorInvalidValue;
  }
  if (!launch::is_aligned_16(c.q) || !launch::is_aligned_16(c.k) || !launch::is_aligned_16(c.v) ||
      !launch::is_aligned_16(c.o) || !strides_fit(c.q_batch, c.q_head, c.q_row) ||
      !strides_fit(c.k_batch, c.k_head, c.k_row) || !strides_fit(c.v_batch, c.v_head, c.v_row) ||
      !strides_fit(c.o_batch, c.o_head, c.o_row)) {
    return cudaErrorInvalidValue;
  }
  if (Config::kDynamic && (workspace == nullptr || workspace_bytes < sizeof(int))) {
    return cudaErrorInvalidValue;
  }
  const int rows = (c.queries + Config::kBlock - 1) / Config::kBlock;
  const int64_t tiles = static_cast<int64_t>(c.batches) * c.heads * rows;
  if (tiles > INT32_MAX / 2 || c.keys > INT32_MAX / 4 || c.queries > INT32_MAX / 4) {
    return cudaErrorInvalidValue;  // tile numbers, notes and coordinates are ints
  }
  CUtensorMap map_q;
  CUtensorMap map_k;
  CUtensorMap map_v;
  cudaError_t error = make_map(&map_q, c.q, c.batches, c.heads, c.queries, c.q_batch, c.q_head, c.q_row,
                               Config::kConsumerRows);
  if (error == cudaSuccess) {
    error = make_map(&map_k, c.k, c.batches, c.kv_heads, c.keys, c.k_batch, c.k_head, c.k_row, Config::kBlock);
  }
  if (error == cudaSuccess) {
    error = make_map(&map_v, c.v, c.batches, c.kv_heads, c.keys, c.v_batch, c.v_head, c.v_row, Config::kBlock);
  }
  launch::DeviceLimits limits;
  if (error == cudaSuccess) {
    error = launch::prepare(sm90_block_sparse_attention_kernel, Config::kSharedBytes, &limits);
  }
  if (error == cudaSuccess && Config::kDynamic) {
    error = cudaMemsetAsync(workspace, 0, sizeof(int), static_cast<cudaStream_t>(stream));
  }
  if (error != cudaSuccess) {
    return error;
  }
  const Problem problem{c,
                        static_cast<int*>(workspace),
                        rows,
                        static_cast<int>(tiles),
                        c.heads / c.kv_heads,
                        c.scale * 1.4426950408889634f};
  const int grid = problem.tiles < limits.sms ? problem.tiles : limits.sms;
  sm90_block_sparse_attention_kernel<<<grid, Config::kThreads, Config::kSharedBytes,
                                       static_cast<cudaStream_t>(stream)>>>(problem, map_q, map_k, map_v);
  return cudaGetLastError();
}
