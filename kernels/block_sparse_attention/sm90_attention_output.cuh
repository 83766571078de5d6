// A consumer's way out: O and log-sum-exps from registers. Quads exchange words until each thread holds 16 bytes of a
// row.

#pragma once

#include "sm90_attention_softmax.cuh"

namespace attention {

// The thread's 16-byte part of 32 columns from `column` on, of its row `r`.
__device__ __forceinline__ void store_words(const AssayAttention& c, const Published& tile, int query, int column,
                                            const uint32_t (&words)[4]) {
  if (query < c.queries) {
    auto* o = static_cast<uint16_t*>(c.o) + tile.batch * c.o_batch + tile.head * c.o_head + query * c.o_row;
    *reinterpret_cast<uint4*>(o + column + threadIdx.x % 4 * 8) = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

__device__ __forceinline__ void store_lse(const AssayAttention& c, const Published& tile, int query, float lse) {
  if (c.lse != nullptr && threadIdx.x % 4 == 0 && query < c.queries) {
    c.lse[(static_cast<int64_t>(tile.batch) * c.heads + tile.head) * c.queries + query] = lse;
  }
}

__device__ __forceinline__ void store_tile(float (&accum)[Config::kAccum], const Softmax& state, const Problem& p,
                                           const Published& tile, int consumer) {
  const AssayAttention& c = p.call;
  const int query = query_of(tile, consumer);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float sum = quad_sum(state.sum[r]);
    const bool any = sum != 0.0f;  // it is NaN of a query that holds one
    const float share = any ? __fdividef(1.0f, sum) * p.of_output(c, tile.batch, tile.head / p.group) : 0.0f;
    // The natural logarithm of what a reference stands for: of 2, where it is an exponent.
    const float unit = Config::kScaled ? kLn2 : c.scale;
    store_lse(c, tile, query + 8 * r,
              any ? (state.reference[r] - Config::kLift) * unit + __logf(sum) : -INFINITY);
#pragma unroll
    for (int column = 0; column < Config::kHeadDim; column += 32) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = (column / 8 + i) * 4 + 2 * r;
        words[i] = mma::pack_pair(Config::Output{}, accum[at] * share, accum[at + 1] * share);
      }
      mma::transpose_quad(words);
      store_words(c, tile, query + 8 * r, column, words);
    }
  }
}

__device__ __forceinline__ void store_empty(const AssayAttention& c, const Published& tile, int consumer) {
  const int query = query_of(tile, consumer);
  const uint32_t zeros[4] = {0, 0, 0, 0};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    store_lse(c, tile, query + 8 * r, -INFINITY);
#pragma unroll
    for (int column = 0; column < Config::kHeadDim; column += 32) {
      store_words(c, tile, query + 8 * r, column, zeros);
    }
  }
}

}  // namespace attention
