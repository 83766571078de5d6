// The gradients by K and V: a CTA holds a block of keys, and the queries that attend to it pass by.

#pragma once

#include "sm90_attention_backward_products.cuh"

namespace attention_backward {

using KeysShared = Shared<Config::kQueries, Config::kQueryStages, true>;

// One warp: K and V once, then Q, its gradient's rows and their two numbers, for every head of the group and every
// block row that lists the column.
__device__ __forceinline__ void produce_queries(const Problem& p, const KeysShared& shared, const CUtensorMap* map_q,
                                                const CUtensorMap* map_grad, const CUtensorMap* map_k,
                                                const CUtensorMap* map_v, int batch, int kv_head, int column) {
  const AssayAttention& c = p.call.forward;
  const int lane = threadIdx.x % 32;
  KeysShared::Ring pipe;
  pipe.parity = 1;  // the first visit to each stage need not wait
  if (lane == 0) {
    shared.load_held(map_k, map_v, column * Config::kBlock, kv_head, batch);
  }
  for (int head = kv_head * p.group; head < (kv_head + 1) * p.group; ++head) {
    const int* const places =
        p.places + (static_cast<int64_t>(mask_of(p, batch, head)) * p.columns + column) * p.rows;
    const int64_t numbers = (static_cast<int64_t>(batch) * c.heads + head) * p.rows * Config::kBlock;
    for (int begin = 0; begin < p.rows; begin += 32) {
      const int part = begin + lane < p.rows ? places[begin + lane] : kNone;
      unsigned listed = __ballot_sync(kAll, part != kNone);
      while (listed != 0) {
        const int bit = __ffs(static_cast<int>(listed)) - 1;
        listed &= listed - 1;
        Step step{__shfl_sync(kAll, part, bit), head, (begin + bit) * Config::kBlock, 0};
        for (int i = 0; i < Config::kBlock / Config::kQueries && step.first < c.queries; ++i) {
          ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
          if (lane == 0) {
            const uint32_t full = shared.full(pipe.stage);
            shared.load_tiles(pipe.stage, map_q, map_grad, step, head, batch);
            ptx::bulk_load(shared.base + shared.vector_offset(pipe.stage, 0), p.minus + numbers + step.first,
                           KeysShared::kVectorBytes, full);
            ptx::bulk_load(shared.base + shared.vector_offset(pipe.stage, 1), p.delta + numbers + step.first,
                           KeysShared::kVectorBytes, full);
          }
          __syncwarp();
          pipe.advance();
          step.first += Config::kQueries;
        }
      }
    }
  }
  ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
  if (lane == 0) {
    shared.end(pipe.stage);
  }
}

// Scores of a partial block that do not count become -infinity. A thread's rows are keys `key` and `key` + 8; `counts`
// tells of a query which of both count, in bits 0 and 8.
template <int kScores, typename Counts>
__device__ __forceinline__ void mask_columns(float (&scores)[kScores], int first, const Counts& counts) {
#pragma unroll
  for (int j = 0; j < kScores / 4; ++j) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const uint32_t word = counts(first + 8 * j + e);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float& score = scores[4 * j + 2 * r + e];
        score = (word >> (8 * r) & 1) != 0 ? score : -INFINITY;
      }
    }
  }
}

template <int kScores>
__device__ __forceinline__ void mask_queries(float (&scores)[kScores], const Problem& p, const Step& step, int batch,
                                             int key) {
  const AssayAttention& c = p.call.forward;
  const int first = step.first + threadIdx.x % 4 * 2;
  if (c.partial_bits != nullptr) {
    const int64_t list = static_cast<int64_t>(mask_of(p, batch, step.head)) * p.rows + step.first / Config::kBlock;
    const int64_t block = list * c.partial_pitch + step.part - kFirstPartial;
    constexpr int kWords = Config::kBlock / 32;
    const uint32_t* const words = c.partial_bits + block * Config::kBlock * kWords + key % Config::kBlock / 32;
    // Keys 8 apart, the first below 8 of 16, are in one word.
    mask_columns(scores, first,
                 [&](int query) { return words[query % Config::kBlock * kWords] >> (key % 32); });
  } else {
    const int opposite = key - (c.keys - c.queries);  // the query on the diagonal
    mask_columns(scores, first, [&](int query) {
      uint32_t word = 0;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int distance = opposite + 8 * r - query;
        const bool left = c.window_left < 0 || distance >= -c.window_left;
        const bool right = c.window_right < 0 || distance <= c.window_right;
        word |= (left && right ? 1u : 0u) << (8 * r);
      }
      return word;
    });
  }
}

// One warpgroup: 64 keys.
__device__ __forceinline__ void consume_queries(const Problem& p, const KeysShared& shared, int consumer, int batch,
                                                int kv_head, int column) {
  constexpr int kScores = Config::kQueries / 2;  // a thread
  const AssayAttention& c = p.call.forward;
  const int lane = threadIdx.x % 32;
  const int row = first_row(consumer) + lane / 4;
  float by_k[Config::kAccum];
  float by_v[Config::kAccum];
  uint32_t probabilities[kScores / 2];
  uint32_t factors[kScores / 2];
#pragma unroll
  for (int i = 0; i < Config::kAccum; ++i) {
    by_k[i] = 0.0f;
    by_v[i] = 0.0f;
  }
#pragma unroll
  for (int i = 0; i < kScores / 2; ++i) {
    factors[i] = 0;
  }

  KeysShared::Ring pipe;
  int before = -1;  // stage of the step before, whose Q is still being multiplied
  ptx::mbarrier_wait(shared.held_full(), 0);
  Held<Config::kHeldKeys> k;
  Held<Config::kHeldKeys> v;
  k.load(shared.held(0), consumer);
  v.load(shared.held(1), consumer);
#pragma unroll 1
  while (true) {
    const int stage = pipe.stage;
    ptx::mbarrier_wait(shared.full(stage), pipe.parity);
    const Step step = shared.read_step(stage);
    if (step.part == kNone) {
      break;
    }
    pipe.advance();
    float scores[kScores];
    float slopes[kScores];
    mma::warpgroup_fence();
    multiply_held(scores, k, shared.tile(stage, 0));
    mma::warpgroup_commit();
    multiply_held(slopes, v, shared.tile(stage, 1));
    mma::warpgroup_commit();

    // What is in flight: the gradient by K of the step before, scores, slopes.
    mma::warpgroup_wait<1>();
    mma::fence_operands(scores);
    mma::fence_operands(by_k);
    hold(factors);
    if (before >= 0) {
      shared.release(before);
    }
    before = stage;
    if (step.part >= kFirstPartial) {
      mask_queries(scores, p, step, batch, column * Config::kBlock + row);
    }
    const float* const minus = shared.vector(stage, 0) + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < kScores / 4; ++j) {
      const float2 at = *reinterpret_cast<const float2*>(minus + 8 * j);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        scores[4 * j + 2 * r] = ptx::exp2_approx(fmaf(scores[4 * j + 2 * r], p.scale_log2, at.x));
        scores[4 * j + 2 * r + 1] = ptx::exp2_approx(fmaf(scores[4 * j + 2 * r + 1], p.scale_log2, at.y));
      }
    }
    round_pairs(probabilities, scores);
    hold(probabilities);
    mma::fence_operands(by_v);
    mma::warpgroup_fence();
    multiply_passing(by_v, probabilities, shared.tile(stage, 1));
    mma::warpgroup_commit();

    mma::warpgroup_wait<0>();
    mma::fence_operands(slopes);
    mma::fence_operands(by_v);
    hold(probabilities);
    const float* const delta = shared.vector(stage, 1) + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < kScores / 4; ++j) {
      const float2 at = *reinterpret_cast<const float2*>(delta + 8 * j);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        slopes[4 * j + 2 * r] = scores[4 * j + 2 * r] * (slopes[4 * j + 2 * r] - at.x);
        slopes[4 * j + 2 * r + 1] = scores[4 * j + 2 * r + 1] * (slopes[4 * j + 2 * r + 1] - at.y);
      }
    }
    round_pairs(factors, slopes);
    hold(factors);
    mma::fence_operands(by_k);
    mma::warpgroup_fence();
    multiply_passing(by_k, factors, shared.tile(stage, 0));
    mma::warpgroup_commit();
  }
  mma::warpgroup_wait<0>();
  mma::fence_operands(by_k);
  mma::fence_operands(by_v);
  hold(factors);

  const int64_t first = static_cast<int64_t>(column) * Config::kBlock;
  const int rows = c.keys - column * Config::kBlock;
  auto* const to_k = static_cast<uint16_t*>(p.call.by_k) + batch * p.call.by_k_batch + kv_head * p.call.by_k_head;
  auto* const to_v = static_cast<uint16_t*>(p.call.by_v) + batch * p.call.by_v_batch + kv_head * p.call.by_v_head;
  store_rows(by_v, 1.0f, to_v + first * p.call.by_v_row, p.call.by_v_row, row, rows);
  store_rows(by_k, c.scale, to_k + first * p.call.by_k_row, p.call.by_k_row, row, rows);
}

// One CTA for each key block of each head of K and V.
__global__ void __launch_bounds__(Config::kThreads, 1)
    attention_backward_keys_kernel(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap map_q,
                                   const __grid_constant__ CUtensorMap map_grad,
                                   const __grid_constant__ CUtensorMap map_k,
                                   const __grid_constant__ CUtensorMap map_v) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const KeysShared shared{memory, ptx::shared_address(memory)};
  const int warpgroup = __shfl_sync(kAll, threadIdx.x / 128, 0);  // uniform, as the compiler then knows
  const int pair = static_cast<int>(blockIdx.x) / p.columns;
  const int column = static_cast<int>(blockIdx.x) - pair * p.columns;
  const int batch = pair / p.call.forward.kv_heads;
  const int kv_head = pair - batch * p.call.forward.kv_heads;
  if (threadIdx.x == 0) {
    shared.init();
  }
  __syncthreads();
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::kProducerRegisters>();
    if (__shfl_sync(kAll, threadIdx.x / 32, 0) == 0) {
      produce_queries(p, shared, &map_q, &map_grad, &map_k, &map_v, batch, kv_head, column);
    }
  } else {
    ptx::setmaxnreg_inc<Config::kConsumerRegisters>();
    consume_queries(p, shared, warpgroup - 1, batch, kv_head, column);
  }
}

}  // namespace attention_backward
