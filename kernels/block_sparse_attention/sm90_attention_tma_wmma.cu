// O = softmax(scale * Q K^T over the stored blocks) V, and its log-sum-exp, in one kernel, for Hopper: the WMMA
// products and the online softmax of attention_wmma.cu, but Q, K and V come by TMA, as source 001's option 3 has it.
// What a warp does with its queries is in attention_wmma_tile.cuh, the same for both; what differs is this:
//
//   attention_wmma.cu                             here
//   all threads copy, 16 bytes each               one thread of warp 0 copies boxes
//   two places, two barriers of the CTA a step    a ring of STAGES steps, mbarriers for each K and V: warps drift apart
//
// No warp for copies alone: a ninth one would take registers that the eight others need (168 a thread instead of 255 at
// HEAD_DIM 128, where a warp keeps Q and O in them, and 96 instead of 128 at 64).
//
// Layout of a slot: TMA without swizzle, for WMMA wants rows of one stride. Boxes are 8 columns wider than the tensor:
// the engine fills these with zeros and reads nothing for them, and rows are then an odd multiple of 16 bytes apart.
// Keys beyond the last arrive as zeros.
//
//   define    means
//   HEAD_DIM  64 or 128
//   QUERIES   128 or 64
//   STAGES    steps of 64 keys in the ring: HEAD_DIM 128: 2 to 5, 64: 2 to 4 (two CTAs an SM)
//   DTYPE     0 fp16, 1 bf16
//
// Stored blocks of 128 x 128 alone; any numbers of queries and keys. No workspace.
// Requires: 16-byte aligned pointers, strides that are multiples of 8 elements, columns within the keys, sm_90a.

#include "attention_wmma_tile.cuh"
#include "common/launch.cuh"
#include "common/ptx.cuh"
#include "sm90_attention_maps.cuh"

#ifndef STAGES
#define STAGES 4
#endif

namespace attention_wmma {
namespace {

struct Config {
  static constexpr int kStages = STAGES;
  static constexpr int kThreads = 32 * Tile::kWarps;
  static constexpr int kStageBytes = 2 * Tile::kStepBytes;
  static constexpr int kOffsetPatches = kStages * kStageBytes;
  static constexpr int kOffsetScales = kOffsetPatches + Tile::kPatchesBytes;
  static constexpr int kOffsetBarriers = kOffsetScales + Tile::kScalesBytes;
  static constexpr int kSharedBytes = kOffsetBarriers + 8 * (1 + 4 * kStages);
  static constexpr int kCtasPerSm = Tile::kHeadDim == 64 || Tile::kQueries == 64 ? 2 : 1;
  static_assert(Tile::kStepBytes % 128 == 0, "TMA writes to multiples of 128 bytes");
  static_assert(kCtasPerSm * (kSharedBytes + 1024) <= 228 * 1024, "an SM has 228 KiB, of which a CTA takes 1 more");
};

struct Shared {
  unsigned char* memory;
  uint32_t base;

  __device__ __forceinline__ int k(int stage) const { return stage * Config::kStageBytes; }
  __device__ __forceinline__ int v(int stage) const { return k(stage) + Tile::kStepBytes; }
  __device__ __forceinline__ const Element* elements(int offset) const {
    return reinterpret_cast<const Element*>(memory + offset);
  }
  __device__ __forceinline__ uint32_t q_full() const { return base + Config::kOffsetBarriers; }
  __device__ __forceinline__ uint32_t k_full(int stage) const { return q_full() + 8 * (1 + stage); }
  __device__ __forceinline__ uint32_t v_full(int stage) const { return k_full(Config::kStages + stage); }
  __device__ __forceinline__ uint32_t k_empty(int stage) const { return k_full(2 * Config::kStages + stage); }
  __device__ __forceinline__ uint32_t v_empty(int stage) const { return k_full(3 * Config::kStages + stage); }
};

using Ring = ptx::PipelineState<Config::kStages>;

struct Maps {
  const CUtensorMap* q;
  const CUtensorMap* k;
  const CUtensorMap* v;
};

// One thread: K and V of step `number`, into a slot that all have left.
struct Copies {
  const AssayAttention& call;
  const attention::BlockList& list;
  const Place& place;
  const Shared& shared;
  const Maps& maps;
  int steps;

  __device__ __forceinline__ void start_q() const {
    ptx::mbarrier_arrive_expect_tx(shared.q_full(), Tile::kQueryBytes);
    ptx::tma_load_4d(shared.base + Config::kOffsetPatches, maps.q, 0, place.query, place.head, place.batch,
                     shared.q_full());
  }
  __device__ __forceinline__ void start(int offset, int number, const CUtensorMap* map,
                                        uint32_t full) const {
    const Step step(number);
    const int key = list.column(step.slot) * attention::kBlock + step.first;
    ptx::mbarrier_arrive_expect_tx(full, Tile::kStepBytes);
    ptx::tma_load_4d(shared.base + offset, map, 0, key, place.kv_head(call), place.batch, full);
  }
  __device__ __forceinline__ void start_k(int stage, int number) const {
    start(shared.k(stage), number, maps.k, shared.k_full(stage));
  }
  __device__ __forceinline__ void start_v(int stage, int number) const {
    start(shared.v(stage), number, maps.v, shared.v_full(stage));
  }
  __device__ __forceinline__ void fill() const {
    for (int number = 0; number < Config::kStages && number < steps; ++number) {
      start_k(number, number);
      start_v(number, number);
    }
  }
  // The slot of `left`, the place of the step before, for the step that comes next there.
  __device__ __forceinline__ void refill(const Ring& left, int number) const {
    if (number < steps) {
      ptx::mbarrier_wait(shared.k_empty(left.stage), left.parity);
      start_k(left.stage, number);
      ptx::mbarrier_wait(shared.v_empty(left.stage), left.parity);
      start_v(left.stage, number);
    }
  }
};

// All lanes have read the slot.
__device__ __forceinline__ void release(uint32_t empty) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    ptx::mbarrier_arrive(empty);
  }
}

__global__ void __launch_bounds__(Config::kThreads, Config::kCtasPerSm)
    sm90_attention_tma_wmma_kernel(const __grid_constant__ AssayAttention call,
                                   const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
                                   const __grid_constant__ CUtensorMap map_v) {
  extern __shared__ __align__(128) unsigned char memory[];
  const Shared shared{memory, ptx::shared_address(memory)};
  const Place place = place_at(call);
  if (place.query >= call.queries) {
    return;  // the second half of a block row that ends before it
  }
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(shared.q_full(), 1);
    for (int stage = 0; stage < Config::kStages; ++stage) {
      ptx::mbarrier_init(shared.k_full(stage), 1);
      ptx::mbarrier_init(shared.v_full(stage), 1);
      ptx::mbarrier_init(shared.k_empty(stage), Tile::kWarps);
      ptx::mbarrier_init(shared.v_empty(stage), Tile::kWarps);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const attention::BlockList list = attention::block_list(call, place.batch, place.head, place.row);
  const int steps = list.count * Tile::kStepsPerBlock;
  const Maps maps{&map_q, &map_k, &map_v};
  const Copies copies{call, list, place, shared, maps, steps};
  if (threadIdx.x == 0) {
    copies.start_q();
    copies.fill();
  }
  WarpState state;
  ptx::mbarrier_wait(shared.q_full(), 0);
  load_queries(state, shared.elements(Config::kOffsetPatches) + warp * Tile::kFragment * Tile::kStride);
  __syncthreads();  // scores now lie where Q was
  float* patch = reinterpret_cast<float*>(memory + Config::kOffsetPatches) + warp * Tile::kPatchFloats;
  float* scales = reinterpret_cast<float*>(memory + Config::kOffsetScales) + warp * Tile::kScaleFloats;
  find_rows(state, patch);
  const int query = place.query + warp * Tile::kFragment;
  Ring ring;
  Ring left;  // a step behind
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ptx::mbarrier_wait(shared.k_full(ring.stage), ring.parity);
    multiply_scores(state, shared.elements(shared.k(ring.stage)), patch);
    release(shared.k_empty(ring.stage));
    if (step > 0) {
      if (threadIdx.x == 0) {
        copies.refill(left, step - 1 + Config::kStages);
      }
      left.advance();
    }
    softmax_of(state, call, list, Step(step), query, patch, scales);
    ptx::mbarrier_wait(shared.v_full(ring.stage), ring.parity);
    multiply_values(state, shared.elements(shared.v(ring.stage)), patch);
    release(shared.v_empty(ring.stage));
    ring.advance();
  }
  finish(state, call, place, query, patch, scales);
}

cudaError_t make_map(CUtensorMap* map, const void* pointer, int batches, int heads, int tokens, int64_t batch,
                     int64_t head, int64_t row, int box_tokens) {
  return attention::make_token_map(map, pointer, batches, heads, tokens, Tile::kHeadDim, batch, head, row, box_tokens,
                                   Tile::kStride, CU_TENSOR_MAP_SWIZZLE_NONE);
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
  CUtensorMap map_q;
  CUtensorMap map_k;
  CUtensorMap map_v;
  cudaError_t error = make_map(&map_q, call->q, call->batches, call->heads, call->queries, call->q_batch, call->q_head,
                               call->q_row, Tile::kQueries);
  if (error == cudaSuccess) {
    error = make_map(&map_k, call->k, call->batches, call->kv_heads, call->keys, call->k_batch, call->k_head,
                     call->k_row, Tile::kKeys);
  }
  if (error == cudaSuccess) {
    error = make_map(&map_v, call->v, call->batches, call->kv_heads, call->keys, call->v_batch, call->v_head,
                     call->v_row, Tile::kKeys);
  }
  launch::DeviceLimits limits;
  if (error == cudaSuccess) {
    error = launch::prepare(sm90_attention_tma_wmma_kernel, Config::kSharedBytes, &limits);
  }
  if (error != cudaSuccess) {
    return error;
  }
  const dim3 grid(attention::block_rows(*call) * (attention::kBlock / Tile::kQueries), call->heads, call->batches);
  sm90_attention_tma_wmma_kernel<<<grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(
      *call, map_q, map_k, map_v);
  return cudaGetLastError();
}
