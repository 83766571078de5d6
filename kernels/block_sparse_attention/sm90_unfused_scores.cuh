// First launch: S = Q K^T for every stored block, a grouped product of 128 x 128 x HEAD_DIM each.
//
//   warpgroup 0     one warp copies: Q once for CHUNK blocks of a row (two places), K for each block (a ring)
//   warpgroup 1, 2  ping-pong: blocks go to one and the other in turn; each multiplies a whole 128 x 128 tile and
//                   stores it while the other multiplies. A stage of the ring always serves the same one, so turns need
//                   no barrier of their own.
//
// Persistent: a CTA takes chunks dealt in turn, heads outermost, then chunks of the list, then rows: a head's K stays
// in L2, and rows of equal length fill all CTAs alike. Chunks beyond a row's count cost a look at the count, 32 at a
// time.
// A block brings 64 KB of fp32 scores: writing them is the floor. They leave from registers, 16 bytes a thread, 64
// neighbouring bytes of a row a quad, whole sectors; nobody waits for them. `factor` makes fp16 scores exponents of 2.

#pragma once

#include "sm90_unfused_common.cuh"

namespace unfused {

struct ScoresConfig {
  static constexpr int kStages = kHeadDim == 128 ? 4 : 8;  // of K
  static constexpr int kPlaces = 2;                        // of Q
  static constexpr int kOffsetK = kPlaces * kTileBytes;
  static constexpr int kOffsetBarriers = kOffsetK + kStages * kTileBytes;
  static constexpr int kSharedBytes = kOffsetBarriers + 8 * 2 * (kStages + kPlaces);
  static_assert(kStages % kConsumers == 0, "a stage serves one consumer");
  static_assert(kSharedBytes <= 227 * 1024, "a CTA has 227 KiB at most");
};

struct ScoresShared {
  uint32_t base;

  __device__ __forceinline__ uint32_t q(int place) const { return base + place * kTileBytes; }
  __device__ __forceinline__ uint32_t k(int stage) const { return base + ScoresConfig::kOffsetK + stage * kTileBytes; }
  __device__ __forceinline__ uint32_t q_full(int place) const {
    return base + ScoresConfig::kOffsetBarriers + 8 * place;
  }
  __device__ __forceinline__ uint32_t q_empty(int place) const { return q_full(ScoresConfig::kPlaces + place); }
  __device__ __forceinline__ uint32_t k_full(int stage) const { return q_full(2 * ScoresConfig::kPlaces + stage); }
  __device__ __forceinline__ uint32_t k_empty(int stage) const { return k_full(ScoresConfig::kStages + stage); }
};

// Up to CHUNK blocks of one row.
struct Chunk {
  Place place;
  int first = 0;  // slot in the row's list
  int blocks = 0;
};

// The chunks of this CTA that have blocks, in order; by whole warps, each lane looking at one chunk in 32.
class ChunkWalk {
 public:
  __device__ __forceinline__ explicit ChunkWalk(const Problem& p)
      : problem_(p), chunks_((p.pitch + CHUNK - 1) / CHUNK), next_(blockIdx.x) {
    total_ = p.call.batches * p.call.heads * chunks_ * p.rows;
  }

  __device__ __forceinline__ bool next(Chunk* chunk) {
    while (live_ == 0) {
      if (next_ >= total_) {
        return false;
      }
      look();
    }
    const int bit = __ffs(live_) - 1;
    live_ &= live_ - 1;
    *chunk = chunk_at(base_ + bit * static_cast<int>(gridDim.x));
    chunk->blocks = __shfl_sync(0xffffffffu, blocks_, bit);
    return true;
  }

 private:
  __device__ __forceinline__ Chunk chunk_at(int index) const {
    const int row = index % problem_.rows;
    const int rest = index / problem_.rows;
    return Chunk{place_at(problem_, rest / chunks_, row), rest % chunks_ * CHUNK, 0};
  }

  __device__ __forceinline__ void look() {
    const int index = next_ + threadIdx.x % 32 * gridDim.x;
    blocks_ = 0;
    if (index < total_) {
      const Chunk chunk = chunk_at(index);
      const Place& place = chunk.place;
      const int count = attention::block_list(problem_.call, place.batch, place.head, place.row).count;
      blocks_ = min(CHUNK, max(0, count - chunk.first));
    }
    live_ = __ballot_sync(0xffffffffu, blocks_ > 0);
    base_ = next_;
    next_ += 32 * gridDim.x;
  }

  const Problem& problem_;
  int chunks_;
  int next_;
  int total_;
  int base_ = 0;
  int blocks_ = 0;  // of this lane's chunk
  uint32_t live_ = 0;
};

// Each lane: the column of the chunk's block of its number.
__device__ __forceinline__ int chunk_columns(const Problem& p, const Chunk& chunk) {
  const int lane = threadIdx.x % 32;
  const attention::BlockList list = attention::block_list(p.call, chunk.place.batch, chunk.place.head, chunk.place.row);
  return lane < chunk.blocks ? list.column(chunk.first + lane) : 0;
}

// One warp. The next chunk's columns are asked for while this one is copied.
__device__ __forceinline__ void produce_scores(const Problem& p, const ScoresShared& shared, const CUtensorMap* map_q,
                                               const CUtensorMap* map_k) {
  const bool leader = threadIdx.x % 32 == 0;
  ptx::PipelineState<ScoresConfig::kStages> pipe;
  ptx::PipelineState<ScoresConfig::kPlaces> place;
  pipe.parity = 1;  // the first visit need not wait
  place.parity = 1;
  ChunkWalk walk(p);
  Chunk chunk;
  bool live = walk.next(&chunk);
  int columns = live ? chunk_columns(p, chunk) : 0;
  while (live) {
    Chunk following;
    const bool goes_on = walk.next(&following);
    const int following_columns = goes_on ? chunk_columns(p, following) : 0;
    const Place& at = chunk.place;
    ptx::mbarrier_wait(shared.q_empty(place.stage), place.parity);
    if (leader) {
      const uint32_t full = shared.q_full(place.stage);
      ptx::mbarrier_arrive_expect_tx(full, kTileBytes);
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        ptx::tma_load_4d(shared.q(place.stage) + panel * kPanelBytes, map_q, panel * kPanel, at.row * kBlock, at.head,
                         at.batch, full);
      }
    }
    place.advance();
    for (int i = 0; i < chunk.blocks; ++i) {
      const int column = __shfl_sync(0xffffffffu, columns, i);
      ptx::mbarrier_wait(shared.k_empty(pipe.stage), pipe.parity);
      if (leader) {
        const uint32_t full = shared.k_full(pipe.stage);
        ptx::mbarrier_arrive_expect_tx(full, kTileBytes);
#pragma unroll
        for (int panel = 0; panel < kPanels; ++panel) {
          ptx::tma_load_4d(shared.k(pipe.stage) + panel * kPanelBytes, map_k, panel * kPanel, column * kBlock,
                           kv_head(p, at.head), at.batch, full);
        }
      }
      pipe.advance();
    }
    chunk = following;
    columns = following_columns;
    live = goes_on;
  }
}

// 64 x 128 scores of one warpgroup; `to` is the first score of this thread's row lane / 4 of its warp.
__device__ __forceinline__ void store_half(const float (&accum)[64], float* to, int64_t stride, float /*factor*/) {
  const int lane = threadIdx.x % 32;
  const bool odd = lane & 1;
  float* at = to + (odd ? 8 : 0) + (lane & 2) * 2;
#pragma unroll
  for (int j = 0; j < 16; j += 2) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // The even lane of two takes four columns of chunk j, the odd one those of chunk j + 1.
      const float x0 = accum[4 * j + 2 * r], x1 = accum[4 * j + 2 * r + 1];
      const float y0 = accum[4 * j + 4 + 2 * r], y1 = accum[4 * j + 4 + 2 * r + 1];
      const float got0 = __shfl_xor_sync(0xffffffffu, odd ? x0 : y0, 1);
      const float got1 = __shfl_xor_sync(0xffffffffu, odd ? x1 : y1, 1);
      *reinterpret_cast<float4*>(at + r * 8 * stride + j * 8) =
          odd ? make_float4(got0, got1, y0, y1) : make_float4(x0, x1, got0, got1);
    }
  }
}

__device__ __forceinline__ void store_half(const float (&accum)[64], __half* to, int64_t stride, float factor) {
  __half* at = to + threadIdx.x % 4 * 8;
#pragma unroll
  for (int j = 0; j < 16; j += 4) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int from = 4 * (j + i) + 2 * r;
        words[i] = mma::pack_pair(mma::Half{}, accum[from] * factor, accum[from + 1] * factor);
      }
      mma::transpose_quad(words);
      *reinterpret_cast<uint4*>(at + r * 8 * stride + j * 8) = make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

// One tile by one warpgroup.
__device__ __forceinline__ void multiply_scores(float (&upper)[64], float (&lower)[64], uint32_t q, uint32_t k) {
  mma::fence_operands(upper);
  mma::fence_operands(lower);
  mma::warpgroup_fence();
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
    const uint64_t desc_q = mma::smem_descriptor_128b(q + panel * kPanelBytes, 0, 8 * kRowBytes);
    const uint64_t desc_k = mma::smem_descriptor_128b(k + panel * kPanelBytes, 0, 8 * kRowBytes);
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const uint64_t upper_q = desc_q + 2 * step;
      const uint64_t lower_q = upper_q + (kHalfBytes >> 4);
      if (panel + step == 0) {
        mma::wgmma_scores<false>(Element{}, upper, upper_q, desc_k);
        mma::wgmma_scores<false>(Element{}, lower, lower_q, desc_k);
      } else {
        mma::wgmma_scores<true>(Element{}, upper, upper_q, desc_k + 2 * step);
        mma::wgmma_scores<true>(Element{}, lower, lower_q, desc_k + 2 * step);
      }
    }
  }
  mma::warpgroup_commit();
  mma::warpgroup_wait<0>();
  mma::fence_operands(upper);
  mma::fence_operands(lower);
}

__device__ __forceinline__ void consume_scores(const Problem& p, const ScoresShared& shared, int consumer) {
  const int warp = threadIdx.x / 32 % 4;
  const int lane = threadIdx.x % 32;
  const int64_t stride = static_cast<int64_t>(p.pitch) * kBlock;
  ptx::PipelineState<ScoresConfig::kStages> pipe;
  ptx::PipelineState<ScoresConfig::kPlaces> place;
  ChunkWalk walk(p);
  Chunk chunk;
  int turn = 0;
  while (walk.next(&chunk)) {
    ptx::mbarrier_wait(shared.q_full(place.stage), place.parity);
    for (int i = 0; i < chunk.blocks; ++i) {
      if (turn == consumer) {
        float upper[64];
        float lower[64];
        ptx::mbarrier_wait(shared.k_full(pipe.stage), pipe.parity);
        multiply_scores(upper, lower, shared.q(place.stage), shared.k(pipe.stage));
        release(shared.k_empty(pipe.stage));
        const int64_t row = static_cast<int64_t>(chunk.place.index) * kBlock + warp * 16 + lane / 4;
        Score* to = p.scores + row * stride + (chunk.first + i) * kBlock;
        store_half(upper, to, stride, p.call.scale * kLog2E);
        store_half(lower, to + 64 * stride, stride, p.call.scale * kLog2E);
      }
      turn ^= 1;
      pipe.advance();
    }
    release(shared.q_empty(place.stage));
    place.advance();
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    sm90_unfused_scores_kernel(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap map_q,
                               const __grid_constant__ CUtensorMap map_k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const ScoresShared shared{ptx::shared_address(memory)};
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_q);
    ptx::prefetch_tensormap(&map_k);
    for (int place = 0; place < ScoresConfig::kPlaces; ++place) {
      ptx::mbarrier_init(shared.q_full(place), 1);
      ptx::mbarrier_init(shared.q_empty(place), kConsumers * kReleases);
    }
    for (int stage = 0; stage < ScoresConfig::kStages; ++stage) {
      ptx::mbarrier_init(shared.k_full(stage), 1);
      ptx::mbarrier_init(shared.k_empty(stage), kReleases);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  ptx::grid_dependents_launch();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x < 32) {
      produce_scores(p, shared, &map_q, &map_k);
    }
  } else {
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    consume_scores(p, shared, warpgroup - 1);
  }
}

}  // namespace unfused
