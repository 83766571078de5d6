// A consumer's softmax: masks, exponentials, sums, and the rounding of probabilities.

#pragma once

#include "sm90_attention_config.cuh"
#include "sm90_attention_fp8.cuh"

namespace attention {

// Of a thread's two rows, lane / 4 and 8 further down: the maximum that exponents refer to, and the thread's own part
// of the sum. Where steps have scales of their own, a maximum is an exponent; else a score.
struct Softmax {
  float reference[2] = {-INFINITY, -INFINITY};
  float minus[2] = {INFINITY, INFINITY};  // kLift less the exponent of the reference
  float sum[2] = {0.0f, 0.0f};
};

// Bits n to 31.
__device__ __forceinline__ uint32_t bits_from(int n) { return n <= 0 ? ~0u : n > 31 ? 0u : ~0u << n; }

// Scores that do not count become -infinity: beyond the last key, and in partial blocks what the bits or the window
// leave out. `row`: the first of the warp's rows within the tile.
__device__ __forceinline__ void apply_mask(float (&scores)[Config::kScores], const Problem& p, const Published& tile,
                                           const StepKeys& keys, int row) {
  const AssayAttention& c = p.call;
  const int lane = threadIdx.x % 32;
  const int64_t list = list_of(p, tile.batch, tile.head, tile.row / Config::kBlockTiles);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int query = tile.row * Config::kTileRows + row + lane / 4 + 8 * r;
    const int middle = query + c.keys - c.queries;
#pragma unroll
    for (int i = 0; i < Config::kParts; ++i) {
      int low = 0;
      int high = c.keys - 1;
      const uint32_t* words = nullptr;
      if (keys.part[i] >= 0) {
        if (c.partial_bits != nullptr) {
          words = c.partial_bits + ((list * c.partial_pitch + keys.part[i]) * Config::kBlock + query % Config::kBlock) *
                                       (Config::kBlock / 32);
        } else {
          low = c.window_left < 0 ? low : middle - c.window_left;
          high = c.window_right < 0 ? high : min(high, middle + c.window_right);
        }
      }
#pragma unroll
      for (int w = 0; w < Config::kBlock / 32; ++w) {
        const int key = keys.key[i] + 32 * w;
        uint32_t counts = bits_from(low - key) & ~bits_from(high + 1 - key);
        if (words != nullptr) {
          counts &= words[w];
        }
        counts >>= lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& score = scores[4 * (i * Config::kBlock / 8 + 4 * w + j) + 2 * r + e];
            score = (counts >> (8 * j + e) & 1) != 0 ? score : -INFINITY;
          }
        }
      }
    }
  }
}

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAll, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAll, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(kAll, x, 1);
  return x + __shfl_xor_sync(kAll, x, 2);
}

// Scores of some groups of 8 keys become probabilities: 2^(score * scale_log2 + minus), by row. `parts`: their sums.
template <int kBegin, int kEnd>
__device__ __forceinline__ void add_exponentials(float (&scores)[Config::kScores], const float (&minus)[2],
                                                 float (&parts)[2][2], float scale_log2) {
#pragma unroll
  for (int j = kBegin; j < kEnd; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& score = scores[4 * j + i];
      score = ptx::exp2_approx(fmaf(score, scale_log2, minus[i / 2]));
      parts[i / 2][i % 2] += score;
    }
  }
}

// The same of all, of FP8 times the scale of their values; `between` runs when one in kHidden of them is there. `sums`:
// the thread's.
template <typename Between>
__device__ __forceinline__ void take_exponentials(float (&scores)[Config::kScores], const float (&row_minus)[2],
                                                  float (&sums)[2], float scale_log2, const StepScale& scale,
                                                  const Between& between) {
  constexpr int kGroups = Config::kScores / 4;
  float parts[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};
  float minus[2] = {row_minus[0], row_minus[1]};
  if constexpr (Config::kScaled) {
    minus[0] += scale.values_log2;
    minus[1] += scale.values_log2;
  }
  constexpr int kFirst = kGroups / Config::kHidden;
  add_exponentials<0, kFirst>(scores, minus, parts, scale_log2);
  between(parts);
  add_exponentials<kFirst, kGroups>(scores, minus, parts, scale_log2);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    sums[r] = parts[r][0] + parts[r][1];
  }
}
__device__ __forceinline__ void take_exponentials(float (&scores)[Config::kScores], const float (&row_minus)[2],
                                                  float (&sums)[2], float scale_log2, const StepScale& scale) {
  take_exponentials(scores, row_minus, sums, scale_log2, scale, [](const float (&)[2][2]) {});
}

// A step's sums join the rows'. Those of FP8 have a scale, that of the values.
__device__ __forceinline__ void add_sums(Softmax& state, const float (&sums)[2], const StepScale& scale) {
  const float whole = Config::kScaled ? ptx::exp2_approx(-scale.values_log2) : 1.0f;
  state.sum[0] += sums[0] * whole;
  state.sum[1] += sums[1] * whole;
}

// Probabilities of FP8 whose sums are beyond `most` are made smaller by a power of two, and so are references from here
// on. True where that is so of any row; `factor` then has it, too.
__device__ __forceinline__ bool lower(float (&scores)[Config::kScores], Softmax& state, float (&sums)[2],
                                      float (&factor)[2], float most) {
  if (!__any_sync(kAll, sums[0] > most || sums[1] > most)) {
    return false;
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float top = quad_max(sums[r]);
    const int exponent = static_cast<int>(__float_as_uint(top) >> 23) - 127;
    const int orders = top > most ? exponent - Config::kSettledLog2 : 0;
    const float by = __uint_as_float(static_cast<uint32_t>(127 - orders) << 23);
    state.reference[r] += static_cast<float>(orders);
    state.minus[r] -= static_cast<float>(orders);
    state.sum[r] *= by;
    sums[r] *= by;
    factor[r] *= by;
#pragma unroll
    for (int j = 0; j < Config::kScores / 4; ++j) {
      scores[4 * j + 2 * r] *= by;
      scores[4 * j + 2 * r + 1] *= by;
    }
  }
  return true;
}

// Scores become probabilities, relative to the state's references. True where the warp's sums so far had to be scaled,
// by `factor`, to new ones: what was accumulated with them must be, too.
__device__ __forceinline__ bool exponentiate(float (&scores)[Config::kScores], Softmax& state, float (&factor)[2],
                                             float score_log2, const StepScale& scale) {
  const float scale_log2 = Config::kScaled ? 1.0f : score_log2;  // of a reference
  float top[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float even = fmaxf(scores[2 * r], scores[2 * r + 1]);
    float odd = fmaxf(scores[4 + 2 * r], scores[4 + 2 * r + 1]);
#pragma unroll
    for (int j = 2; j < Config::kScores / 4; j += 2) {
      even = fmaxf(even, fmaxf(scores[4 * j + 2 * r], scores[4 * j + 2 * r + 1]));
      odd = fmaxf(odd, fmaxf(scores[4 * j + 4 + 2 * r], scores[4 * j + 4 + 2 * r + 1]));
    }
    top[r] = quad_max(fmaxf(even, odd));
    if constexpr (Config::kScaled) {
      top[r] = fmaf(top[r], score_log2, scale.values_log2);
    }
  }
  // Both -infinity: no number, and not greater.
  const bool outgrown = (top[0] - state.reference[0]) * scale_log2 > Config::kSlack ||
                        (top[1] - state.reference[1]) * scale_log2 > Config::kSlack;
  const bool scaled = __any_sync(kAll, outgrown);
  if (scaled) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float reference = fmaxf(state.reference[r], top[r]);
      const float by = reference == -INFINITY ? 0.0f : reference;
      factor[r] = ptx::exp2_approx((state.reference[r] - by) * scale_log2);
      state.reference[r] = reference;
      state.minus[r] = -reference * scale_log2;
      if constexpr (Config::kScaled) {
        state.minus[r] += Config::kLift;
      }
      state.sum[r] *= factor[r];
    }
  }
  // A row without any score: its reference is no number to refer to.
  float minus[2];
  float sums[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    minus[r] = state.reference[r] == -INFINITY ? 0.0f : state.minus[r];
  }
  take_exponentials(scores, minus, sums, score_log2, scale);
  bool lowered = false;
  if constexpr (Config::kScaled && Config::kCheckedSums) {
    if (!scaled) {
      factor[0] = factor[1] = 1.0f;
    }
    lowered = lower(scores, state, sums, factor, 2.0f * Config::kSettledSum);
  }
  add_sums(state, sums, scale);
  return scaled || lowered;
}

__device__ __forceinline__ void scale_accum(float (&accum)[Config::kAccum], const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < Config::kAccum; ++i) {
    accum[i] *= factor[i / 2 % 2];
  }
}

// A product's accumulators are the next one's left operand, word for word: pairs of neighbouring columns. A word of FP8
// has the pairs of two such words; V's rows stand in the order that follows (attention_fp8_call.cuh).
template <typename Type>
__device__ __forceinline__ uint32_t round_word(Type type, const float (&scores)[Config::kScores], int i) {
  return mma::pack_pair(type, scores[2 * i], scores[2 * i + 1]);
}
__device__ __forceinline__ uint32_t round_word(mma::Float8E4M3, const float (&scores)[Config::kScores], int i) {
  const float* const pair = scores + i / 2 * 8 + i % 2 * 2;
  return mma::pack_e4m3(pair[0], pair[1], pair[4], pair[5]);
}

__device__ __forceinline__ void round_probabilities(uint32_t (&p)[Config::kProbabilities],
                                                    const float (&scores)[Config::kScores]) {
#pragma unroll
  for (int i = 0; i < Config::kProbabilities; ++i) {
    p[i] = round_word(Element{}, scores, i);
  }
}

// ptxas moves the wait for products up over whatever does not depend on them, and the exponentials would run after the
// products instead of beside them. It moves nothing over a branch, and this one, which is never taken, depends on all.
__device__ __forceinline__ void stay_before(const float (&sums)[2]) {
  if (sums[0] + sums[1] < 0.0f) {
    __trap();
  }
}

}  // namespace attention
