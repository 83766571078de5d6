// Sizes, workspace and walk that the three launches of the unfused pipeline share.
//
// Workspace: scores [batches * heads * rows * 128][pitch * 128], fp32 or (SCORES 16) as fp16 exponents of 2, then
// probabilities of the same shape in the inputs' type, rows the number of block rows, pitch the most blocks a row may
// list. A query's segments, one of 128 for each block of its row, thus lie side by side; what lies beyond a row's count
// is never touched.

#pragma once

#include <cuda_fp16.h>

#include "attention_lists.cuh"
#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"
#include "sm90_attention_maps.cuh"
#include "sm90_attention_mma.cuh"
#include "sm90_unfused_ptx.cuh"

#if !defined(HEAD_DIM)
#error "define HEAD_DIM, 64 or 128 (kernel.yaml lists the variants)"
#endif
#ifndef DTYPE  // 0 fp16, 1 bf16
#define DTYPE 0
#endif
#ifndef SCORES  // bits of a score in the workspace: 32, or 16 (fp16, as exponents of 2)
#define SCORES 32
#endif
#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef CHUNK  // blocks of a row that share one copy of Q
#define CHUNK 1
#endif
#ifndef PHASE  // 0 all, 1 scores only, 2 softmax only, 3 values only
#define PHASE 0
#endif

namespace unfused {

static_assert(DTYPE == 0 || DTYPE == 1, "DTYPE is 0 or 1");
using Element = mma::ElementOf<DTYPE>::Type;
#if SCORES == 32
using Score = float;
#elif SCORES == 16
using Score = __half;
#else
#error "SCORES is 32 or 16"
#endif

constexpr int kBlock = attention::kBlock;
constexpr int kHeadDim = HEAD_DIM;
constexpr int kPanel = 64;  // columns in the 128 bytes that the swizzle spans
constexpr int kPanels = kHeadDim / kPanel;
constexpr int kRowBytes = 128;
constexpr int kPanelBytes = kBlock * kRowBytes;  // [128][64]
constexpr int kTileBytes = kPanels * kPanelBytes;  // of Q, K or V
constexpr int kHalfBytes = kPanelBytes / 2;        // 64 rows of a panel: what one product takes of its left operand

// Warpgroup 0 copies; 1 and 2 multiply, each a tile of its own.
constexpr int kConsumers = 2;
constexpr int kThreads = 128 * (1 + kConsumers);
constexpr int kProducerRegisters = 40;
constexpr int kConsumerRegisters = 232;
constexpr float kLog2E = 1.4426950408889634f;

constexpr int kReleases = 4;  // every warp of a consumer says that it has read a stage

static_assert(BLOCK == kBlock, "stored blocks are 128 x 128");
static_assert(kHeadDim == 64 || kHeadDim == 128, "products are written for 64 and 128 columns of V");
static_assert(CHUNK >= 1 && CHUNK <= 32, "lanes hold the columns of a chunk");
static_assert(PHASE >= 0 && PHASE <= 3, "0 all, 1 scores, 2 softmax, 3 values");

struct Problem {
  AssayAttention call;
  Score* scores;
  uint16_t* probabilities;
  int rows;   // block rows of queries
  int pitch;  // blocks that a row has room for
};

// A row of one head.
struct Place {
  int index;  // (batch * heads + head) * rows + row
  int batch;
  int head;
  int row;
};

__device__ __forceinline__ Place place_at(const Problem& p, int batch_head, int row) {
  return Place{batch_head * p.rows + row, batch_head / p.call.heads, batch_head % p.call.heads, row};
}

__device__ __forceinline__ int kv_head(const Problem& p, int head) { return head / (p.call.heads / p.call.kv_heads); }

__device__ __forceinline__ void release(uint32_t empty) {
  if (threadIdx.x % 32 == 0) {
    ptx::mbarrier_arrive(empty);
  }
}

}  // namespace unfused
