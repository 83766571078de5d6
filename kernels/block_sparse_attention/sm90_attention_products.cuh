// A consumer's products: scores from queries and keys, values from probabilities.

#pragma once

#include "sm90_attention_config.cuh"
#include "sm90_attention_fp8.cuh"
#include "sm90_attention_mma.cuh"

namespace attention {

// What a consumer knows of its 64 queries: where they lie in shared memory, or they themselves.
struct Queries {
  uint32_t shared;
  static constexpr int kWords = 4 * Config::kScoreProducts;
  uint32_t words[Config::kQRegisters ? kWords : 1];

  // 16 rows of 32 bytes for this warp, as the left operand of a product.
  __device__ __forceinline__ void fragment(uint32_t (&a)[4], int step) const {
    const int lane = threadIdx.x % 32;
    const int row = threadIdx.x / 32 % 4 * 16 + lane % 16;
    mma::ldmatrix_x4(a, shared + step / 4 * Config::kQPanelBytes + mma::swizzle_128b(row, step % 4 * 2 + lane / 16));
  }

  __device__ __forceinline__ void operand(uint32_t (&a)[4], int step) const {
    if constexpr (Config::kQRegisters) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = words[4 * step + i];
      }
    } else {
      fragment(a, step);
    }
  }

  __device__ __forceinline__ void load() {
    if constexpr (Config::kQRegisters) {
#pragma unroll
      for (int step = 0; step < Config::kScoreProducts; ++step) {
        uint32_t a[4];
        fragment(a, step);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          words[4 * step + i] = a[i];
        }
      }
    }
  }

  // Before products that read them, and after the wait for these.
  __device__ __forceinline__ void hold() {
    if constexpr (Config::kQRegisters) {
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        asm volatile("" : "+r"(words[i])::"memory");
      }
    }
  }
};

// scores (64 x 128) = Q (64 x HEAD_DIM) * K (128 x HEAD_DIM)^T
__device__ __forceinline__ void multiply_scores(float (&scores)[Config::kScores], const Queries& q, uint32_t k) {
  const uint64_t desc_q = mma::smem_descriptor_128b(q.shared, 0, 8 * Config::kRowBytes);
  const uint64_t desc_k = mma::smem_descriptor_128b(k, 0, 8 * Config::kRowBytes);
#pragma unroll
  for (int step = 0; step < Config::kScoreProducts; ++step) {
    const int panel = step / 4;
    const int within = step % 4 * 32;
    const uint64_t b = desc_k + ((panel * Config::kSlotPanelBytes + within) >> 4);
    if constexpr (Config::kQRegisters) {
      if (step == 0) {
        mma::wgmma_scores<false>(Element{}, scores, q.words, b);
      } else {
        mma::wgmma_scores<true>(Element{}, scores, q.words + 4 * step, b);
      }
    } else {
      const uint64_t a = desc_q + ((panel * Config::kQPanelBytes + within) >> 4);
      if (step == 0) {
        mma::wgmma_scores<false>(Element{}, scores, a, b);
      } else {
        mma::wgmma_scores<true>(Element{}, scores, a, b);
      }
    }
  }
}

// accum (64 x HEAD_DIM) += P (64 x 128) * V (128 x HEAD_DIM); of FP8, V^T is there.
__device__ __forceinline__ void multiply_values(float (&accum)[Config::kAccum],
                                                const uint32_t (&p)[Config::kProbabilities], uint32_t v) {
  constexpr int kStepBytes = Config::kScaled ? 32 : 16 * Config::kRowBytes;
  const uint64_t desc = mma::smem_descriptor_128b(v, Config::kSlotPanelBytes, 8 * Config::kRowBytes);
#pragma unroll
  for (int step = 0; step < Config::kValueProducts; ++step) {
    mma::wgmma_values(Element{}, accum, p[4 * step], p[4 * step + 1], p[4 * step + 2], p[4 * step + 3],
                      desc + (step * kStepBytes >> 4));
  }
}

// One warp: its 16 rows of a tile's scores with these keys, as multiply_scores leaves them. Keys come from global
// memory, for their slot has been given back; so do queries that may have left theirs.
__device__ __forceinline__ void multiply_scores_by_warp(float (&scores)[Config::kScores], const Queries& queries,
                                                        const Problem& p, const Published& tile, int consumer,
                                                        const StepKeys& keys) {
  const AssayAttention& c = p.call;
  const int lane = threadIdx.x % 32;
  const auto* const k = static_cast<const uint16_t*>(c.k) + tile.batch * c.k_batch + tile.head / p.group * c.k_head +
                        lane / 4 * c.k_row + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < Config::kScores; ++i) {
    scores[i] = 0.0f;
  }
  const auto multiply = [&](const uint32_t(&a)[4], int j, int step) {
    constexpr int kGroups = Config::kBlock / 8;  // of 8 keys, in a block
    const auto* const words =
        reinterpret_cast<const uint32_t*>(k + (keys.key[j / kGroups] + j % kGroups * 8) * c.k_row);
    mma::mma_m16n8k16(Element{}, scores + 4 * j, a, words[8 * step], words[8 * step + 4]);
  };
  if constexpr (Config::kChecksLast && !Config::kQRegisters) {
    const uint32_t* rows[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int query = min(query_of(tile, consumer) + 8 * r, c.queries - 1);  // rows behind it are not stored
      rows[r] = reinterpret_cast<const uint32_t*>(static_cast<const uint16_t*>(c.q) + tile.batch * c.q_batch +
                                                  tile.head * c.q_head + query * c.q_row + lane % 4 * 2);
    }
#pragma unroll 1
    for (int step = 0; step < Config::kScoreProducts; ++step) {
      const uint32_t a[4] = {rows[0][8 * step], rows[1][8 * step], rows[0][8 * step + 4], rows[1][8 * step + 4]};
#pragma unroll
      for (int j = 0; j < Config::kScores / 4; ++j) {
        multiply(a, j, step);
      }
    }
  } else {
#pragma unroll
    for (int j = 0; j < Config::kScores / 4; ++j) {
#pragma unroll
      for (int step = 0; step < Config::kScoreProducts; ++step) {
        uint32_t a[4];
        queries.operand(a, step);
        multiply(a, j, step);
      }
    }
  }
}

// One warp: the same with keys from their slot.
__device__ __forceinline__ void multiply_scores_by_warp(float (&scores)[Config::kScores], const Queries& q,
                                                        uint32_t k) {
  const int lane = threadIdx.x % 32;
  const int key = lane % 8 + lane / 16 * 8;
#pragma unroll
  for (int i = 0; i < Config::kScores; ++i) {
    scores[i] = 0.0f;
  }
  const auto multiply = [&](const uint32_t(&a)[4], int step) {
#pragma unroll
    for (int j = 0; j < Config::kScores / 4; j += 2) {
      uint32_t b[4];
      mma::ldmatrix_x4(b, k + step / 4 * Config::kSlotPanelBytes +
                              mma::swizzle_128b(key + 8 * j, step % 4 * 2 + lane / 8 % 2));
      mma::mma_m16n8k16(Element{}, scores + 4 * j, a, b[0], b[1]);
      mma::mma_m16n8k16(Element{}, scores + 4 * j + 4, a, b[2], b[3]);
    }
  };
  if constexpr (Config::kQRegisters) {
#pragma unroll
    for (int step = 0; step < Config::kScoreProducts; ++step) {
      const uint32_t a[4] = {q.words[4 * step], q.words[4 * step + 1], q.words[4 * step + 2], q.words[4 * step + 3]};
      multiply(a, step);
    }
  } else {
#pragma unroll 1
    for (int step = 0; step < Config::kScoreProducts; ++step) {
      uint32_t a[4];
      q.fragment(a, step);
      multiply(a, step);
    }
  }
}

// The products in flight read these registers: nothing may take their place before this line.
__device__ __forceinline__ void hold(uint32_t (&p)[Config::kProbabilities]) {
#pragma unroll
  for (int i = 0; i < Config::kProbabilities; ++i) {
    asm volatile("" : "+r"(p[i])::"memory");
  }
}

}  // namespace attention
