// The gradient by Q, which many CTAs add up in memory: who clears the sums, what each adds, and who scales and rounds
// them.

#pragma once

#include "sm90_attention_backward_config.cuh"
#include "sm90_attention_backward_mma.cuh"

namespace attention_backward {

// What was computed from the number is computed again from here on, rather than kept in registers.
__device__ __forceinline__ void forget(int& number) { asm volatile("" : "+r"(number)); }

// Sums of a warp are together, 16 bytes of each lane after the other: [4 warps][8][32 lanes][4]. A part of a block row,
// 16 queries, is cleared and rounded by one warp.
constexpr int kWarpSums = Config::kTile / 4;
constexpr int kQuads = kWarpSums / 128;
constexpr int kParts = Config::kBlock / 16;

// Heads that take their key blocks together are a turn.
__device__ __forceinline__ int turns(const Problem& p) {
  return (p.call.forward.batches * p.call.forward.kv_heads + p.together - 1) / p.together;
}

// Parts of block rows of a turn; the last turn may have fewer.
__device__ __forceinline__ int parts_of_turn(const Problem& p) { return p.together * p.group * p.rows * kParts; }

// Block rows of all turns but the first.
__device__ __forceinline__ int later_rows(const Problem& p) {
  return (p.call.forward.batches * p.call.forward.kv_heads - p.together) * p.group * p.rows;
}

// The sums of part `number` of all heads' block rows: the calling lane's first.
__device__ __forceinline__ float* sums_of(const Problem& p, int number) {
  return p.sums + static_cast<int64_t>(number / 4) * Config::kPanels * Config::kTile + number % 4 * kWarpSums +
         threadIdx.x % 32 * 4;
}

// One warp: the number before it was counted up.
__device__ __forceinline__ int take(int* counter) {
  int number = 0;
  if (threadIdx.x % 32 == 0) {
    number = atomicAdd(counter, 1);
  }
  return __shfl_sync(kAll, number, 0);
}

// ---- zeros ---------------------------------------------------------------------------------------------

// One warp.
__device__ __forceinline__ void clear_part(const Problem& p, int number) {
  float* const to = sums_of(p, number);
#pragma unroll
  for (int i = 0; i < Config::kPanels * kQuads; ++i) {
    *reinterpret_cast<float4*>(to + i / kQuads * Config::kTile + i % kQuads * 128) =
        make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
}

// One warp: clears sums of later turns, as long as there are any, and tells the CTA's consumers when all are zeros: they
// wait before their first block of a later turn.
//
// Block rows are taken from a counter, so whoever has taken some is running, and clears them without waiting for
// anybody. The wait ends even if other CTAs of the launch have not begun.
//
// Zeros are ordinary stores, and the copy engine adds to them: hence fences between both kinds of access, by who wrote
// and by who saw that all have written.
__device__ __forceinline__ void clear_later_turns(const Problem& p, const Shared& shared) {
  const int rows = later_rows(p);
  int done = 0;
  for (int row = take(p.cleared); row < rows; row = take(p.cleared)) {
#pragma unroll 1
    for (int part = 0; part < kParts; ++part) {
      clear_part(p, parts_of_turn(p) + row * kParts + part);
    }
    ++done;
  }
  ptx::fence_proxy_async_global();
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    __threadfence();
    atomicAdd(p.cleared + 1, done);
    while (__ldcg(p.cleared + 1) != rows) {
      __nanosleep(200);
    }
    __threadfence();
    ptx::fence_proxy_async_global();
    ptx::mbarrier_arrive(shared.zeros());
  }
  __syncwarp();
}

// ---- additions -----------------------------------------------------------------------------------------

// One warpgroup: adds 64 x 64 accumulators to a tile.
__device__ __forceinline__ void add_sums(const Problem& p, const Shared& shared, const float (&accum)[32], int tile) {
  const int lane = threadIdx.x % 32;
  if (lane == 0) {
    ptx::tma_store_wait_read<0>();
  }
  __syncwarp();
  auto* const stage = reinterpret_cast<float4*>(shared.memory + (shared.sums() - shared.base)) + lane;
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    stage[32 * i] = make_float4(accum[4 * i], accum[4 * i + 1], accum[4 * i + 2], accum[4 * i + 3]);
  }
  ptx::fence_proxy_async();
  __syncwarp();
  if (lane == 0) {
    float* const to = p.sums + static_cast<int64_t>(tile) * Config::kTile + threadIdx.x / 32 % 4 * kWarpSums;
    ptx::bulk_add(to, shared.sums(), kWarpSums * 4);
    ptx::tma_store_commit();
  }
}

// The calling thread's additions are in memory.
__device__ __forceinline__ void finish_sums() {
  if (threadIdx.x % 32 == 0) {
    ptx::tma_store_wait();
  }
}

// One warp: tells of every key block of the CTA that its sums are in memory.
__device__ __forceinline__ void publish(const Problem& p, const Shared& shared) {
  Turn<Config::kKeySlots> block;
  while (true) {
    const int slot = block.place();
    ptx::mbarrier_wait(shared.k_full(slot), block.parity());
    const int number = shared.read_number(slot);
    shared.release(shared.k_empty(slot));
    if (number < 0) {
      break;
    }
    ptx::mbarrier_wait(shared.added(slot), block.parity());
    if (threadIdx.x % 32 == 0) {
      __threadfence();
      atomicAdd(p.added + number / (p.together * p.columns), 1);
    }
    __syncwarp();
    ++block.number;
  }
  ptx::mbarrier_arrive_if(threadIdx.x % 32 == 0, shared.over());
}

// ---- rounding ------------------------------------------------------------------------------------------

// Two neighbours of a row in each of two groups of columns.
__device__ __forceinline__ void round_pair(const Problem& p, uint16_t* to, bool there, float a, float b, float c,
                                           float d) {
  const float scale = p.call.forward.scale;
  const uint32_t left = mma::pack_pair(Element{}, a * scale, b * scale);
  const uint32_t right = mma::pack_pair(Element{}, c * scale, d * scale);
  const bool odd = threadIdx.x % 2 != 0;
  const uint32_t got = __shfl_xor_sync(kAll, odd ? left : right, 1);
  if (there) {
    *reinterpret_cast<uint2*>(to) = odd ? make_uint2(got, right) : make_uint2(left, got);
  }
}

// One warp: scales and rounds the sums of a part. kLean: in few registers.
template <bool kLean>
__device__ __forceinline__ void round_part(const Problem& p, int number) {
  const AssayAttention& c = p.call.forward;
  const int pair = number / (kParts * p.rows);
  const int batch = pair / c.heads;
  const int lane = threadIdx.x % 32;
  const int row = (number - pair * kParts * p.rows) * 16 + lane / 4;
  const float* from = sums_of(p, number);
  auto* to = static_cast<uint16_t*>(p.call.by_q) + batch * p.call.by_q_batch +
             (pair - batch * c.heads) * p.call.by_q_head + row * p.call.by_q_row;
  // Of two groups of 8 columns, lanes 0 and 2 of a quad write the first, 1 and 3 the other.
  const bool odd = threadIdx.x % 2 != 0;
  to += odd ? 8 + lane % 4 * 2 - 2 : lane % 4 * 2;
#pragma unroll kLean ? 1 : 8
  for (int i = 0; i < Config::kHeadDim / 16; ++i) {
    const float4 first = __ldcg(reinterpret_cast<const float4*>(from));
    const float4 second = __ldcg(reinterpret_cast<const float4*>(from + 128));
    round_pair(p, to, row < c.queries, first.x, first.y, second.x, second.y);
    round_pair(p, to + 8 * p.call.by_q_row, row + 8 < c.queries, first.z, first.w, second.z, second.w);
    from += i % 4 == 3 ? Config::kTile - 3 * 256 : 256;
    to += 16;
  }
}

// One warp: whether all key blocks of a turn have added their sums, before the CTA's last block is over.
__device__ __forceinline__ bool wait_sums(const Problem& p, const Shared& shared, int turn) {
  while (true) {
    int state = 0;
    if (threadIdx.x % 32 == 0) {
      const bool over = ptx::mbarrier_test(shared.over(), 0);
      state = __ldcg(p.added + turn) == p.together * p.columns ? 1 : over ? 2 : 0;
      __threadfence();
    }
    state = __shfl_sync(kAll, state, 0);
    __syncwarp();
    if (state != 0) {
      return state == 1;
    }
    __nanosleep(2000);
  }
}

// One warp: rounds the sums of turns that are over, as long as the CTA has key blocks. The last launch does what is
// left, the last turn at least.
__device__ __forceinline__ void round_turns(const Problem& p, const Shared& shared) {
  for (int turn = 0; turn + 1 < turns(p) && wait_sums(p, shared, turn); ++turn) {
    for (int part = take(p.rounded + turn); part < parts_of_turn(p); part = take(p.rounded + turn)) {
      round_part<true>(p, turn * parts_of_turn(p) + part);
      forget(turn);
    }
  }
}

// A CTA for each block row of each head.
__global__ void __launch_bounds__(Config::kRowThreads)
    attention_backward_sums_kernel(const __grid_constant__ Problem p) {
  const int number = static_cast<int>(blockIdx.x) * kParts + static_cast<int>(threadIdx.x) / 32;
  const int turn = number / parts_of_turn(p);
  if (number - turn * parts_of_turn(p) >= p.rounded[turn]) {
    round_part<false>(p, number);
  }
}

}  // namespace attention_backward
