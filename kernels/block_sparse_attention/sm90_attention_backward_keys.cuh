// The second launch: a CTA holds a block of keys, and the queries that attend to it pass by. It computes the gradients
// by K and V and what its keys add to the gradient by Q.

#pragma once

#include <type_traits>

#include "sm90_attention_backward_mask.cuh"
#include "sm90_attention_backward_producer.cuh"
#include "sm90_attention_backward_products.cuh"
#include "sm90_attention_backward_sums.cuh"

namespace attention_backward {

// One warpgroup: 64 keys. What it asks the tensor cores for in a step, and what it does meanwhile:
//
//   D = 128:  S | dP | exponentials | dV | dQ of the step before | dS | dK | dS is stored, sums of dQ leave
//   D = 64:   S | dP | exponentials | dV | dS | dK | dS is stored; every other step begins with dQ of the two steps
//             before, its sums leave beside S
//
// So exponentials run beside dP, dS beside dQ or dV, and stores beside dK. As dQ needs the dS that both consumers
// stored up to a step earlier, a consumer may be most of a step ahead of the other: then one has exponentials while the
// other has products, and neither waits for the other's dS.
//
// At D = 128, sums fill the registers: dQ lies where S was, dS takes P as it was rounded for dV and its place then, and
// products end with the step. D = 64 has room for K and V, P in fp32, and dK in flight while the next step begins.
__device__ __forceinline__ void consume(const Problem& p, const Shared& shared, int consumer) {
  constexpr int kScores = Config::kScores;  // a thread
  constexpr int kUnit = Config::kUnit;
  constexpr bool kRoom = Config::kRoom;
  const AssayAttention& c = p.call.forward;
  const int lane = threadIdx.x % 32;
  const int row = first_row(consumer) + lane / 4;
  Shared::Ring pipe;
  Turn<2> unit;
  Turn<Config::kKeySlots> block_turn;
  int number = static_cast<int>(blockIdx.x);
#pragma unroll 1
  while (number >= 0) {
    const int key = key_block(p, number).column * Config::kBlock + row;
    float by_k[Config::kAccum];
    float by_v[Config::kAccum];
    uint32_t words[2][kScores / 2];
    auto& probabilities = words[0];
    auto& factors = words[kRoom ? 1 : 0];
#pragma unroll
    for (int i = 0; i < Config::kAccum; ++i) {
      by_k[i] = 0.0f;
      by_v[i] = 0.0f;
    }
#pragma unroll
    for (int i = 0; i < kScores / 2; ++i) {
      factors[i] = 0;
    }

    ptx::mbarrier_wait(shared.k_full(block_turn.place()), block_turn.parity());
    ptx::mbarrier_wait(shared.v_full(), block_turn.number & 1);
    if (number >= p.together * p.columns) {
      ptx::mbarrier_wait(shared.zeros(), 0);
    }
    Held<kRoom> k;
    Held<kRoom> v;
    k.load(shared.k(block_turn.place()), consumer);
    v.load(shared.v(), consumer);

    int stage = -1;
    int before;  // the stage of the step before, below 0 if there is none
    const auto next_step = [&] {
      before = stage;
      stage = pipe.stage;
      ptx::mbarrier_wait(shared.full(stage), pipe.parity);
      pipe.advance();
      return shared.read_step(stage);
    };
    // The gradient by K is no longer in flight, nor is Q of that step in use.
    const auto end_step = [&] {
      mma::fence_operands(by_k);
      hold(factors);
      if (before >= 0) {
        shared.release_stage(before);
      }
    };
    // Asks for the product for Q of a unit, when both consumers have written its factors: of two panels or of two steps,
    // a consumer has one.
    const auto sum = [&](float(&by_q)[kScores], Turn<2> what) {
      ptx::mbarrier_wait(shared.factors_full(what.place()), what.parity());
      mma::warpgroup_fence();
      multiply_sums(by_q, shared.factors(what.place(), kUnit == 2 ? consumer : 0),
                    shared.k(block_turn.place()) + (kUnit == 1 ? consumer : 0) * Shared::kHeldPanelBytes);
      mma::warpgroup_commit();
    };
    // The product is there.
    const auto leave = [&](float(&by_q)[kScores], Turn<2> what, int tile) {
      mma::fence_operands(by_q);
      shared.release(shared.factors_empty(what.place()));
      add_sums(p, shared, by_q, tile);
    };

    // A step, the first or second of its unit. `due`: with the product for Q of the unit before, whose sums are `tile`.
    // In flight before and after: at D = 64 the gradient by K, else nothing.
    //
    // What one product writes, no other code reads behind a loop's end or a branch: ptxas would make products wait for
    // each other (C7514). So sums for Q begin and leave here.
    const auto pass = [&](const Step& step, int half, int tile, auto due) {
      constexpr bool kDue = decltype(due)::value;
      constexpr bool kEarly = !kRoom && !kDue;  // without a sum before it, ptxas would wait for scores there (C7517)
      const Turn<2> last{unit.number - 1};
      float scores[kScores];
      float slopes[kScores];
      auto& by_q = kRoom ? slopes : scores;  // one after the other in the same registers
      if constexpr (kDue && kRoom) {
        sum(by_q, last);
      }
      if constexpr (kEarly) {
        begin_slopes(slopes, shared.vector(stage, 1));
        mma::fence_operands(slopes);
      }
      mma::warpgroup_fence();
      multiply_held<false>(scores, k, shared.tile(stage, 0));
      mma::warpgroup_commit();

      if constexpr (kRoom) {
        mma::warpgroup_wait<1>();
        end_step();
        if constexpr (kDue) {
          leave(by_q, last, tile);
        }
      }
      if constexpr (!kEarly) {
        begin_slopes(slopes, shared.vector(stage, 1));
        mma::fence_operands(slopes);
      }
      mma::warpgroup_fence();
      multiply_held<true>(slopes, v, shared.tile(stage, 1));
      mma::warpgroup_commit();

      mma::warpgroup_wait<1>();
      mma::fence_operands(scores);
      if (step.part != kWhole) {
        mask_scores(scores, p, step, key);
      }
      to_probabilities(scores, p.scale_log2, shared.vector(stage, 0));
      round_pairs(probabilities, scores);
      hold(probabilities);
      mma::fence_operands(by_v);
      mma::warpgroup_fence();
      multiply_passing(by_v, probabilities, shared.tile(stage, 1));
      mma::warpgroup_commit();
      if constexpr (kDue && !kRoom) {
        sum(by_q, last);
      }

      mma::warpgroup_wait<kRoom || kDue ? 1 : 0>();
      mma::fence_operands(slopes);
      if constexpr (kRoom) {
        to_factors(slopes, scores);
      } else {
        mma::fence_operands(by_v);
        hold(probabilities);
        to_factors(slopes, probabilities);
      }
      round_pairs(factors, slopes);
      hold(factors);

      mma::fence_operands(by_k);
      mma::warpgroup_fence();
      multiply_passing(by_k, factors, shared.tile(stage, 0));
      mma::warpgroup_commit();
      if (half == 0) {
        ptx::mbarrier_wait(shared.factors_empty(unit.place()), unit.parity() ^ 1);
      }
      store_factors(shared.factors(unit.place(), half), factors, consumer);
      if (half == kUnit - 1) {
        shared.hand_over_factors(unit.place());
        ++unit.number;
      }
      mma::warpgroup_wait<1>();
      mma::fence_operands(by_v);
      if constexpr (kRoom) {
        hold(probabilities);
      } else if constexpr (kDue) {
        leave(by_q, last, tile);
      }
    };

    Step step = next_step();
    if (step.part == kNone) {
      shared.release(shared.v_empty());
    } else {
      int tile = 0;
      const auto next = [&] {
        step = next_step();
        if constexpr (!kRoom) {
          mma::warpgroup_wait<0>();
          end_step();
        }
      };
      // Steps come in pairs, two for each block row.
      const auto pass_unit = [&](auto due) {
        if constexpr (kUnit == 2) {
          pass(step, 0, -1, std::false_type{});
          next();
        }
        pass(step, kUnit - 1, tile, due);
        tile = kUnit == 1 ? 2 * step.tile + consumer : step.tile - 1 + consumer;
        next();
      };
      pass_unit(std::false_type{});
#pragma unroll 1
      while (step.part != kNone) {
        pass_unit(std::true_type{});
      }
      shared.release(shared.v_empty());
      const Turn<2> last{unit.number - 1};
      float by_q[kScores];
      sum(by_q, last);
      mma::warpgroup_wait<0>();
      if constexpr (kRoom) {
        end_step();
      }
      leave(by_q, last, tile);
    }
    shared.release_stage(stage);
    mma::fence_operands(by_v);
    k.last_use(c.queries < 0);
    v.last_use(c.queries < 0);

    shared.release(shared.k_empty(block_turn.place()));
    finish_sums();
    shared.release(shared.added(block_turn.number % 2));
    ++block_turn.number;

    forget(number);
    const KeyBlock block = key_block(p, number);
    const int64_t first = static_cast<int64_t>(block.column) * Config::kBlock;
    const int rows = c.keys - block.column * Config::kBlock;
    auto* const to_k = static_cast<uint16_t*>(p.call.by_k) + block.batch * p.call.by_k_batch +
                       block.kv_head * p.call.by_k_head;
    auto* const to_v = static_cast<uint16_t*>(p.call.by_v) + block.batch * p.call.by_v_batch +
                       block.kv_head * p.call.by_v_head;
    store_rows(by_v, 1.0f, to_v + first * p.call.by_v_row, p.call.by_v_row, row, rows);
    store_rows(by_k, c.scale, to_k + first * p.call.by_k_row, p.call.by_k_row, row, rows);
    number = step.first;
  }
}

// A CTA takes block after block of keys.
__global__ void __launch_bounds__(Config::kThreads, 1)
    attention_backward_keys_kernel(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap map_q,
                                   const __grid_constant__ CUtensorMap map_grad,
                                   const __grid_constant__ CUtensorMap map_k,
                                   const __grid_constant__ CUtensorMap map_v) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared{memory, ptx::shared_address(memory)};
  const int warpgroup = __shfl_sync(kAll, threadIdx.x / 128, 0);  // uniform, as the compiler then knows
  if (threadIdx.x == 0) {
    shared.init();
  }
  __syncthreads();
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::kProducerRegisters>();
    const int warp = __shfl_sync(kAll, threadIdx.x / 32, 0);
    if (warp == 0) {
      produce(p, shared, &map_q, &map_grad, &map_k, &map_v);
    } else if (warp == 1) {
      publish(p, shared);
    } else {
      clear_later_turns(p, shared);
      round_turns(p, shared);
    }
  } else {
    ptx::setmaxnreg_inc<Config::kConsumerRegisters>();
    consume(p, shared, warpgroup - 1);
  }
}

}  // namespace attention_backward
