// Scores that do not count: those of a partial block, and of keys past the last.

#pragma once

#include "sm90_attention_backward_config.cuh"

namespace attention_backward {

// They become -infinity. A thread's rows are keys `key` and `key` + 8; `counts` tells of a query which of both count,
// in bits 0 and 8.
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

// K is zero past the end, but a probability there may be infinite, and the gradient by Q would be no number.
template <int kScores>
__device__ __forceinline__ void mask_scores(float (&scores)[kScores], const Problem& p, const Step& step,
                                            int key) {
  const AssayAttention& c = p.call.forward;
  const int first = step.first + threadIdx.x % 4 * 2;
  const uint32_t there = (key < c.keys ? 1u : 0u) | (key + 8 < c.keys ? 0x100u : 0u);
  if (step.part < kFirstPartial) {
    mask_columns(scores, first, [&](int) { return there; });
  } else if (c.partial_bits != nullptr) {
    const int64_t block = static_cast<int64_t>(step.list) * c.partial_pitch + step.part - kFirstPartial;
    constexpr int kWords = Config::kBlock / 32;
    const uint32_t* const words = c.partial_bits + block * Config::kBlock * kWords + key % Config::kBlock / 32;
    // Keys 8 apart, the first below 8 of 16, are in one word.
    mask_columns(scores, first,
                 [&](int query) { return words[query % Config::kBlock * kWords] >> (key % 32) & there; });
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
      return word & there;
    });
  }
}

}  // namespace attention_backward
