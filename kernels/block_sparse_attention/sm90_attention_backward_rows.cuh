// The first launch: of each query, -lse * log2(e) and delta, the sum of its products of O and its gradient; zeros where
// its gradient is summed; of each key block, which block rows list it; and the order in which key blocks are taken.

#pragma once

#include "sm90_attention_backward_config.cuh"
#include "sm90_attention_backward_sums.cuh"

namespace attention_backward {

// Of a row's list, in mask `mask`; `number` is the order of key blocks that it weighs in.
__device__ __forceinline__ void place_list(const Problem& p, const int* columns, int count, int mask, int row,
                                           int number, bool partial) {
  int* const places = p.places + static_cast<int64_t>(mask) * p.columns * p.rows + row;
  for (int i = threadIdx.x; i < count; i += Config::kRowThreads) {
    const int column = columns[i];
    places[static_cast<int64_t>(column) * p.rows] = partial ? kFirstPartial + i : kWhole;
    atomicAdd(p.weights + number * p.columns + column, 1);
  }
}

// Columns by falling weight, equal ones as they come; a CTA.
__device__ __forceinline__ void sort_columns(const Problem& p, int number) {
  __shared__ int weights[Config::kMostSorted];
  const int* const given = p.weights + number * p.columns;
  int* const order = p.order + number * p.columns;
  const bool sorts = p.columns <= Config::kMostSorted;
  for (int i = threadIdx.x; i < p.columns; i += Config::kRowThreads) {
    if (sorts) {
      weights[i] = __ldcg(given + i);
    } else {
      order[i] = i;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; sorts && i < p.columns; i += Config::kRowThreads) {
    const int mine = weights[i];
    int before = 0;
    for (int j = 0; j < p.columns; ++j) {
      before += weights[j] > mine || (weights[j] == mine && j < i) ? 1 : 0;
    }
    order[before] = i;
  }
}

// One row's lists, of one mask. The last CTA of those that weigh the same key blocks sorts these.
__device__ __forceinline__ void place_blocks(const Problem& p, int list) {
  const AssayAttention& c = p.call.forward;
  const int mask = list / p.rows;
  const int row = list - mask * p.rows;
  const int number = key_mask_of(p, mask / c.mask_heads, mask % c.mask_heads / p.group);
  if (c.full_counts != nullptr) {
    place_list(p, c.full_columns + static_cast<int64_t>(list) * c.full_pitch, c.full_counts[list], mask, row, number,
               false);
  }
  if (c.partial_counts != nullptr) {
    place_list(p, c.partial_columns + static_cast<int64_t>(list) * c.partial_pitch, c.partial_counts[list], mask, row,
               number, true);
  }
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const int lists = c.mask_heads > 1 ? p.rows * p.group : p.rows;
    last = atomicAdd(p.placed + number, 1) == lists - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) {
    sort_columns(p, number);
  }
}

__device__ __forceinline__ float dot_pair(uint32_t left, uint32_t right, float sum) {
  const float2 a = mma::widen_pair(Element{}, left);
  const float2 b = mma::widen_pair(Element{}, right);
  return fmaf(a.x, b.x, fmaf(a.y, b.y, sum));
}

// One warp, some lanes for each query: part `number` of all heads' block rows.
__device__ __forceinline__ void reduce_part(const Problem& p, int number) {
  constexpr int kLanes = Config::kHeadDim / 8;  // of 16 bytes
  constexpr int kAtOnce = 32 / kLanes;
  const AssayAttention& c = p.call.forward;
  const int pair = number / (kParts * p.rows);
  const int batch = pair / c.heads;
  const int head = pair - batch * c.heads;
  const int lane = threadIdx.x % kLanes;
  int query = (number - pair * kParts * p.rows) * 16 + static_cast<int>(threadIdx.x) % 32 / kLanes;
  const auto* o = static_cast<const uint16_t*>(c.o) + batch * c.o_batch + head * c.o_head + query * c.o_row + lane * 8;
  const auto* grad = static_cast<const uint16_t*>(p.call.grad) + batch * p.call.grad_batch +
                     head * p.call.grad_head + query * p.call.grad_row + lane * 8;
#pragma unroll
  for (int i = 0; i < 16 / kAtOnce; ++i) {
    float sum = 0.0f;
    if (query < c.queries) {
      const uint4 left = *reinterpret_cast<const uint4*>(o);
      const uint4 right = *reinterpret_cast<const uint4*>(grad);
      sum = dot_pair(left.x, right.x, dot_pair(left.y, right.y, 0.0f)) +
            dot_pair(left.z, right.z, dot_pair(left.w, right.w, 0.0f));
    }
#pragma unroll
    for (int away = kLanes / 2; away > 0; away /= 2) {
      sum += __shfl_xor_sync(kAll, sum, away);
    }
    if (lane == 0) {
      const int64_t there = static_cast<int64_t>(pair) * c.queries + query;
      const float lse = query < c.queries ? c.lse[there] : -INFINITY;
      const bool any = lse != -INFINITY;
      const int64_t to = static_cast<int64_t>(pair) * p.rows * Config::kBlock + query;
      p.minus[to] = any ? -lse * 1.4426950408889634f : -INFINITY;
      p.delta[to] = any ? (p.call.grad_lse != nullptr ? p.call.grad_lse[there] : 0.0f) - sum : 0.0f;
    }
    query += kAtOnce;
    o += kAtOnce * c.o_row;
    grad += kAtOnce * p.call.grad_row;
  }
}

// CTAs 0 to placers - 1 place, the others reduce and clear.
__global__ void __launch_bounds__(Config::kRowThreads)
    attention_backward_rows_kernel(const __grid_constant__ Problem p, int placers) {
  const int index = static_cast<int>(blockIdx.x) - placers;
  if (index < 0) {
    place_blocks(p, index + placers);
  } else {
    const int number = index * kParts + static_cast<int>(threadIdx.x) / 32;
    if (number < parts_of_turn(p)) {
      clear_part(p, number);
    }
    reduce_part(p, number);
  }
}

}  // namespace attention_backward
