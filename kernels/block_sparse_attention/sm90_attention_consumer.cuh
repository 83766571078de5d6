// A consumer warpgroup: 64 queries of one tile after another, in one stream of products without a seam between tiles.

#pragma once

#include <cfloat>

#include "sm90_attention_output.cuh"
#include "sm90_attention_products.cuh"
#include "sm90_attention_softmax.cuh"

namespace attention {

// One warp: has read what lies behind the barrier.
__device__ __forceinline__ void release(uint32_t barrier) {
  __syncwarp();
  ptx::mbarrier_arrive_if(threadIdx.x % 32 == 0, barrier);
}

// One warp: takes what lies at a place of the queue and gives the place back. Of what the producer writes, here and
// below, lane 0 reads, and lane 0 tells that it has.
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

// Whether any score of a slot's keys is masked, as lane 0 knows it.
__device__ __forceinline__ uint32_t masked_of(const Shared& shared, int slot) {
  return ptx::load_shared_if(threadIdx.x % 32 == 0, shared.masked(slot));
}

// A slot's keys as lane 0 knows them.
__device__ __forceinline__ StepKeys keys_of(const Shared& shared, int slot) {
  const bool reads = threadIdx.x % 32 == 0;
  StepKeys keys;
#pragma unroll
  for (int i = 0; i < Config::kParts; ++i) {
    const uint32_t at = shared.keys(slot) + 4 * i;
    keys.key[i] = ptx::load_shared_if(reads, at);
    keys.part[i] = ptx::load_shared_if(reads, at + 4 * Config::kParts);
  }
  return keys;
}

// What FP8 multiplies a row's scores with, but for their keys' factor.
__device__ __forceinline__ float row_scale(const Problem& p, const Published& tile) {
  return Config::kScaled ? p.scale_log2 * p.of_row(p.call, tile.batch, tile.head, tile.row) : 0.0f;
}

__device__ __forceinline__ float log2_of(const Problem& p, const StepScale& scale) {
  return Config::kScaled ? scale.log2 : p.scale_log2;
}

// A slot's scales with their rows', as lane 0 knows them.
__device__ __forceinline__ StepScale scale_of(const Shared& shared, int slot, float row) {
  const bool reads = threadIdx.x % 32 == 0;
  const uint32_t at = shared.scale(slot);
  return {row * __uint_as_float(ptx::load_shared_if(reads, at)),
          __uint_as_float(ptx::load_shared_if(reads, at + 4))};
}

__device__ __forceinline__ StepScale tell(const StepScale& scale) {
  return {__shfl_sync(kAll, scale.log2, 0), __shfl_sync(kAll, scale.values_log2, 0)};
}

// What lane 0 knows.
__device__ __forceinline__ StepKeys tell(const StepKeys& keys) {
  StepKeys told;
#pragma unroll
  for (int i = 0; i < Config::kParts; ++i) {
    told.key[i] = __shfl_sync(kAll, keys.key[i], 0);
    told.part[i] = __shfl_sync(kAll, keys.part[i], 0);
  }
  return told;
}

// The next tile that has blocks, or the end; the empty ones before it are written.
__device__ __forceinline__ Published next_tile(const Problem& p, const Shared& shared, int consumer, int& number) {
  Published tile = take(shared, number++);
  while (tile.steps == 0) {
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
  if (tile.steps < 0) {
    return;
  }

  float scores[Config::kScores];
  float accum[Config::kAccum];
  uint32_t probabilities[Config::kProbabilities];
  float factor[2];
  float row = row_scale(p, tile);
  Softmax state;
#pragma unroll
  for (int i = 0; i < Config::kAccum; ++i) {
    accum[i] = 0.0f;
  }

  int left = tile.steps - 1;  // of the tile's blocks, those whose scores have not been asked for
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
  uint32_t masked_word = masked_of(shared, pipe.stage);
  queries.hold();
  mma::warpgroup_fence();
  multiply_scores(scores, queries, shared.slot(pipe.stage));
  mma::warpgroup_commit();
  mma::warpgroup_wait<0>();
  mma::fence_operands(scores);
  StepKeys keys = keys_of(shared, pipe.stage);
  StepScale scale{};
  if constexpr (Config::kScaled) {
    scale = tell(scale_of(shared, pipe.stage, row));
  }
  release(shared.empty(pipe.stage));
  pipe.advance();
  if (Config::kQRegisters || left == 0) {
    leave_q();
  }
  if (__any_sync(kAll, masked_word != 0)) {
    apply_mask(scores, p, tile, tell(keys), first_row(consumer));
  }
  exponentiate(scores, state, factor, log2_of(p, scale), scale);
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
      if (next.steps < 0) {
        break;
      }
      left = next.steps;
      row = row_scale(p, next);
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

    masked_word = masked_of(shared, place.slot_k);
    keys = keys_of(shared, place.slot_k);
    if constexpr (Config::kScaled) {
      scale = scale_of(shared, place.slot_k, row);
    }
    const Place here = place;
    place.look(shared, pipe);
    mma::warpgroup_wait<Config::kOverlap ? 1 : 0>();
    mma::fence_operands(scores);
    queries.hold();
    if constexpr (!Config::kKeepsKeys) {
      release(shared.empty(here.slot_k));
    }
    const bool masked = __any_sync(kAll, masked_word != 0);
    if constexpr (Config::kScaled) {
      scale = tell(scale);
    }
    if (__builtin_expect(Config::kCheckedSums && !last && (Config::kChecksLast || left > 0) && !masked, 1)) {
      if (Config::kChecksLast && !Config::kQRegisters && !Config::kKeepsKeys && left == 0) {
        leave_q();
      }
      float sums[2];
      const auto wait_for_values = [&](const float (&parts)[2][2]) {
        stay_before(parts[0]);
        mma::warpgroup_wait<0>();
        mma::fence_operands(accum);
        hold(probabilities);
        release(shared.empty(here.slot_v));
      };
      take_exponentials(scores, state.minus, sums, log2_of(p, scale), scale, wait_for_values);
      round_probabilities(probabilities, scores);
      // Not good, too, where a sum is no number.
      bool good = __all_sync(kAll, sums[0] <= Config::kMostSum && sums[1] <= Config::kMostSum);
      if constexpr (Config::kScaled) {
        if (__builtin_expect(!good, 0)) {
          good = __all_sync(kAll, sums[0] <= FLT_MAX && sums[1] <= FLT_MAX);
          if (good) {
            factor[0] = factor[1] = 1.0f;
            lower(scores, state, sums, factor, Config::kMostSum);
            scale_accum(accum, factor);
            round_probabilities(probabilities, scores);
          }
        }
      }
      if (__builtin_expect(!good, 0)) {
        if constexpr (Config::kKeepsKeys) {
          multiply_scores_by_warp(scores, queries, shared.slot(here.slot_k));
        } else {
          multiply_scores_by_warp(scores, queries, p, tile, consumer, tell(keys));
        }
        if (exponentiate(scores, state, factor, log2_of(p, scale), scale)) {
          scale_accum(accum, factor);
        }
        round_probabilities(probabilities, scores);
      } else {
        add_sums(state, sums, scale);
      }
      if constexpr (Config::kKeepsKeys) {
        release(shared.empty(here.slot_k));
        if (!Config::kQRegisters && left == 0) {
          leave_q();
        }
      }
    } else {
      if constexpr (Config::kKeepsKeys) {
        release(shared.empty(here.slot_k));
      }
      // What is in registers has arrived there for certain once products have used it. An arrival just behind ldmatrix
      // may come before its answer, and the next tile's Q with it.
      if (Config::kQRegisters ? last : left == 0) {
        leave_q();
      }
      if (masked) {
        apply_mask(scores, p, next, tell(keys), first_row(consumer));
      }
      const Softmax before = state;
      if (last) {
        state = Softmax();
      }
      const bool scaled = exponentiate(scores, state, factor, log2_of(p, scale), scale);
      stay_before(state.sum);
      mma::warpgroup_wait<0>();
      mma::fence_operands(accum);
      hold(probabilities);
      release(shared.empty(here.slot_v));
      if (last) {
        store_tile(accum, before, p, tile, consumer);
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
  store_tile(accum, state, p, tile, consumer);
}

}  // namespace attention
