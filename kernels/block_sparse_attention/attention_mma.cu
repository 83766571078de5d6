// O = softmax(scale * Q K^T over the stored blocks) V, and its log-sum-exp, in one kernel by mma.sync, ldmatrix and
// cp.async: for GPUs without wgmma (sm_80, sm_89). 16-bit in and out, fp32 scores and sums.
//
//   a CTA    the BLOCK queries of one block row of one head, BLOCK / WARPS a warp, all warps through the same keys
//   copies   a ring of STAGES stages, KEYS rows of K and of V each; every thread copies 16 bytes at a time, past L1,
//            STAGES - 1 steps ahead. Keys beyond the last become zeros.
//   a step   one wait and one barrier | the copies of a later step start | scores | softmax | values
//
// Q waits in registers all the while, as left operands; it lands in the last stage first. Scores leave the first product
// as the left operand of the second, word for word, so that nothing but Q, K and V passes through shared memory. Chunks
// of 16 bytes are XORed with their row's number: neither copies nor ldmatrix meet a bank conflict.
//
// Softmax: O and the sums stay scaled by an older maximum until the new one has outgrown it by 2^8 in any row of the
// warp: probabilities then reach 256 at most, which fp16 holds with the same relative precision.
//
//   define    means
//   HEAD_DIM  64 or 128
//   DTYPE     0 fp16, 1 bf16
//   BLOCK     128 or 64: queries and keys of a stored block
//   WARPS     of a CTA; a warp has 16 or 32 queries
//   KEYS      of a step: 64 or 32
//   STAGES    2 or more
//   CTAS      that an SM is to hold
//
// Shared memory: 4 * KEYS * HEAD_DIM * STAGES bytes; sm_89 has 101376 for a CTA, and 1024 fewer for each further one.
// Any numbers of queries and keys. No workspace. sm_80 or later.
// Requires: 16-byte aligned pointers, strides that are multiples of 8 elements, columns within the keys.

#include "attention_lists.cuh"
#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"

#if !defined(HEAD_DIM) || !defined(WARPS) || !defined(KEYS) || !defined(STAGES) || !defined(CTAS)
#error "define HEAD_DIM, WARPS, KEYS, STAGES and CTAS (kernel.yaml lists the variants)"
#endif
#ifndef DTYPE
#define DTYPE 0
#endif

namespace attention_mma {
namespace {

constexpr unsigned kAll = 0xffffffffu;

struct Config {
  static_assert(DTYPE == 0 || DTYPE == 1, "DTYPE is 0 or 1");
  using Element = mma::ElementOf<DTYPE>::Type;
  static constexpr int kHeadDim = HEAD_DIM;
  static constexpr int kQueries = attention::kBlock;  // of a CTA
  static constexpr int kKeys = KEYS;                  // of a step
  static constexpr int kStages = STAGES;
  static constexpr int kCtas = CTAS;
  static constexpr int kThreads = 32 * WARPS;
  static constexpr int kStepsPerBlock = attention::kBlock / kKeys;

  static constexpr int kWarpQueries = kQueries / WARPS;
  static constexpr int kRowTiles = kWarpQueries / 16;  // m of a product is 16
  static constexpr int kKeyTiles = kKeys / 8;          // n of the first product is 8
  static constexpr int kDimTiles = kHeadDim / 8;       // n of the second
  static constexpr int kDimSteps = kHeadDim / 16;      // k of the first is 16
  static constexpr int kKeySteps = kKeys / 16;         // k of the second

  static constexpr int kRowBytes = 2 * kHeadDim;
  static constexpr int kTileBytes = kKeys * kRowBytes;  // K or V of a step
  static constexpr int kStageBytes = 2 * kTileBytes;
  static constexpr int kSharedBytes = kStages * kStageBytes;
  static constexpr float kSlack = 8.0f;  // binary orders by which a maximum may be outgrown

  static_assert(kHeadDim == 64 || kHeadDim == 128, "Q and O must fit the registers");
  static_assert(kQueries == 64 || kQueries == 128, "a CTA has a block row");
  static_assert(kWarpQueries == 16 || kWarpQueries == 32, "Q and O must fit the registers");
  static_assert(kKeys == 32 || kKeys == 64, "masks come in words of 32 bits, scores must fit the registers");
  static_assert(kStages >= 2, "copies need a stage that is not being read");
  static_assert(kQueries * kRowBytes <= kStageBytes, "Q lands in one stage");
};

// ---- where a CTA works -------------------------------------------------------------------------------------

struct Place {
  int batch;
  int head;
  int row;    // block row
  int query;  // the first one
};

// Heads one after the other, so that a head's K and V stay in L2. Below a diagonal, the last rows are the longest.
__device__ __forceinline__ Place place_at(const AssayAttention& call) {
  const int rows = attention::block_rows(call);
  const int pair = static_cast<int>(blockIdx.x) / rows;
  Place place{pair / call.heads, pair % call.heads, static_cast<int>(blockIdx.x) % rows, 0};
  if (call.order != nullptr) {
    place.row = call.order[attention::mask_row(call, place.batch, place.head, place.row)];
  } else if (call.window_right >= 0) {
    place.row = rows - 1 - place.row;
  }
  place.query = place.row * Config::kQueries;
  return place;
}

// ---- shared memory -----------------------------------------------------------------------------------------

// Byte offset of a 16-byte chunk of a row.
__device__ __forceinline__ uint32_t offset_of(int row, int chunk) {
  return row * Config::kRowBytes + (chunk ^ row % 8) * 16;
}

// All threads: kRows rows of HEAD_DIM elements, rows from `live` on as zeros.
template <int kRows>
__device__ __forceinline__ void copy_rows(uint32_t to, const uint16_t* from, int64_t stride, int live) {
  constexpr int kChunks = Config::kRowBytes / 16;
  constexpr int kRowsPerPass = Config::kThreads / kChunks;
  static_assert(kRowsPerPass % 8 == 0 && kRows % kRowsPerPass == 0, "passes are whole and keep the swizzle's phase");
  const int first = threadIdx.x / kChunks;
  const int chunk = threadIdx.x % kChunks;
  const uint32_t place = to + offset_of(first, chunk);
#pragma unroll
  for (int pass = 0; pass < kRows / kRowsPerPass; ++pass) {
    const int row = first + pass * kRowsPerPass;
    const bool here = row < live;
    ptx::cp_async_16<ptx::L2Prefetch::k128B>(place + pass * kRowsPerPass * Config::kRowBytes,
                                             from + (here ? row * stride : 0) + chunk * 8, here ? 16 : 0);
  }
}

// ---- a warp's work -----------------------------------------------------------------------------------------

using Scores = float[Config::kRowTiles][Config::kKeyTiles][4];

// Element e of a tile of an accumulator is the thread's in row lane / 4 + e / 2 * 8, column lane % 4 * 2 + e % 2.
struct WarpState {
  uint32_t q[Config::kRowTiles][Config::kDimSteps][4];
  float o[Config::kRowTiles][Config::kDimTiles][4] = {};
  float reference[Config::kRowTiles][2];  // the maximum that exponents refer to
  float sum[Config::kRowTiles][2];        // the thread's own part

  __device__ __forceinline__ WarpState() {
#pragma unroll
    for (int i = 0; i < Config::kRowTiles; ++i) {
      reference[i][0] = reference[i][1] = -INFINITY;
      sum[i][0] = sum[i][1] = 0.0f;
    }
  }
};

// `tile`: Q as it landed.
__device__ __forceinline__ void load_queries(WarpState& state, uint32_t tile) {
  const int lane = threadIdx.x % 32;
  const int row = static_cast<int>(threadIdx.x) / 32 * Config::kWarpQueries + lane % 16;
#pragma unroll
  for (int i = 0; i < Config::kRowTiles; ++i) {
#pragma unroll
    for (int d = 0; d < Config::kDimSteps; ++d) {
      mma::ldmatrix_x4(state.q[i][d], tile + offset_of(row + 16 * i, 2 * d + lane / 16));
    }
  }
}

// `keys`: K of the step. One load brings 16 keys of 16 elements: the right operands of two products.
__device__ __forceinline__ void multiply_scores(Scores& scores, const WarpState& state, uint32_t keys) {
  const int lane = threadIdx.x % 32;
  const uint32_t from = keys + offset_of(lane / 16 * 8 + lane % 8, lane / 8 % 2);
#pragma unroll
  for (int d = 0; d < Config::kDimSteps; ++d) {
#pragma unroll
    for (int j = 0; j < Config::kKeyTiles; j += 2) {
      uint32_t k[4];
      mma::ldmatrix_x4(k, (from ^ 32 * d) + j * 8 * Config::kRowBytes);
#pragma unroll
      for (int i = 0; i < Config::kRowTiles; ++i) {
        mma::mma_m16n8k16(Config::Element{}, scores[i][j], state.q[i][d], k[0], k[1]);
        mma::mma_m16n8k16(Config::Element{}, scores[i][j + 1], state.q[i][d], k[2], k[3]);
      }
    }
  }
}

// `query`: the thread's first. `key`: the step's first within the block.
__device__ __forceinline__ void apply_mask(Scores& scores, const AssayAttention& call, const attention::BlockList& list,
                                           int slot, int column, int key, int query) {
  const int shift = threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < Config::kRowTiles; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const attention::KeyRange range = attention::key_range(call, list, slot, column, query + 16 * i + 8 * r);
#pragma unroll
      for (int w = 0; w < Config::kKeys / 32; ++w) {
        const uint32_t bits = range.bits(key / 32 + w) >> shift;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& score = scores[i][4 * w + j][2 * r + e];
            score = (bits >> (8 * j + e) & 1) != 0 ? score : -INFINITY;
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

// Scores become probabilities, relative to the rows' references.
__device__ __forceinline__ void exponentiate(Scores& scores, WarpState& state, float scale_log2) {
  float top[Config::kRowTiles][2];
  bool outgrown = false;
#pragma unroll
  for (int i = 0; i < Config::kRowTiles; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float most = -INFINITY;
#pragma unroll
      for (int j = 0; j < Config::kKeyTiles; ++j) {
        most = fmaxf(most, fmaxf(scores[i][j][2 * r], scores[i][j][2 * r + 1]));
      }
      top[i][r] = quad_max(most);
      // Both -infinity: no number, and not greater.
      outgrown = outgrown || (top[i][r] - state.reference[i][r]) * scale_log2 > Config::kSlack;
    }
  }
  if (__any_sync(kAll, outgrown)) {
#pragma unroll
    for (int i = 0; i < Config::kRowTiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float reference = fmaxf(state.reference[i][r], top[i][r]);
        const float by = reference == -INFINITY ? 0.0f : reference;
        const float factor = ptx::exp2_approx((state.reference[i][r] - by) * scale_log2);
        state.reference[i][r] = reference;
        state.sum[i][r] *= factor;
#pragma unroll
        for (int j = 0; j < Config::kDimTiles; ++j) {
          state.o[i][j][2 * r] *= factor;
          state.o[i][j][2 * r + 1] *= factor;
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < Config::kRowTiles; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // A row without any score: its reference is no number to refer to.
      const float minus = state.reference[i][r] == -INFINITY ? 0.0f : -state.reference[i][r] * scale_log2;
      float parts[2] = {0.0f, 0.0f};
#pragma unroll
      for (int j = 0; j < Config::kKeyTiles; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores[i][j][2 * r + e];
          score = ptx::exp2_approx(fmaf(score, scale_log2, minus));
          parts[e] += score;
        }
      }
      state.sum[i][r] += parts[0] + parts[1];
    }
  }
}

// `values`: V of the step.
__device__ __forceinline__ void multiply_values(WarpState& state, const Scores& probabilities, uint32_t values) {
  const int lane = threadIdx.x % 32;
  const uint32_t from = values + offset_of(lane % 16, lane / 16);
#pragma unroll
  for (int t = 0; t < Config::kKeySteps; ++t) {
    uint32_t p[Config::kRowTiles][4];
#pragma unroll
    for (int i = 0; i < Config::kRowTiles; ++i) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const float* pair = &probabilities[i][2 * t + w / 2][w % 2 * 2];
        p[i][w] = mma::pack_pair(Config::Element{}, pair[0], pair[1]);
      }
    }
#pragma unroll
    for (int j = 0; j < Config::kDimTiles; j += 2) {
      uint32_t v[4];
      mma::ldmatrix_x4_trans(v, (from ^ 16 * j) + t * 16 * Config::kRowBytes);
#pragma unroll
      for (int i = 0; i < Config::kRowTiles; ++i) {
        mma::mma_m16n8k16(Config::Element{}, state.o[i][j], p[i], v[0], v[1]);
        mma::mma_m16n8k16(Config::Element{}, state.o[i][j + 1], p[i], v[2], v[3]);
      }
    }
  }
}

// Quads exchange words until each thread holds 16 bytes of a row. `query`: the thread's first.
__device__ __forceinline__ void store(const WarpState& state, const AssayAttention& call, const Place& place, int query) {
  auto* o = static_cast<uint16_t*>(call.o) + place.batch * call.o_batch + place.head * call.o_head;
  float* lse = call.lse + (static_cast<int64_t>(place.batch) * call.heads + place.head) * call.queries;
#pragma unroll
  for (int i = 0; i < Config::kRowTiles; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = query + 16 * i + 8 * r;
      const float sum = quad_sum(state.sum[i][r]);
      const bool any = sum != 0.0f;  // it is NaN of a query that holds one
      const float share = any ? __fdividef(1.0f, sum) : 0.0f;
      if (call.lse != nullptr && threadIdx.x % 4 == 0 && row < call.queries) {
        lse[row] = any ? state.reference[i][r] * call.scale + __logf(sum) : -INFINITY;
      }
#pragma unroll
      for (int first = 0; first < Config::kDimTiles; first += 4) {
        uint32_t words[4];
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          const float* pair = &state.o[i][first + t][2 * r];
          words[t] = mma::pack_pair(Config::Element{}, pair[0] * share, pair[1] * share);
        }
        mma::transpose_quad(words);
        if (row < call.queries) {
          *reinterpret_cast<uint4*>(o + row * call.o_row + (first + threadIdx.x % 4) * 8) =
              make_uint4(words[0], words[1], words[2], words[3]);
        }
      }
    }
  }
}

// ---- a CTA -------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(Config::kThreads, Config::kCtas)
    attention_mma_kernel(const __grid_constant__ AssayAttention call) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t base = ptx::shared_address(memory);
  const Place place = place_at(call);
  const attention::BlockList list = attention::block_list(call, place.batch, place.head, place.row);
  const int steps = list.count * Config::kStepsPerBlock;
  const int kv_head = place.head / (call.heads / call.kv_heads);
  const auto* q = static_cast<const uint16_t*>(call.q) + place.batch * call.q_batch + place.head * call.q_head;
  const auto* k = static_cast<const uint16_t*>(call.k) + place.batch * call.k_batch + kv_head * call.k_head;
  const auto* v = static_cast<const uint16_t*>(call.v) + place.batch * call.v_batch + kv_head * call.v_head;

  const auto column_of = [&](int step) { return step < steps ? list.column(step / Config::kStepsPerBlock) : 0; };
  // K and V of a step; a group of its own, empty after the last step.
  const auto copy = [&](int step, int column) {
    if (step < steps) {
      const uint32_t to = base + step % Config::kStages * Config::kStageBytes;
      const int key = column * attention::kBlock + step % Config::kStepsPerBlock * Config::kKeys;
      // A step may begin beyond the last key: then nothing is read, and no address beyond the tensor is formed.
      const int live = max(0, call.keys - key);
      const int64_t first = live > 0 ? key : 0;
      copy_rows<Config::kKeys>(to, k + first * call.k_row, call.k_row, live);
      copy_rows<Config::kKeys>(to + Config::kTileBytes, v + first * call.v_row, call.v_row, live);
    }
    ptx::cp_async_commit();
  };

  constexpr int kAhead = Config::kStages - 1;
  const uint32_t queries = base + kAhead * Config::kStageBytes;
  copy_rows<Config::kQueries>(queries, q + place.query * call.q_row, call.q_row, call.queries - place.query);
  ptx::cp_async_commit();
  int columns[kAhead + 1];  // of this step and those after it; the last one is not being copied yet
#pragma unroll
  for (int step = 0; step < kAhead; ++step) {
    columns[step] = column_of(step);
    copy(step, columns[step]);
  }
  columns[kAhead] = column_of(kAhead);
  WarpState state;
  ptx::cp_async_wait<kAhead>();
  __syncthreads();
  load_queries(state, queries);

  const int query = place.query + static_cast<int>(threadIdx.x) / 32 * Config::kWarpQueries + threadIdx.x % 32 / 4;
  const float scale_log2 = call.scale * 1.4426950408889634f;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ptx::cp_async_wait<Config::kStages - 2>();
    __syncthreads();  // the step is here, and everybody has left the one before: its stage may be filled
    copy(step + kAhead, columns[kAhead]);
    const int column = columns[0];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      columns[i] = columns[i + 1];
    }
    columns[kAhead] = column_of(step + Config::kStages);

    const uint32_t keys = base + step % Config::kStages * Config::kStageBytes;
    Scores scores = {};
    multiply_scores(scores, state, keys);
    const int slot = step / Config::kStepsPerBlock;
    if (slot >= list.full_count || (column + 1) * attention::kBlock > call.keys) {
      apply_mask(scores, call, list, slot, column, step % Config::kStepsPerBlock * Config::kKeys, query);
    }
    exponentiate(scores, state, scale_log2);
    multiply_values(state, scores, keys + Config::kTileBytes);
  }
  ptx::cp_async_wait<0>();
  store(state, call, place, query);
}

}  // namespace
}  // namespace attention_mma

extern "C" size_t assay_block_sparse_attention_workspace(const AssayAttention* /*call*/) { return 0; }

extern "C" int assay_block_sparse_attention(const AssayAttention* call, void* /*workspace*/, size_t /*workspace_bytes*/,
                                            void* stream) {
  using namespace attention_mma;
  const int64_t tiles = static_cast<int64_t>(call->batches) * call->heads * attention::block_rows(*call);
  if (!attention::is_valid(*call) || !(call->scale > 0.0f) || tiles > INT32_MAX || call->keys > INT32_MAX / 4) {
    return cudaErrorInvalidValue;
  }
  launch::DeviceLimits limits;
  const cudaError_t error = launch::prepare(attention_mma_kernel, Config::kSharedBytes, &limits);
  if (error != cudaSuccess) {
    return error;
  }
  attention_mma_kernel<<<static_cast<unsigned>(tiles), Config::kThreads, Config::kSharedBytes,
                         static_cast<cudaStream_t>(stream)>>>(*call);
  return cudaGetLastError();
}
