// What a consumer does with a step: products, probabilities and factors, rounding, and the way out of the registers.

#pragma once

#include "sm90_attention_backward_config.cuh"
#include "sm90_attention_backward_mma.cuh"

namespace attention_backward {

// What a consumer knows of its 64 rows of a held block: where they lie in shared memory, or they themselves.
template <bool kRegisters>
struct Held {
  static constexpr int kPanelBytes = Config::kBlock * Config::kRowBytes;
  uint32_t shared;
  uint32_t words[kRegisters ? Config::kHeadDim / 4 : 1];

  // `block`: where the held block lies.
  __device__ __forceinline__ void load(uint32_t block, int consumer) {
    shared = block + consumer * Config::kConsumerRows * Config::kRowBytes;
    if constexpr (kRegisters) {
      const int lane = threadIdx.x % 32;
      const int row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
      for (int step = 0; step < Config::kHeadDim / 16; ++step) {
        uint32_t a[4];
        mma::ldmatrix_x4(a, shared + step / 4 * kPanelBytes + mma::swizzle_128b(row, step % 4 * 2 + lane / 16));
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          words[4 * step + i] = a[i];
        }
      }
    }
  }

  // Behind the loop over products; `never` is false, which no compiler knows. Without this last use ptxas 13.0 gives
  // registers of `words` to another product's left operand inside of the loop.
  __device__ __forceinline__ void last_use(bool never) const {
    if constexpr (kRegisters) {
      if (never) {
#pragma unroll
        for (int i = 0; i < Config::kHeadDim / 4; i += 4) {
          mma::stmatrix_x4(shared + 4 * i, words[i], words[i + 1], words[i + 2], words[i + 3]);
        }
      }
    }
  }
};

// scores (64 x kRows) = held (64 x HEAD_DIM) * passing (kRows x HEAD_DIM)^T, added to what is there where kAdd; kRows is
// twice the number of scores.
template <bool kAdd, bool kRegisters, int kScores>
__device__ __forceinline__ void multiply_held(float (&scores)[kScores], const Held<kRegisters>& held,
                                              uint32_t passing) {
  constexpr int kPanelBytes = 2 * kScores * Config::kRowBytes;
  const uint64_t desc_held = mma::smem_descriptor_128b(held.shared, 0, 8 * Config::kRowBytes);
  const uint64_t desc_passing = mma::smem_descriptor_128b(passing, 0, 8 * Config::kRowBytes);
#pragma unroll
  for (int step = 0; step < Config::kHeadDim / 16; ++step) {
    const int panel = step / 4;
    const int within = step % 4 * 32;
    const uint64_t b = desc_passing + ((panel * kPanelBytes + within) >> 4);
    if constexpr (kRegisters) {
      if (step == 0) {
        mma::wgmma_scores<kAdd>(Element{}, scores, held.words, b);
      } else {
        mma::wgmma_scores<true>(Element{}, scores, held.words + 4 * step, b);
      }
    } else {
      const uint64_t a = desc_held + ((panel * Held<kRegisters>::kPanelBytes + within) >> 4);
      if (step == 0) {
        mma::wgmma_scores<kAdd>(Element{}, scores, a, b);
      } else {
        mma::wgmma_scores<true>(Element{}, scores, a, b);
      }
    }
  }
}

// accum (64 x HEAD_DIM) += left (64 x kRows) * passing (kRows x HEAD_DIM); kRows is four times the number of words.
template <int kWords>
__device__ __forceinline__ void multiply_passing(float (&accum)[Config::kAccum], const uint32_t (&left)[kWords],
                                                 uint32_t passing) {
  constexpr int kRows = 4 * kWords;
  const uint64_t desc = mma::smem_descriptor_128b(passing, kRows * Config::kRowBytes, 8 * Config::kRowBytes);
#pragma unroll
  for (int step = 0; step < kRows / 16; ++step) {
    mma::wgmma_values(Element{}, accum, left[4 * step], left[4 * step + 1], left[4 * step + 2], left[4 * step + 3],
                      desc + (step * 16 * Config::kRowBytes >> 4));
  }
}

// sums (64 queries x 64) = factors (128 keys x 64 queries)^T * held (128 keys x 64), both panels in shared memory.
__device__ __forceinline__ void multiply_sums(float (&sums)[32], uint32_t factors, uint32_t held) {
  constexpr int kLeading = Config::kBlock * Config::kRowBytes;  // of a second panel, which no product here has
  const uint64_t a = mma::smem_descriptor_128b(factors, kLeading, 8 * Config::kRowBytes);
  const uint64_t b = mma::smem_descriptor_128b(held, kLeading, 8 * Config::kRowBytes);
#pragma unroll
  for (int step = 0; step < Config::kBlock / 16; ++step) {
    const uint64_t further = step * 16 * Config::kRowBytes >> 4;
    if (step == 0) {
      mma::wgmma_transposed<false>(Element{}, sums, a, b);
    } else {
      mma::wgmma_transposed<true>(Element{}, sums, a + further, b + further);
    }
  }
}

// `minus`: a number for each of the 64 queries, which are columns.
__device__ __forceinline__ void to_probabilities(float (&scores)[Config::kScores], float scale_log2,
                                                 const float* minus) {
#pragma unroll
  for (int j = 0; j < Config::kScores / 4; ++j) {
    const float2 at = *reinterpret_cast<const float2*>(minus + threadIdx.x % 4 * 2 + 8 * j);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      scores[4 * j + 2 * r] = ptx::exp2_approx(fmaf(scores[4 * j + 2 * r], scale_log2, at.x));
      scores[4 * j + 2 * r + 1] = ptx::exp2_approx(fmaf(scores[4 * j + 2 * r + 1], scale_log2, at.y));
    }
  }
}

// `delta`: a number for each of the 64 queries, where sums of slopes begin.
__device__ __forceinline__ void begin_slopes(float (&slopes)[Config::kScores], const float* delta) {
#pragma unroll
  for (int j = 0; j < Config::kScores / 4; ++j) {
    const float2 at = *reinterpret_cast<const float2*>(delta + threadIdx.x % 4 * 2 + 8 * j);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      slopes[4 * j + 2 * r] = at.x;
      slopes[4 * j + 2 * r + 1] = at.y;
    }
  }
}

// Two neighbours, as they were computed or as they were rounded.
__device__ __forceinline__ float2 pair_of(const float (&probabilities)[Config::kScores], int pair) {
  return make_float2(probabilities[2 * pair], probabilities[2 * pair + 1]);
}
__device__ __forceinline__ float2 pair_of(const uint32_t (&probabilities)[Config::kScores / 2], int pair) {
  return mma::widen_pair(Element{}, probabilities[pair]);
}

// slopes, which began as delta, becomes the factors.
template <typename Probabilities>
__device__ __forceinline__ void to_factors(float (&slopes)[Config::kScores], const Probabilities& probabilities) {
#pragma unroll
  for (int i = 0; i < Config::kScores / 2; ++i) {
    const float2 by = pair_of(probabilities, i);
    slopes[2 * i] *= by.x;
    slopes[2 * i + 1] *= by.y;
  }
}

// A product's accumulators are the next one's left operand, word for word: pairs of neighbouring columns.
template <int kWords>
__device__ __forceinline__ void round_pairs(uint32_t (&words)[kWords], const float (&scores)[2 * kWords]) {
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    words[i] = mma::pack_pair(Element{}, scores[2 * i], scores[2 * i + 1]);
  }
}

// The products in flight read these registers: nothing may take their place before this line.
template <int kWords>
__device__ __forceinline__ void hold(uint32_t (&words)[kWords]) {
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    asm volatile("" : "+r"(words[i])::"memory");
  }
}

// Of the warp's 16 rows: the first, within the held block.
__device__ __forceinline__ int first_row(int consumer) {
  return consumer * Config::kConsumerRows + threadIdx.x / 32 % 4 * 16;
}

// The warp's 16 keys of [128 keys][64 queries] in shared memory.
__device__ __forceinline__ void store_factors(uint32_t shared, const uint32_t (&words)[Config::kScores / 2],
                                              int consumer) {
  const int lane = threadIdx.x % 32;
  const uint32_t to = shared + mma::swizzle_128b(first_row(consumer) + lane % 16, lane / 16);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    mma::stmatrix_x4(to ^ 32 * i, words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
  }
}

// Row `row` of the held block and that 8 further down, as far as there are `rows`. `to`: the block's first row.
__device__ __forceinline__ void store_rows(const float (&accum)[Config::kAccum], float factor, uint16_t* to,
                                           int64_t stride, int row, int rows) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int column = 0; column < Config::kHeadDim; column += 32) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = (column / 8 + i) * 4 + 2 * r;
        words[i] = mma::pack_pair(Element{}, accum[at] * factor, accum[at + 1] * factor);
      }
      mma::transpose_quad(words);
      if (row + 8 * r < rows) {
        *reinterpret_cast<uint4*>(to + (row + 8 * r) * stride + column + threadIdx.x % 4 * 8) =
            make_uint4(words[0], words[1], words[2], words[3]);
      }
    }
  }
}

}  // namespace attention_backward
