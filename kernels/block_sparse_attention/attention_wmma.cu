// O = softmax(scale * Q K^T over the stored blocks) V, and its log-sum-exp, in one kernel: WMMA products and an online
// softmax, K and V by cp.async. The first step of fusion, as source 001's option 2 describes it (no TMA); what a warp
// does with its queries is in attention_wmma_tile.cuh.
//
//   a CTA    QUERIES queries of one head, 16 a warp, all warps through the same keys, 64 a step
//   copies   two places for K and two for V; while one step is multiplied, the next lands. K and V are groups of their
//            own, so that scores do not wait for V. All threads copy 16 bytes at a time, past L1; keys beyond the last
//            become zeros.
//   a step   K here | K of the next step starts | scores, softmax | V here | V of the next starts | values
//
// Shared memory: 2 x K [64][HEAD_DIM + 8], 2 x V the same; for each warp a patch (Q lands there first) and 16 floats.
// HEAD_DIM 128 with QUERIES 128: 107008 bytes, more than sm_89 has; with QUERIES 64: 88320.
//
//   define    means
//   HEAD_DIM  64 or 128
//   QUERIES   128 or 64
//   DTYPE     0 fp16, 1 bf16
//
// Stored blocks of 128 x 128 alone; any numbers of queries and keys. No workspace. sm_80 or later.
// Requires: 16-byte aligned pointers, strides that are multiples of 8 elements, columns within the keys.

#include "attention_wmma_tile.cuh"
#include "common/launch.cuh"
#include "common/ptx.cuh"

namespace attention_wmma {
namespace {

struct Config {
  static constexpr int kThreads = 32 * Tile::kWarps;
  static constexpr int kBuffers = 2;
  static constexpr int kOffsetV = kBuffers * Tile::kStepBytes;
  static constexpr int kOffsetPatches = 2 * kBuffers * Tile::kStepBytes;
  static constexpr int kOffsetScales = kOffsetPatches + Tile::kPatchesBytes;
  static constexpr int kSharedBytes = kOffsetScales + Tile::kScalesBytes;
  static constexpr int kCtasPerSm = Tile::kHeadDim == 64 || Tile::kQueries == 64 ? 2 : 1;
};

// All threads: kRows rows of HEAD_DIM elements, rows from `live` on as zeros.
template <int kRows>
__device__ __forceinline__ void copy_rows(uint32_t shared, const void* base, int64_t offset, int64_t stride, int live) {
  constexpr int kVectors = Tile::kHeadDim / 8;
  const auto* from = static_cast<const uint16_t*>(base) + offset;
#pragma unroll
  for (int i = threadIdx.x; i < kRows * kVectors; i += Config::kThreads) {
    const int row = i / kVectors;
    const int col = i % kVectors * 8;
    const bool here = row < live;
    ptx::cp_async_16<ptx::L2Prefetch::kNone>(shared + 2 * (row * Tile::kStride + col),
                                             from + (here ? row * stride : 0) + col, here ? 16 : 0);
  }
}

// K or V of one step; a group of its own, empty after the last step.
struct Copies {
  const AssayAttention& call;
  const attention::BlockList& list;
  int steps;

  __device__ __forceinline__ void start(int number, uint32_t shared, const void* base, int64_t offset,
                                        int64_t stride) const {
    if (number < steps) {
      const Step step(number);
      const int key = list.column(step.slot) * attention::kBlock + step.first;
      // A step may begin beyond the last key: then nothing is read, and no address beyond the tensor is formed.
      const int live = max(0, call.keys - key);
      copy_rows<Tile::kKeys>(shared + number % Config::kBuffers * Tile::kStepBytes, base,
                             offset + (live > 0 ? key * stride : 0), stride, live);
    }
    ptx::cp_async_commit();
  }
};

__global__ void __launch_bounds__(Config::kThreads, Config::kCtasPerSm)
    attention_wmma_kernel(const __grid_constant__ AssayAttention call) {
  extern __shared__ __align__(128) unsigned char memory[];
  const uint32_t base = ptx::shared_address(memory);
  const Place place = place_at(call);
  if (place.query >= call.queries) {
    return;  // the second half of a block row that ends before it
  }
  const attention::BlockList list = attention::block_list(call, place.batch, place.head, place.row);
  const int steps = list.count * Tile::kStepsPerBlock;
  const Copies copies{call, list, steps};
  const int64_t offset_k = place.batch * call.k_batch + place.kv_head(call) * call.k_head;
  const int64_t offset_v = place.batch * call.v_batch + place.kv_head(call) * call.v_head;

  copy_rows<Tile::kQueries>(base + Config::kOffsetPatches, call.q,
                            place.batch * call.q_batch + place.head * call.q_head + place.query * call.q_row,
                            call.q_row, call.queries - place.query);
  ptx::cp_async_commit();
  copies.start(0, base, call.k, offset_k, call.k_row);
  copies.start(0, base + Config::kOffsetV, call.v, offset_v, call.v_row);
  ptx::cp_async_wait<2>();
  __syncthreads();

  const int warp = threadIdx.x / 32;
  WarpState state;
  load_queries(state, reinterpret_cast<const Element*>(memory + Config::kOffsetPatches) +
                          warp * Tile::kFragment * Tile::kStride);
  __syncthreads();  // scores now lie where Q was
  float* patch = reinterpret_cast<float*>(memory + Config::kOffsetPatches) + warp * Tile::kPatchFloats;
  float* scales = reinterpret_cast<float*>(memory + Config::kOffsetScales) + warp * Tile::kScaleFloats;
  find_rows(state, patch);

  const int query = place.query + warp * Tile::kFragment;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const int at = step % Config::kBuffers * Tile::kStepBytes;
    ptx::cp_async_wait<1>();
    __syncthreads();  // K is here, and everybody has left the other place
    copies.start(step + 1, base, call.k, offset_k, call.k_row);
    multiply_scores(state, reinterpret_cast<const Element*>(memory + at), patch);
    softmax_of(state, call, list, Step(step), query, patch, scales);
    ptx::cp_async_wait<1>();
    __syncthreads();  // V is here
    copies.start(step + 1, base + Config::kOffsetV, call.v, offset_v, call.v_row);
    multiply_values(state, reinterpret_cast<const Element*>(memory + Config::kOffsetV + at), patch);
  }
  ptx::cp_async_wait<0>();
  finish(state, call, place, query, patch, scales);
}

}  // namespace
}  // namespace attention_wmma

extern "C" size_t assay_block_sparse_attention_workspace(const AssayAttention* /*call*/) { return 0; }

extern "C" int assay_block_sparse_attention(const AssayAttention* call, void* /*workspace*/, size_t /*workspace_bytes*/,
                                            void* stream) {
  using namespace attention_wmma;
  if (!attention::is_valid(*call) || call->heads > 65535 || call->batches > 65535) {
    return cudaErrorInvalidValue;
  }
  launch::DeviceLimits limits;
  const cudaError_t error = launch::prepare(attention_wmma_kernel, Config::kSharedBytes, &limits);
  if (error != cudaSuccess) {
    return error;
  }
  const dim3 grid(attention::block_rows(*call) * (attention::kBlock / Tile::kQueries), call->heads, call->batches);
  attention_wmma_kernel<<<grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(*call);
  return cudaGetLastError();
}
