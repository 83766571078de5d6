// Second launch: segmented softmax in fp32, a warp for each query. Its segments, 128 scores for every block of its row,
// lie side by side; which scores of a partial block count is asked here.
//
// 16 bytes a lane and load. The loads of up to 16 blocks stay in registers: all of them are on their way at once, and
// every score is read once. Longer rows are read twice, first for maximum and sum, then for the probabilities, the
// second time mostly from L2. Where lists have room for 8 blocks or fewer, the kernel holds no more: fewer registers,
// more warps an SM. CTAs go from the last row to the first: the scores written last are still in L2, and the
// probabilities written last are those that the next launch wants first.
// Writes probabilities, divided by their sum and rounded, and the log-sum-exp. A query without any score: probabilities
// 0, log-sum-exp -infinity.

#pragma once

#include "sm90_unfused_common.cuh"

namespace unfused {

struct SoftmaxConfig {
  static constexpr int kWarps = 8;
  static constexpr int kScores = 16 / static_cast<int>(sizeof(Score));  // a lane and load
  static constexpr int kWarpScores = 32 * kScores;
  static constexpr int kHeldShort = 8 * kBlock / kWarpScores;  // loads
  static constexpr int kHeldLong = 16 * kBlock / kWarpScores;
  static constexpr float kLn2 = 0.6931471805599453f;
};

using Scores = float[SoftmaxConfig::kScores];

__device__ __forceinline__ void unpack(const uint4& raw, float (&scores)[4]) {
  scores[0] = __uint_as_float(raw.x);
  scores[1] = __uint_as_float(raw.y);
  scores[2] = __uint_as_float(raw.z);
  scores[3] = __uint_as_float(raw.w);
}

__device__ __forceinline__ void unpack(const uint4& raw, float (&scores)[8]) {
  const uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(&words[i]));
    scores[2 * i] = pair.x;
    scores[2 * i + 1] = pair.y;
  }
}

// One query's row as a warp sees it.
struct QueryRow {
  const Problem& p;
  attention::BlockList list;
  const Score* from;
  uint16_t* to;
  int query;
  float to_log2;  // what an fp32 score is multiplied by to be an exponent of 2

  __device__ __forceinline__ int loads() const {
    return (list.count * kBlock + SoftmaxConfig::kWarpScores - 1) / SoftmaxConfig::kWarpScores;
  }
  __device__ __forceinline__ int first(int load) const {
    return load * SoftmaxConfig::kWarpScores + threadIdx.x % 32 * SoftmaxConfig::kScores;
  }
  __device__ __forceinline__ uint4 read(int load) const {
    const int at = first(load);
    return at < list.count * kBlock ? *reinterpret_cast<const uint4*>(from + at) : make_uint4(0, 0, 0, 0);
  }
  // Exponents of 2; -infinity where a score does not count.
  __device__ __forceinline__ void exponents(const uint4& raw, int load, Scores& scores) const {
    unpack(raw, scores);
    if constexpr (SCORES == 32) {  // fp16 scores are exponents already
#pragma unroll
      for (float& score : scores) {
        score *= to_log2;
      }
    }
    const int slot = first(load) / kBlock;
    if (slot < list.full_count && p.call.keys % kBlock == 0) {
      return;
    }
    const int key = first(load) % kBlock;
    attention::KeyRange range{0, 0, nullptr};
    if (slot < list.count) {
      range = attention::key_range(p.call, list, slot, list.column(slot), query);
    }
    if (!range.all(key, SoftmaxConfig::kScores)) {
#pragma unroll
      for (int i = 0; i < SoftmaxConfig::kScores; ++i) {
        scores[i] = range.has(key + i) ? scores[i] : -INFINITY;
      }
    }
  }
  __device__ __forceinline__ void write(const Scores& p_values, int load) const {
    uint32_t words[SoftmaxConfig::kScores / 2];
#pragma unroll
    for (int i = 0; i < SoftmaxConfig::kScores / 2; ++i) {
      words[i] = mma::pack_pair(Element{}, p_values[2 * i], p_values[2 * i + 1]);
    }
    const int at = first(load);
    if (at < list.count * kBlock) {
      if constexpr (SoftmaxConfig::kScores == 4) {
        *reinterpret_cast<uint2*>(to + at) = make_uint2(words[0], words[1]);
      } else {
        *reinterpret_cast<uint4*>(to + at) = make_uint4(words[0], words[1], words[2], words[3]);
      }
    }
  }
};

__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lane));
  }
  return x;
}

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, lane);
  }
  return x;
}

// Log-sum-exp of exponents of 2 whose maximum is `maximum`. A sum is 0 of a query without a key, NaN of one with a NaN.
__device__ __forceinline__ void write_lse(const QueryRow& row, const Place& place, float maximum, float sum) {
  const AssayAttention& call = row.p.call;
  if (call.lse != nullptr && threadIdx.x % 32 == 0) {
    const int64_t at = static_cast<int64_t>(place.batch * call.heads + place.head) * call.queries + row.query;
    call.lse[at] = sum != 0.0f ? (maximum + log2f(sum)) * SoftmaxConfig::kLn2 : -INFINITY;
  }
}

// At most kHeld loads.
template <int kHeld>
__device__ __forceinline__ void softmax_held(const QueryRow& row, const Place& place) {
  const int loads = row.loads();
  uint4 raw[kHeld];
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    if (i < loads) {
      raw[i] = row.read(i);
    }
  }
  Scores values[kHeld];
  float maximum = -INFINITY;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    if (i < loads) {
      row.exponents(raw[i], i, values[i]);
#pragma unroll
      for (const float value : values[i]) {
        maximum = fmaxf(maximum, value);
      }
    }
  }
  maximum = warp_max(maximum);
  const float reference = maximum == -INFINITY ? 0.0f : maximum;
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    if (i < loads) {
#pragma unroll
      for (float& value : values[i]) {
        value = ptx::exp2_approx(value - reference);
        sum += value;
      }
    }
  }
  sum = warp_sum(sum);
  const float factor = sum != 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    if (i < loads) {
#pragma unroll
      for (float& value : values[i]) {
        value *= factor;
      }
      row.write(values[i], i);
    }
  }
  write_lse(row, place, maximum, sum);
}

// Any number of loads: two passes, each lane with a maximum and a sum of its own in the first.
__device__ __forceinline__ void softmax_long(const QueryRow& row, const Place& place) {
  const int loads = row.loads();
  float maximum = -INFINITY;
  float sum = 0.0f;
#pragma unroll 4
  for (int i = 0; i < loads; ++i) {
    Scores values;
    row.exponents(row.read(i), i, values);
    float higher = maximum;
#pragma unroll
    for (const float value : values) {
      higher = fmaxf(higher, value);
    }
    const float reference = higher == -INFINITY ? 0.0f : higher;
    sum *= ptx::exp2_approx(maximum - reference);
    maximum = higher;
#pragma unroll
    for (const float value : values) {
      sum += ptx::exp2_approx(value - reference);
    }
  }
  const float highest = warp_max(maximum);
  const float reference = highest == -INFINITY ? 0.0f : highest;
  sum = warp_sum(sum * ptx::exp2_approx(maximum - reference));
  const float factor = sum != 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll 4
  for (int i = 0; i < loads; ++i) {
    Scores values;
    row.exponents(row.read(i), i, values);
#pragma unroll
    for (float& value : values) {
      value = ptx::exp2_approx(value - reference) * factor;
    }
    row.write(values, i);
  }
  write_lse(row, place, highest, sum);
}

// kHeld loads at most are held; kCtas an SM shall fit.
template <int kHeld, int kCtas>
__global__ void __launch_bounds__(32 * SoftmaxConfig::kWarps, kCtas)
    sm90_unfused_softmax_kernel(const __grid_constant__ Problem p) {
  constexpr int kCtasPerRow = kBlock / SoftmaxConfig::kWarps;
  const int cta = static_cast<int>(gridDim.x - 1 - blockIdx.x);
  const int index = cta / kCtasPerRow;
  const Place place = place_at(p, index / p.rows, index % p.rows);
  const int within = cta % kCtasPerRow * SoftmaxConfig::kWarps + threadIdx.x / 32;
  const int query = place.row * kBlock + within;
  const attention::BlockList list = attention::block_list(p.call, place.batch, place.head, place.row);
  const int64_t at = (static_cast<int64_t>(index) * kBlock + within) * p.pitch * kBlock;
  const QueryRow row{p, list, p.scores + at, p.probabilities + at, query, p.call.scale * kLog2E};
  ptx::grid_dependents_launch();
  ptx::grid_dependency_wait();
  if (query >= p.call.queries) {
    return;
  }
  if (row.loads() <= kHeld) {
    softmax_held<kHeld>(row, place);
  } else {
    softmax_long(row, place);
  }
}

}  // namespace unfused
