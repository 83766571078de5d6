// Which key blocks a CTA holds, one after the other, and the warp that copies what the consumers multiply.

#pragma once

#include "sm90_attention_backward_config.cuh"
#include "sm90_attention_backward_mma.cuh"

namespace attention_backward {

// A block of keys of one head of K and V.
struct KeyBlock {
  int batch;
  int kv_head;
  int column;
};

__device__ __forceinline__ int key_blocks(const Problem& p) {
  return p.call.forward.batches * p.call.forward.kv_heads * p.columns;
}

// Some heads at a time, heaviest blocks first: what these heads read stays in L2, and no CTA begins a long block when
// the others end.
__device__ __forceinline__ KeyBlock key_block(const Problem& p, int number) {
  const int kv_heads = p.call.forward.kv_heads;
  const int first = number / (p.together * p.columns) * p.together;
  const int pairs = min(p.together, p.call.forward.batches * kv_heads - first);
  const int within = number - first * p.columns;
  const int pair = first + within % pairs;
  const int batch = pair / kv_heads;
  const int kv_head = pair - batch * kv_heads;
  return {batch, kv_head, p.order[key_mask_of(p, batch, kv_head) * p.columns + within / pairs]};
}

// One warp: the number of the key block that a CTA holds next, below 0 if there is none.
__device__ __forceinline__ int next_block(const Problem& p) {
  int taken = 0;
  if (threadIdx.x % 32 == 0) {
    taken = atomicAdd(p.counter, 1);
  }
  const int next = static_cast<int>(gridDim.x) + __shfl_sync(kAll, taken, 0);
  return next < key_blocks(p) ? next : -1;
}

// The copy of V has to wait until the block before is done with its own. Meanwhile, stages fill.
struct ValueCopy {
  int steps = 0;  // begun before the copy
  bool waits = false;

  // `at_once`: the place is free.
  __device__ __forceinline__ void ask(bool at_once) {
    waits = true;
    steps = at_once ? Config::kStages - 1 : 0;
  }
  // Before each step: whether the copy is to begin now.
  __device__ __forceinline__ bool due() { return waits && ++steps == Config::kStages; }
};

// One warp: K and V of a block, then Q, its gradient's rows and their two numbers, for every head of the group and
// every block row that lists the column; then the next block.
__device__ __forceinline__ void produce(const Problem& p, const Shared& shared, const CUtensorMap* map_q,
                                        const CUtensorMap* map_grad, const CUtensorMap* map_k,
                                        const CUtensorMap* map_v) {
  const AssayAttention& c = p.call.forward;
  const int lane = threadIdx.x % 32;
  Shared::Ring pipe;
  pipe.parity = 1;  // the first visit to each stage need not wait
  ValueCopy values;
  Turn<1> v_turn;
  Turn<Config::kKeySlots> k_turn;
  int number = static_cast<int>(blockIdx.x);
  values.ask(true);
  while (number >= 0) {
    const KeyBlock block = key_block(p, number);
    const bool past_end = (block.column + 1) * Config::kBlock > c.keys;
    const auto load = [&](uint32_t to, uint32_t barrier, const CUtensorMap* map) {
      if (lane == 0) {
        shared.load_held(to, barrier, map, block.column * Config::kBlock, block.kv_head, block.batch);
      }
      __syncwarp();
    };
    const int slot = k_turn.place();
    ptx::mbarrier_wait(shared.k_empty(slot), k_turn.parity() ^ 1);  // the first visits need not wait
    if (lane == 0) {
      *shared.number(slot) = number;
    }
    load(shared.k(slot), shared.k_full(slot), map_k);
    ++k_turn.number;
    const auto load_v = [&] {
      values.waits = false;
      ptx::mbarrier_wait(shared.v_empty(), v_turn.parity() ^ 1);
      load(shared.v(), shared.v_full(), map_v);
      ++v_turn.number;
    };
    for (int head = block.kv_head * p.group; head < (block.kv_head + 1) * p.group; ++head) {
      const int mask = mask_of(p, block.batch, head);
      const int* const places = p.places + (static_cast<int64_t>(mask) * p.columns + block.column) * p.rows;
      const int first_row = (block.batch * c.heads + head) * p.rows;
      for (int begin = 0; begin < p.rows; begin += 32) {
        const int place = begin + lane < p.rows ? places[begin + lane] : kNone;
        unsigned listed = __ballot_sync(kAll, place != kNone);
        while (listed != 0) {
          const int bit = __ffs(static_cast<int>(listed)) - 1;
          listed &= listed - 1;
          const int part = __shfl_sync(kAll, place, bit);
          Step step{part == kWhole && past_end ? kUpToLastKey : part, mask * p.rows + begin + bit,
                    (begin + bit) * Config::kBlock, (first_row + begin + bit) * 2};
          for (int half = 0; half < 2; ++half) {  // even past the last query: units are whole
            if (values.due()) {
              load_v();
            }
            ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
            if (lane == 0) {
              const uint32_t full = shared.full(pipe.stage);
              const int64_t numbers = static_cast<int64_t>(step.tile) * Config::kQueries;
              shared.load_tiles(pipe.stage, map_q, map_grad, step, head, block.batch);
              ptx::bulk_load(shared.base + shared.vector_offset(pipe.stage, 0), p.minus + numbers,
                             Shared::kVectorBytes, full);
              ptx::bulk_load(shared.base + shared.vector_offset(pipe.stage, 1), p.delta + numbers,
                             Shared::kVectorBytes, full);
            }
            __syncwarp();
            pipe.advance();
            step.first += Config::kQueries;
            ++step.tile;
          }
        }
      }
    }
    if (values.waits) {
      load_v();
    }
    const int next = next_block(p);  // as late as can be: who ends first is to go on first
    ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
    if (lane == 0) {
      shared.end(pipe.stage, next);
    }
    __syncwarp();
    pipe.advance();
    number = next;
    values.ask(false);
  }
  const int slot = k_turn.place();
  ptx::mbarrier_wait(shared.k_empty(slot), k_turn.parity() ^ 1);
  if (lane == 0) {
    *shared.number(slot) = -1;
    ptx::mbarrier_arrive(shared.k_full(slot));
  }
}

}  // namespace attention_backward
