// Third launch: O = P V, a grouped product: for each block row 128 x HEAD_DIM, summed over the row's blocks.
//
// The same two consumers in ping-pong, each a whole block row of its own: rows go to one and the other in turn, and one
// stores O while the other multiplies. A stage may serve both, so a consumer waits with its first stage until the other
// has waited for its last one: an mbarrier's parity cannot tell a visit from the next but one. The producer runs ahead
// across rows. A stage holds one block: P [2][128][64] and V [HEAD_DIM / 64][128][64]. Every P is read once, from
// wherever it lies: that is the floor.

#pragma once

#include "sm90_unfused_common.cuh"

namespace unfused {

struct ValuesConfig {
  static constexpr int kStages = kHeadDim == 128 ? 3 : 4;
  static constexpr int kPanelsP = kBlock / kPanel;
  static constexpr int kBytesP = kPanelsP * kPanelBytes;
  static constexpr int kStageBytes = kBytesP + kTileBytes;
  static constexpr int kOffsetBarriers = kStages * kStageBytes;
  static constexpr int kSharedBytes = kOffsetBarriers + 8 * 2 * kStages;
  static constexpr int kAccum = kHeadDim / 2;  // a thread and 64 rows
  static_assert(kSharedBytes <= 227 * 1024, "a CTA has 227 KiB at most");
};

struct ValuesShared {
  uint32_t base;

  __device__ __forceinline__ uint32_t p(int stage) const { return base + stage * ValuesConfig::kStageBytes; }
  __device__ __forceinline__ uint32_t v(int stage) const { return p(stage) + ValuesConfig::kBytesP; }
  __device__ __forceinline__ uint32_t full(int stage) const { return base + ValuesConfig::kOffsetBarriers + 8 * stage; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return full(ValuesConfig::kStages + stage); }
};

constexpr int kTurnBarrier = 1;  // and 2: the consumer's turn

using ValuesPipe = ptx::PipelineState<ValuesConfig::kStages>;

// The round's row of this CTA: heads outermost, rows of a head in the caller's order if there is one.
__device__ __forceinline__ bool row_at(const Problem& p, int round, Place* place) {
  const int64_t index = blockIdx.x + static_cast<int64_t>(round) * gridDim.x;
  if (index >= static_cast<int64_t>(p.call.batches) * p.call.heads * p.rows) {
    return false;
  }
  *place = place_at(p, static_cast<int>(index / p.rows), static_cast<int>(index % p.rows));
  if (p.call.order != nullptr) {
    const int row = p.call.order[attention::mask_row(p.call, place->batch, place->head, place->row)];
    *place = place_at(p, static_cast<int>(index / p.rows), row);
  }
  return true;
}

// One warp; lanes hold the next 32 columns.
__device__ __forceinline__ void produce_values(const Problem& p, const ValuesShared& shared, const CUtensorMap* map_p,
                                               const CUtensorMap* map_v) {
  const int lane = threadIdx.x % 32;
  ValuesPipe pipe;
  pipe.parity = 1;  // the first visit need not wait
  Place place;
  for (int round = 0; row_at(p, round, &place); ++round) {
    const attention::BlockList list = attention::block_list(p.call, place.batch, place.head, place.row);
    int columns = 0;
    for (int slot = 0; slot < list.count; ++slot) {
      if (slot % 32 == 0) {
        columns = slot + lane < list.count ? list.column(slot + lane) : 0;
      }
      const int column = __shfl_sync(0xffffffffu, columns, slot % 32);
      ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
      if (lane == 0) {
        const uint32_t full = shared.full(pipe.stage);
        ptx::mbarrier_arrive_expect_tx(full, ValuesConfig::kStageBytes);
#pragma unroll
        for (int panel = 0; panel < ValuesConfig::kPanelsP; ++panel) {
          ptx::tma_load_2d(shared.p(pipe.stage) + panel * kPanelBytes, map_p, slot * kBlock + panel * kPanel,
                           place.index * kBlock, full, ptx::kEvictFirst);
        }
#pragma unroll
        for (int panel = 0; panel < kPanels; ++panel) {
          ptx::tma_load_4d(shared.v(pipe.stage) + panel * kPanelBytes, map_v, panel * kPanel, column * kBlock,
                           kv_head(p, place.head), place.batch, full);
        }
      }
      pipe.advance();
    }
  }
}

using Outputs = float[ValuesConfig::kAccum];

// One block's 128 x HEAD_DIM x 128, by one warpgroup.
__device__ __forceinline__ void multiply_values(Outputs& upper, Outputs& lower, uint32_t p, uint32_t v) {
  const uint64_t desc_v = mma::smem_descriptor_128b(v, kPanelBytes, 8 * kRowBytes);
#pragma unroll
  for (int step = 0; step < kBlock / 16; ++step) {
    const uint64_t desc_p = mma::smem_descriptor_128b(p + step / 4 * kPanelBytes, 0, 8 * kRowBytes) + step % 4 * 2;
    const uint64_t desc_here = desc_v + step * (16 * kRowBytes >> 4);
    mma::wgmma(Element{}, upper, desc_p, desc_here);
    mma::wgmma(Element{}, lower, desc_p + (kHalfBytes >> 4), desc_here);
  }
}

// 64 rows of O; each quad turns its words until a thread has 16 bytes of a row.
__device__ __forceinline__ void store_outputs(const Outputs& accum, const Problem& p, const Place& place, int row) {
  auto* o = static_cast<uint16_t*>(p.call.o) + place.batch * p.call.o_batch + place.head * p.call.o_head;
#pragma unroll
  for (int j = 0; j < kHeadDim / 8; j += 4) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int from = 4 * (j + i) + 2 * r;
        words[i] = mma::pack_pair(Element{}, accum[from], accum[from + 1]);
      }
      mma::transpose_quad(words);
      const int query = row + 8 * r;
      if (query < p.call.queries) {
        *reinterpret_cast<uint4*>(o + query * p.call.o_row + j * 8 + threadIdx.x % 4 * 8) =
            make_uint4(words[0], words[1], words[2], words[3]);
      }
    }
  }
}

__device__ __forceinline__ void consume_values(const Problem& p, const ValuesShared& shared, int consumer) {
  const int row_within = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
  ValuesPipe pipe;
  Place place;
  if (consumer == 1) {
    ptx::named_barrier_arrive<128 * kConsumers>(kTurnBarrier);  // the first turn is the other's
  }
  for (int round = 0; row_at(p, round, &place); ++round) {
    const int count = attention::block_list(p.call, place.batch, place.head, place.row).count;
    if (round % kConsumers != consumer) {
      for (int slot = 0; slot < count; ++slot) {
        pipe.advance();
      }
      continue;
    }
    Outputs upper;
    Outputs lower;
#pragma unroll
    for (int i = 0; i < ValuesConfig::kAccum; ++i) {
      upper[i] = 0.0f;
      lower[i] = 0.0f;
    }
    int last_stage = 0;
    ptx::named_barrier_sync<128 * kConsumers>(kTurnBarrier + consumer);
    mma::fence_operands(upper);
    mma::fence_operands(lower);
#pragma unroll 1
    for (int slot = 0; slot < count; ++slot) {
      ptx::mbarrier_wait(shared.full(pipe.stage), pipe.parity);
      mma::warpgroup_fence();
      multiply_values(upper, lower, shared.p(pipe.stage), shared.v(pipe.stage));
      mma::warpgroup_commit();
      if (slot > 0) {
        mma::warpgroup_wait<1>();  // the block before: its stage is free
        release(shared.empty(last_stage));
      }
      last_stage = pipe.stage;
      pipe.advance();
    }
    Place following;
    if (row_at(p, round + 1, &following)) {
      ptx::named_barrier_arrive<128 * kConsumers>(kTurnBarrier + 1 - consumer);
    }
    mma::warpgroup_wait<0>();
    mma::fence_operands(upper);
    mma::fence_operands(lower);
    if (count > 0) {
      release(shared.empty(last_stage));
    }
    store_outputs(upper, p, place, place.row * kBlock + row_within);
    store_outputs(lower, p, place, place.row * kBlock + 64 + row_within);
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    sm90_unfused_values_kernel(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap map_p,
                               const __grid_constant__ CUtensorMap map_v) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const ValuesShared shared{ptx::shared_address(memory)};
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_p);
    ptx::prefetch_tensormap(&map_v);
    for (int stage = 0; stage < ValuesConfig::kStages; ++stage) {
      ptx::mbarrier_init(shared.full(stage), 1);
      ptx::mbarrier_init(shared.empty(stage), kReleases);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  ptx::grid_dependency_wait();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x < 32) {
      produce_values(p, shared, &map_p, &map_v);
    }
  } else {
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    consume_values(p, shared, warpgroup - 1);
  }
}

}  // namespace unfused
