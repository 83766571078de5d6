// The gradients by K and V: a CTA holds a block of keys, and the queries that attend to it pass by.

#pragma once

#include "sm90_attention_backward_products.cuh"

namespace attention_backward {

using KeysShared = Shared<Config::kQueries, Config::kQueryStages, true>;

// A block of keys of one head of K and V.
struct KeyBlock {
  int batch;
  int kv_head;
  int column;
};

__device__ __forceinline__ int key_blocks(const Problem& p) {
  return p.call.forward.batches * p.call.forward.kv_heads * p.columns;
}

__device__ __forceinline__ KeyBlock key_block(const Problem& p, int number) {
  const int pair = number / p.columns;
  const int batch = pair / p.call.forward.kv_heads;
  return {batch, pair - batch * p.call.forward.kv_heads, number - pair * p.columns};
}

// One warp: K and V of a block, then Q, its gradient's rows and their two numbers, for every head of the group and
// every block row that lists the column; then the next block.
__device__ __forceinline__ void produce_queries(const Problem& p, const KeysShared& shared, const CUtensorMap* map_q,
                                                const CUtensorMap* map_grad, const CUtensorMap* map_k,
                                                const CUtensorMap* map_v) {
  const AssayAttention& c = p.call.forward;
  const int lane = threadIdx.x % 32;
  KeysShared::Ring pipe;
  pipe.parity = 1;  // the first visit to each stage need not wait
  HeldCopy<Config::kQueryStages> held;
  int number = static_cast<int>(blockIdx.x);
  held.ask(true);
  while (number >= 0) {
    const KeyBlock block = key_block(p, number);
    const int next = next_block(p.counters, key_blocks(p));
    const auto load_held = [&] {
      held.waits = false;
      ptx::mbarrier_wait(shared.held_empty(), held.parity);
      held.parity ^= 1;
      if (lane == 0) {
        shared.load_held(map_k, map_v, block.column * Config::kBlock, block.kv_head, block.batch);
      }
      __syncwarp();
    };
    for (int head = block.kv_head * p.group; head < (block.kv_head + 1) * p.group; ++head) {
      const int* const places =
          p.places + (static_cast<int64_t>(mask_of(p, block.batch, head)) * p.columns + block.column) * p.rows;
      const int64_t numbers = (static_cast<int64_t>(block.batch) * c.heads + head) * p.rows * Config::kBlock;
      for (int begin = 0; begin < p.rows; begin += 32) {
        const int part = begin + lane < p.rows ? places[begin + lane] : kNone;
        unsigned listed = __ballot_sync(kAll, part != kNone);
        while (listed != 0) {
          const int bit = __ffs(static_cast<int>(listed)) - 1;
          listed &= listed - 1;
          Step step{__shfl_sync(kAll, part, bit), head, (begin + bit) * Config::kBlock, 0};
          for (int i = 0; i < Config::kBlock / Config::kQueries && step.first < c.queries; ++i) {
            if (held.due()) {
              load_held();
            }
            ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
            if (lane == 0) {
              const uint32_t full = shared.full(pipe.stage);
              shared.load_tiles(pipe.stage, map_q, map_grad, step, head, block.batch);
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
    if (held.waits) {
      load_held();
    }
    ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
    if (lane == 0) {
      shared.end(pipe.stage, next);
    }
    __syncwarp();
    pipe.advance();
    number = next;
    held.ask(Config::kHeldKeys);
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
__device__ __forceinline__ void consume_queries(const Problem& p, const KeysShared& shared, int consumer) {
  constexpr int kScores = Config::kQueries / 2;  // a thread
  const AssayAttention& c = p.call.forward;
  const int lane = threadIdx.x % 32;
  const int row = first_row(consumer) + lane / 4;
  KeysShared::Ring pipe;
  uint32_t held_parity = 0;
  int number = static_cast<int>(blockIdx.x);
#pragma unroll 1
  while (number >= 0) {
    const KeyBlock block = key_block(p, number);
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

    int before = -1;  // stage of the step before, whose Q is still being multiplied
    ptx::mbarrier_wait(shared.held_full(), held_parity);
    held_parity ^= 1;
    Held<Config::kHeldKeys> k;
    Held<Config::kHeldKeys> v;
    k.load(shared.held(0), consumer);
    v.load(shared.held(1), consumer);
#pragma unroll 1
    while (true) {
      const int stage = pipe.stage;
      ptx::mbarrier_wait(shared.full(stage), pipe.parity);
      const Step step = shared.read_step(stage);
      pipe.advance();
      if (step.part == kNone) {
        number = step.first;
        shared.release(stage);
        break;
      }
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
      } else if constexpr (Config::kHeldKeys) {
        shared.release_held();  // in registers, since products have used them
      }
      before = stage;
      if (step.part >= kFirstPartial) {
        mask_queries(scores, p, step, block.batch, block.column * Config::kBlock + row);
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

      mma::warpgroup_wait<Config::kHeldKeys ? 1 : 0>();
      mma::fence_operands(slopes);
      if constexpr (!Config::kHeldKeys) {
        mma::fence_operands(by_v);
        hold(probabilities);
      }
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
      if constexpr (Config::kHeldKeys) {
        mma::warpgroup_wait<1>();
        mma::fence_operands(by_v);
        hold(probabilities);
      }
    }
    mma::warpgroup_wait<0>();
    mma::fence_operands(by_k);
    mma::fence_operands(by_v);
    hold(factors);
    k.last_use(c.queries < 0);
    v.last_use(c.queries < 0);

    if (before >= 0) {
      shared.release(before);
    }
    if (!Config::kHeldKeys || before < 0) {
      shared.release_held();
    }

    const int64_t first = static_cast<int64_t>(block.column) * Config::kBlock;
    const int rows = c.keys - block.column * Config::kBlock;
    auto* const to_k = static_cast<uint16_t*>(p.call.by_k) + block.batch * p.call.by_k_batch +
                       block.kv_head * p.call.by_k_head;
    auto* const to_v = static_cast<uint16_t*>(p.call.by_v) + block.batch * p.call.by_v_batch +
                       block.kv_head * p.call.by_v_head;
    store_rows(by_v, 1.0f, to_v + first * p.call.by_v_row, p.call.by_v_row, row, rows);
    store_rows(by_k, c.scale, to_k + first * p.call.by_k_row, p.call.by_k_row, row, rows);
  }
}

// A CTA takes block after block of keys.
__global__ void __launch_bounds__(Config::kThreads, 1)
    attention_backward_keys_kernel(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap map_q,
                                   const __grid_constant__ CUtensorMap map_grad,
                                   const __grid_constant__ CUtensorMap map_k,
                                   const __grid_constant__ CUtensorMap map_v) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const KeysShared shared{memory, ptx::shared_address(memory)};
  const int warpgroup = __shfl_sync(kAll, threadIdx.x / 128, 0);  // uniform, as the compiler then knows
  if (threadIdx.x == 0) {
    shared.init();
  }
  __syncthreads();
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::kProducerRegisters>();
    if (__shfl_sync(kAll, threadIdx.x / 32, 0) == 0) {
      produce_queries(p, shared, &map_q, &map_grad, &map_k, &map_v);
    }
  } else {
    ptx::setmaxnreg_inc<Config::kConsumerRegisters>();
    consume_queries(p, shared, warpgroup - 1);
  }
}

}  // namespace attention_backward
