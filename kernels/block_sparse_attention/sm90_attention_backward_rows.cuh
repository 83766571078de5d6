// The first launch: of each query, -lse * log2(e) and delta, the sum of its products of O and its gradient; and of each
// key block, which block rows list it.

#pragma once

#include "sm90_attention_backward_config.cuh"
#include "sm90_attention_backward_mma.cuh"

namespace attention_backward {

__device__ __forceinline__ float dot_pair(uint32_t left, uint32_t right, float sum) {
  const float2 a = mma::widen_pair(Element{}, left);
  const float2 b = mma::widen_pair(Element{}, right);
  return fmaf(a.x, b.x, fmaf(a.y, b.y, sum));
}

// A block row's queries, some lanes of a warp for each.
__device__ __forceinline__ void reduce_rows(const Problem& p, int pair, int row) {
  constexpr int kLanes = Config::kHeadDim / 8;  // of 16 bytes
  constexpr int kAtOnce = Config::kRowThreads / kLanes;
  const AssayAttention& c = p.call.forward;
  const int batch = pair / c.heads;
  const int head = pair - batch * c.heads;
  const int lane = threadIdx.x % kLanes;
  const auto* const o = static_cast<const uint16_t*>(c.o) + batch * c.o_batch + head * c.o_head + lane * 8;
  const auto* const grad =
      static_cast<const uint16_t*>(p.call.grad) + batch * p.call.grad_batch + head * p.call.grad_head + lane * 8;
#pragma unroll
  for (int within = threadIdx.x / kLanes; within < Config::kBlock; within += kAtOnce) {
    const int query = row * Config::kBlock + within;
    float sum = 0.0f;
    if (query < c.queries) {
      const uint4 left = *reinterpret_cast<const uint4*>(o + query * c.o_row);
      const uint4 right = *reinterpret_cast<const uint4*>(grad + query * p.call.grad_row);
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
      const int64_t to = (static_cast<int64_t>(pair) * p.rows + row) * Config::kBlock + within;
      p.minus[to] = any ? -lse * 1.4426950408889634f : -INFINITY;
      p.delta[to] = any ? sum - (p.call.grad_lse != nullptr ? p.call.grad_lse[there] : 0.0f) : 0.0f;
    }
  }
}

// One row's lists, of one mask.
__device__ __forceinline__ void place_blocks(const Problem& p, int list) {
  const AssayAttention& c = p.call.forward;
  const int mask = list / p.rows;
  const int row = list - mask * p.rows;
  int* const places = p.places + static_cast<int64_t>(mask) * p.columns * p.rows + row;
  const int full = c.full_counts != nullptr ? c.full_counts[list] : 0;
  for (int i = threadIdx.x; i < full; i += Config::kRowThreads) {
    const int column = c.full_columns[static_cast<int64_t>(list) * c.full_pitch + i];
    places[static_cast<int64_t>(column) * p.rows] = kWhole;
  }
  const int partial = c.partial_counts != nullptr ? c.partial_counts[list] : 0;
  for (int i = threadIdx.x; i < partial; i += Config::kRowThreads) {
    const int column = c.partial_columns[static_cast<int64_t>(list) * c.partial_pitch + i];
    places[static_cast<int64_t>(column) * p.rows] = kFirstPartial + i;
  }
}

// CTAs 0 to pairs * rows - 1 reduce, the others place.
__global__ void __launch_bounds__(Config::kRowThreads)
    attention_backward_rows_kernel(const __grid_constant__ Problem p, int reducers) {
  const int index = static_cast<int>(blockIdx.x);
  if (index < reducers) {
    reduce_rows(p, index / p.rows, index % p.rows);
  } else {
    place_blocks(p, index - reducers);
  }
}

}  // namespace attention_backward
