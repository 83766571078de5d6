// The gradient by Q: a CTA holds a block of queries and of their gradient, and the keys that they attend to pass by.

#pragma once

#include "sm90_attention_backward_products.cuh"

namespace attention_backward {

using QueriesShared = Shared<Config::kKeys, Config::kKeyStages, false>;

// A block row of one head of Q.
struct QueryBlock {
  int batch;
  int head;
  int row;
};

__device__ __forceinline__ int query_blocks(const Problem& p) {
  return p.call.forward.batches * p.call.forward.heads * p.rows;
}

__device__ __forceinline__ QueryBlock query_block(const Problem& p, int number) {
  const AssayAttention& c = p.call.forward;
  const int pair = number / p.rows;
  const int place = number - pair * p.rows;
  const int batch = pair / c.heads;
  const int head = pair - batch * c.heads;
  // Below a diagonal, the last rows are the longest.
  const int row = c.order != nullptr ? c.order[mask_of(p, batch, head) * p.rows + place]
                  : c.window_right >= 0 ? p.rows - 1 - place
                                        : place;
  return {batch, head, row};
}

// One warp: Q of a block and its gradient's rows, then K and V of every block in the row's lists, partial ones first;
// then the next block.
__device__ __forceinline__ void produce_keys(const Problem& p, const QueriesShared& shared, const CUtensorMap* map_q,
                                             const CUtensorMap* map_grad, const CUtensorMap* map_k,
                                             const CUtensorMap* map_v) {
  const AssayAttention& c = p.call.forward;
  const int lane = threadIdx.x % 32;
  QueriesShared::Ring pipe;
  pipe.parity = 1;  // the first visit to each stage need not wait
  HeldCopy<Config::kKeyStages> held;
  int number = static_cast<int>(blockIdx.x);
  held.ask(true);
  while (number >= 0) {
    const QueryBlock block = query_block(p, number);
    const int next = next_block(p.counters + 1, query_blocks(p));
    const int64_t list = static_cast<int64_t>(mask_of(p, block.batch, block.head)) * p.rows + block.row;
    const int partial = c.partial_counts != nullptr ? c.partial_counts[list] : 0;
    const int blocks = partial + (c.full_counts != nullptr ? c.full_counts[list] : 0);
    const int kv_head = block.head / p.group;
    const auto load_held = [&] {
      held.waits = false;
      ptx::mbarrier_wait(shared.held_empty(), held.parity);
      held.parity ^= 1;
      if (lane == 0) {
        shared.load_held(map_q, map_grad, block.row * Config::kBlock, block.head, block.batch);
      }
      __syncwarp();
    };
    int columns = 0;  // a lane's of the next 32
    for (int i = 0; i < blocks; ++i) {
      if (i % 32 == 0 && i + lane < blocks) {
        columns = i + lane < partial ? c.partial_columns[list * c.partial_pitch + i + lane]
                                     : c.full_columns[list * c.full_pitch + i + lane - partial];
      }
      Step step{kWhole, block.head, __shfl_sync(kAll, columns, i % 32) * Config::kBlock, 0};
      for (int j = 0; j < Config::kBlock / Config::kKeys && step.first < c.keys; ++j) {
        const bool past_end = step.first + Config::kKeys > c.keys;
        step.part = i < partial ? kFirstPartial + i : past_end ? kUpToLastKey : kWhole;
        if (held.due()) {
          load_held();
        }
        ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
        if (lane == 0) {
          shared.load_tiles(pipe.stage, map_k, map_v, step, kv_head, block.batch);
        }
        __syncwarp();
        pipe.advance();
        step.first += Config::kKeys;
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
    held.ask(false);
  }
}

// Bits n to 31.
__device__ __forceinline__ uint32_t bits_from(int n) { return n <= 0 ? ~0u : n > 31 ? 0u : ~0u << n; }

// Scores that do not count become -infinity. A thread's rows are queries `query` and `query` + 8.
template <int kScores>
__device__ __forceinline__ void mask_keys(float (&scores)[kScores], const Problem& p, const Step& step, int batch,
                                          int query) {
  const AssayAttention& c = p.call.forward;
  const int64_t list = static_cast<int64_t>(mask_of(p, batch, step.head)) * p.rows + query / Config::kBlock;
  const int64_t block = list * c.partial_pitch + step.part - kFirstPartial;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int middle = query + 8 * r + c.keys - c.queries;
    int low = 0;
    int high = c.keys - 1;
    const uint32_t* words = nullptr;
    if (step.part >= kFirstPartial) {
      if (c.partial_bits != nullptr) {
        words = c.partial_bits + (block * Config::kBlock + (query + 8 * r) % Config::kBlock) * (Config::kBlock / 32) +
                step.first % Config::kBlock / 32;
      } else {
        low = c.window_left < 0 ? low : middle - c.window_left;
        high = c.window_right < 0 ? high : min(high, middle + c.window_right);
      }
    }
#pragma unroll
    for (int w = 0; w < kScores / 16; ++w) {
      const int key = step.first + 32 * w;
      uint32_t counts = bits_from(low - key) & ~bits_from(high + 1 - key);
      if (words != nullptr) {
        counts &= words[w];
      }
      counts >>= threadIdx.x % 4 * 2;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores[4 * (4 * w + j) + 2 * r + e];
          score = (counts >> (8 * j + e) & 1) != 0 ? score : -INFINITY;
        }
      }
    }
  }
}

// One warpgroup: 64 queries.
__device__ __forceinline__ void consume_keys(const Problem& p, const QueriesShared& shared, int consumer) {
  constexpr int kScores = Config::kKeys / 2;  // a thread
  const AssayAttention& c = p.call.forward;
  const int row = first_row(consumer) + threadIdx.x % 32 / 4;
  QueriesShared::Ring pipe;
  uint32_t held_parity = 0;
  int number = static_cast<int>(blockIdx.x);
#pragma unroll 1
  while (number >= 0) {
    const QueryBlock block = query_block(p, number);
    const int64_t numbers =
        ((static_cast<int64_t>(block.batch) * c.heads + block.head) * p.rows + block.row) * Config::kBlock + row;
    const float minus[2] = {p.minus[numbers], p.minus[numbers + 8]};
    const float delta[2] = {p.delta[numbers], p.delta[numbers + 8]};
    float by_q[Config::kAccum];
    uint32_t factors[kScores / 2];
#pragma unroll
    for (int i = 0; i < Config::kAccum; ++i) {
      by_q[i] = 0.0f;
    }
#pragma unroll
    for (int i = 0; i < kScores / 2; ++i) {
      factors[i] = 0;
    }

    int before = -1;  // stage of the step before, whose K is still being multiplied
    ptx::mbarrier_wait(shared.held_full(), held_parity);
    held_parity ^= 1;
    Held<false> q;
    Held<false> grad;
    q.load(shared.held(0), consumer);
    grad.load(shared.held(1), consumer);
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
      multiply_held(scores, q, shared.tile(stage, 0));
      mma::warpgroup_commit();
      multiply_held(slopes, grad, shared.tile(stage, 1));
      mma::warpgroup_commit();

      // What is in flight: the gradient of the step before, scores, slopes.
      mma::warpgroup_wait<1>();
      mma::fence_operands(scores);
      mma::fence_operands(by_q);
      hold(factors);
      if (before >= 0) {
        shared.release(before);
      }
      before = stage;
      if (step.part != kWhole) {
        mask_keys(scores, p, step, block.batch, block.row * Config::kBlock + row);
      }
#pragma unroll
      for (int i = 0; i < kScores; ++i) {
        scores[i] = ptx::exp2_approx(fmaf(scores[i], p.scale_log2, minus[i / 2 % 2]));
      }
      mma::warpgroup_wait<0>();
      mma::fence_operands(slopes);
#pragma unroll
      for (int i = 0; i < kScores; ++i) {
        slopes[i] = scores[i] * (slopes[i] - delta[i / 2 % 2]);
      }
      round_pairs(factors, slopes);
      hold(factors);
      mma::fence_operands(by_q);
      mma::warpgroup_fence();
      multiply_passing(by_q, factors, shared.tile(stage, 0));
      mma::warpgroup_commit();
    }
    mma::warpgroup_wait<0>();
    mma::fence_operands(by_q);
    hold(factors);

    if (before >= 0) {
      shared.release(before);
    }
    shared.release_held();

    const int first = block.row * Config::kBlock;
    auto* const to_q = static_cast<uint16_t*>(p.call.by_q) + block.batch * p.call.by_q_batch +
                       block.head * p.call.by_q_head + static_cast<int64_t>(first) * p.call.by_q_row;
    store_rows(by_q, c.scale, to_q, p.call.by_q_row, row, c.queries - first);
  }
}

// A CTA takes block after block of queries.
__global__ void __launch_bounds__(Config::kThreads, 1)
    attention_backward_queries_kernel(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap map_q,
                                      const __grid_constant__ CUtensorMap map_grad,
                                      const __grid_constant__ CUtensorMap map_k,
                                      const __grid_constant__ CUtensorMap map_v) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const QueriesShared shared{memory, ptx::shared_address(memory)};
  const int warpgroup = __shfl_sync(kAll, threadIdx.x / 128, 0);  // uniform, as the compiler then knows
  if (threadIdx.x == 0) {
    shared.init();
  }
  __syncthreads();
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::kProducerRegisters>();
    if (__shfl_sync(kAll, threadIdx.x / 32, 0) == 0) {
      produce_keys(p, shared, &map_q, &map_grad, &map_k, &map_v);
    }
  } else {
    ptx::setmaxnreg_inc<Config::kConsumerRegisters>();
    consume_keys(p, shared, warpgroup - 1);
  }
}

}  // namespace attention_backward
