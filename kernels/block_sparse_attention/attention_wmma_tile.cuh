// Fused attention by WMMA: what one warp does with its 16 queries. attention_wmma.cu brings K and V with cp.async,
// sm90_attention_tma_wmma.cu with TMA; both go through a row's blocks in steps of 64 keys.
//
//   scores   S (16 x 64) = Q K^T, Q in fragments all the while; S goes to the warp's patch of shared memory in fp32,
//            for WMMA does not say which lane holds which element
//   softmax  two lanes a row: running maximum and sum in fp32; probabilities, rounded, take the place of the scores
//   values   O (16 x HEAD_DIM) = O * (what the maximum has grown by) + P V
//
// Which rows a lane's eight elements of an accumulator belong to is found out once, by loading an accumulator from a
// matrix of row numbers; O is then rescaled in its fragments, without a way through shared memory.
//
// Patch of a warp: 16 rows of 72 floats. 72 words apart, the rows that eight lanes read 16 bytes of share no banks.
// Rows of K, V and Q are 16 bytes longer than they need be, for the same reason.

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "attention_lists.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"

#if !defined(HEAD_DIM)
#error "define HEAD_DIM, 64 or 128 (kernel.yaml lists the variants)"
#endif
#ifndef QUERIES  // of a CTA, 16 a warp
#define QUERIES 128
#endif
#ifndef DTYPE  // 0 fp16, 1 bf16
#define DTYPE 0
#endif

namespace attention_wmma {

#if DTYPE == 0
using Element = __half;
using Packed = mma::Half;
#elif DTYPE == 1
using Element = __nv_bfloat16;
using Packed = mma::Bfloat16;
#else
#error "DTYPE is 0 or 1"
#endif

struct Tile {
  static constexpr int kHeadDim = HEAD_DIM;
  static constexpr int kQueries = QUERIES;
  static constexpr int kKeys = 64;  // of a step
  static constexpr int kStepsPerBlock = attention::kBlock / kKeys;
  static constexpr int kFragment = 16;
  static constexpr int kWarps = kQueries / kFragment;
  static constexpr int kDimFragments = kHeadDim / kFragment;
  static constexpr int kKeyFragments = kKeys / kFragment;

  static constexpr int kStride = kHeadDim + 8;  // elements of a row of Q, K or V in shared memory
  static constexpr int kStepBytes = 2 * kKeys * kStride;  // of K or of V
  static constexpr int kQueryBytes = 2 * kQueries * kStride;

  static constexpr int kPatchStride = kKeys + 8;  // floats
  static constexpr int kPatchFloats = kFragment * kPatchStride;
  static constexpr int kScaleFloats = kFragment;
  static constexpr int kPatchesBytes = 4 * kWarps * kPatchFloats;
  static constexpr int kScalesBytes = 4 * kWarps * kScaleFloats;

  static_assert(kHeadDim == 64 || kHeadDim == 128, "fragments of O and Q must fit the registers");
  static_assert(kQueries == 64 || kQueries == 128, "a CTA's queries lie within one stored block");
  static_assert(kQueryBytes <= kPatchesBytes, "Q lands where the scores lie later");
};

using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
using QueryFragment = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, Element, nvcuda::wmma::row_major>;
using KeyFragment = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, Element, nvcuda::wmma::col_major>;
using ValueFragment = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, Element, nvcuda::wmma::row_major>;

// A CTA's queries.
struct Place {
  int batch;
  int head;
  int row;    // block row
  int query;  // the first one

  __device__ __forceinline__ int kv_head(const AssayAttention& call) const {
    return head / (call.heads / call.kv_heads);
  }
};

__device__ __forceinline__ Place place_at(const AssayAttention& call) {
  constexpr int kPartsPerRow = attention::kBlock / Tile::kQueries;
  Place place{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x) / kPartsPerRow,
              0};
  if (call.order != nullptr) {
    place.row = call.order[attention::mask_row(call, place.batch, place.head, place.row)];
  }
  place.query = place.row * attention::kBlock + static_cast<int>(blockIdx.x) % kPartsPerRow * Tile::kQueries;
  return place;
}

// What a warp keeps from step to step. Lane i counts for row i / 2 of its queries.
struct WarpState {
  QueryFragment q[Tile::kDimFragments];
  Accumulator o[Tile::kDimFragments];
  int rows[Accumulator::num_elements];  // of the lane's elements of an accumulator
  float maximum = -INFINITY;            // of the row's exponents of 2
  float sum = 0.0f;                     // of the lane's half of the row
};

// `patch` holds row numbers for a moment; `q` are the warp's queries as they landed, elsewhere.
__device__ __forceinline__ void find_rows(WarpState& state, float* patch) {
  const int lane = threadIdx.x % 32;
  for (int i = lane; i < Tile::kFragment * Tile::kFragment; i += 32) {
    patch[i / Tile::kFragment * Tile::kPatchStride + i % Tile::kFragment] = static_cast<float>(i / Tile::kFragment);
  }
  __syncwarp();
  Accumulator numbers;
  nvcuda::wmma::load_matrix_sync(numbers, patch, Tile::kPatchStride, nvcuda::wmma::mem_row_major);
#pragma unroll
  for (int e = 0; e < Accumulator::num_elements; ++e) {
    state.rows[e] = static_cast<int>(numbers.x[e]);
  }
  __syncwarp();
}

__device__ __forceinline__ void load_queries(WarpState& state, const Element* q) {
#pragma unroll
  for (int d = 0; d < Tile::kDimFragments; ++d) {
    nvcuda::wmma::load_matrix_sync(state.q[d], q + d * Tile::kFragment, Tile::kStride);
    nvcuda::wmma::fill_fragment(state.o[d], 0.0f);
  }
}

// `k`: 64 keys. The patch is the warp's own.
__device__ __forceinline__ void multiply_scores(const WarpState& state, const Element* k, float* patch) {
  Accumulator scores[Tile::kKeyFragments];
#pragma unroll
  for (int j = 0; j < Tile::kKeyFragments; ++j) {
    nvcuda::wmma::fill_fragment(scores[j], 0.0f);
  }
#pragma unroll
  for (int d = 0; d < Tile::kDimFragments; ++d) {
#pragma unroll
    for (int j = 0; j < Tile::kKeyFragments; ++j) {
      KeyFragment keys;
      nvcuda::wmma::load_matrix_sync(keys, k + j * Tile::kFragment * Tile::kStride + d * Tile::kFragment,
                                     Tile::kStride);
      nvcuda::wmma::mma_sync(scores[j], state.q[d], keys, scores[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < Tile::kKeyFragments; ++j) {
    nvcuda::wmma::store_matrix_sync(patch + j * Tile::kFragment, scores[j], Tile::kPatchStride,
                                    nvcuda::wmma::mem_row_major);
  }
  __syncwarp();
}

// `first` is the step's first key within its block, `range` which keys of the block count for the lane's query. Leaves
// probabilities in the patch, what O is to be multiplied by in `scales`; returns whether that is other than 1 anywhere.
__device__ __forceinline__ bool softmax_step(WarpState& state, float* patch, float* scales, float to_log2, int first,
                                             const attention::KeyRange& range) {
  constexpr int kVectors = Tile::kKeys / 8;  // of four scores, a lane
  const int lane = threadIdx.x % 32;
  const int half = lane % 2;
  float* row = patch + lane / 2 * Tile::kPatchStride;
  float values[kVectors][4];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const float4 four = *reinterpret_cast<const float4*>(row + (2 * i + half) * 4);
    values[i][0] = four.x * to_log2;
    values[i][1] = four.y * to_log2;
    values[i][2] = four.z * to_log2;
    values[i][3] = four.w * to_log2;
  }
  if (!range.all(first, Tile::kKeys)) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        values[i][j] = range.has(first + (2 * i + half) * 4 + j) ? values[i][j] : -INFINITY;
      }
    }
  }
  float maximum = state.maximum;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      maximum = fmaxf(maximum, values[i][j]);
    }
  }
  maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, 1));
  __syncwarp();  // the probabilities of a lane lie where its neighbour's scores were; a shuffle orders no memory
  const float reference = maximum == -INFINITY ? 0.0f : maximum;
  const float scale = ptx::exp2_approx(state.maximum - reference);
  state.maximum = maximum;
  state.sum *= scale;
  auto* probabilities = reinterpret_cast<uint2*>(row);
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      values[i][j] = ptx::exp2_approx(values[i][j] - reference);
      state.sum += values[i][j];
    }
    probabilities[2 * i + half] = make_uint2(mma::pack_pair(Packed{}, values[i][0], values[i][1]),
                                             mma::pack_pair(Packed{}, values[i][2], values[i][3]));
  }
  if (half == 0) {
    scales[lane / 2] = scale;
  }
  return __any_sync(0xffffffffu, scale != 1.0f);
}

__device__ __forceinline__ void scale_rows(WarpState& state, const float* scales) {
  float factors[Accumulator::num_elements];
#pragma unroll
  for (int e = 0; e < Accumulator::num_elements; ++e) {
    factors[e] = scales[state.rows[e]];
  }
#pragma unroll
  for (int d = 0; d < Tile::kDimFragments; ++d) {
#pragma unroll
    for (int e = 0; e < Accumulator::num_elements; ++e) {
      state.o[d].x[e] *= factors[e];
    }
  }
}

// `v`: 64 keys. Nobody needs the probabilities afterwards.
__device__ __forceinline__ void multiply_values(WarpState& state, const Element* v, const float* patch) {
  const auto* probabilities = reinterpret_cast<const Element*>(patch);
#pragma unroll
  for (int j = 0; j < Tile::kKeyFragments; ++j) {
    QueryFragment p;
    nvcuda::wmma::load_matrix_sync(p, probabilities + j * Tile::kFragment, 2 * Tile::kPatchStride);
#pragma unroll
    for (int d = 0; d < Tile::kDimFragments; ++d) {
      ValueFragment values;
      nvcuda::wmma::load_matrix_sync(values, v + j * Tile::kFragment * Tile::kStride + d * Tile::kFragment,
                                     Tile::kStride);
      nvcuda::wmma::mma_sync(state.o[d], p, values, state.o[d]);
    }
  }
  // All products have been issued, so all of V has been read: whoever is told so next may overwrite it.
#pragma unroll
  for (int d = 0; d < Tile::kDimFragments; ++d) {
#pragma unroll
    for (float& output : state.o[d].x) {
      asm volatile("" : "+f"(output)::"memory");
    }
  }
  __syncwarp();
}

// O divided by the sums, and the log-sum-exp; `query` is the warp's first one. 64 columns of O at a time pass through
// the patch.
__device__ __forceinline__ void finish(WarpState& state, const AssayAttention& call, const Place& place, int query,
                                       float* patch, float* scales) {
  constexpr float kLn2 = 0.6931471805599453f;
  const int lane = threadIdx.x % 32;
  const float sum = state.sum + __shfl_xor_sync(0xffffffffu, state.sum, 1);
  const int mine = query + lane / 2;
  if (lane % 2 == 0) {
    const bool any = sum != 0.0f;  // it is NaN of a query that holds one
    scales[lane / 2] = any ? 1.0f / sum : 0.0f;
    if (call.lse != nullptr && mine < call.queries) {
      const int64_t at = static_cast<int64_t>(place.batch * call.heads + place.head) * call.queries + mine;
      call.lse[at] = any ? (state.maximum + log2f(sum)) * kLn2 : -INFINITY;
    }
  }
  __syncwarp();
  scale_rows(state, scales);
  auto* o = static_cast<uint16_t*>(call.o) + place.batch * call.o_batch + place.head * call.o_head;
#pragma unroll
  for (int from = 0; from < Tile::kHeadDim; from += Tile::kKeys) {
#pragma unroll
    for (int j = 0; j < Tile::kKeyFragments; ++j) {
      nvcuda::wmma::store_matrix_sync(patch + j * Tile::kFragment, state.o[from / Tile::kFragment + j],
                                      Tile::kPatchStride, nvcuda::wmma::mem_row_major);
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < Tile::kFragment * Tile::kKeys / 8; i += 32) {
      const int row = i / (Tile::kKeys / 8);
      const int col = i % (Tile::kKeys / 8) * 8;
      const float4 low = *reinterpret_cast<const float4*>(patch + row * Tile::kPatchStride + col);
      const float4 high = *reinterpret_cast<const float4*>(patch + row * Tile::kPatchStride + col + 4);
      if (query + row < call.queries) {
        *reinterpret_cast<uint4*>(o + (query + row) * call.o_row + from + col) =
            make_uint4(mma::pack_pair(Packed{}, low.x, low.y), mma::pack_pair(Packed{}, low.z, low.w),
                       mma::pack_pair(Packed{}, high.x, high.y), mma::pack_pair(Packed{}, high.z, high.w));
      }
    }
    __syncwarp();
  }
}

// The walk over a row's blocks in steps of 64 keys, as producers and consumers share it.
struct Step {
  int slot;
  int first;  // key within the block

  __device__ __forceinline__ explicit Step(int step)
      : slot(step / Tile::kStepsPerBlock), first(step % Tile::kStepsPerBlock * Tile::kKeys) {}
};

// Scores to probabilities of one step, O rescaled.
__device__ __forceinline__ void softmax_of(WarpState& state, const AssayAttention& call,
                                           const attention::BlockList& list, const Step& step, int query, float* patch,
                                           float* scales) {
  attention::KeyRange range{0, attention::kBlock, nullptr};
  if (step.slot >= list.full_count || call.keys % attention::kBlock != 0) {
    range = attention::key_range(call, list, step.slot, list.column(step.slot), query + threadIdx.x % 32 / 2);
  }
  const bool grown = softmax_step(state, patch, scales, call.scale * 1.4426950408889634f, step.first, range);
  __syncwarp();
  if (grown) {
    scale_rows(state, scales);
  }
}

}  // namespace attention_wmma
