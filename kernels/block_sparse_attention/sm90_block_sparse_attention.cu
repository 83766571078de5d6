// O = softmax(scale * Q K^T over the selected blocks) V, and its log-sum-exp, for Hopper: 16 bits or FP8 in, 16 bits
// out, fp32 scores and sums, TMA and warpgroup products in one fused kernel. Stored blocks of BLOCK x BLOCK, 128 or 64;
// head dimension HEAD_DIM, 128 or 64.
//
//                  128 keys                   One CTA an SM:
//               +------------+                  warpgroup 0: producers. A warp takes tiles, publishes them and starts
//       HEAD_DIM|    K^T     |                    all copies, running ahead of the consumers.
//               +------------+                  warpgroups 1 to CONSUMERS: consumers of 64 queries each.
//     +------+  +------------+  +------+
//  64 |  Q   |  |consumer 0  |  |      |      A tile is a block row of queries of one head. Its lists of key blocks lie
//     +------+  +------------+  |  O   |      on the device: full blocks, and partial ones whose scores are masked by
//  64 |  Q   |  |consumer 1  |  |      |      bits or by a window. No plan is made on the host.
//     +------+  +------------+  +------+
//
// BLOCK 128 and two consumers: both have the same tile, and share one stream of keys and one producer warp. Else a tile
// has one consumer's queries, and each consumer has its stream and its producer warp; at HEAD_DIM 64, registers suffice
// for three. With BLOCK 64 a step gathers two blocks of the list, so that products and softmax are those of 128 keys.
// The odd one out is filled up with zeros, and masked.
//
// The tensor cores are to see one stream of products, without a seam between tiles. Steps are numbered across all
// tiles of a stream; a consumer asks for the scores of step i + 1 before the values of step i, also where i + 1 belongs
// to the next tile. While the values of a tile's last step are multiplied, the next tile's first scores become
// probabilities (OVERLAP 1). Thus neither Q's copy nor the prologue nor O's way out leave the tensor cores idle. With
// PING_PONG 1 consumers of one tile take turns: while one's products run, the other computes exponentials.
//
// Shared memory, of each stream: a ring of SLOTS slots, each 128 rows of K or V in panels of 128 bytes a row, 128-byte
// swizzle (of FP8, V's rows are its columns), in the order of use: K0, K1, V0, K2, V1, ...; for each slot, which key
// blocks it has and whether they are masked; a queue of tiles; mbarriers. Q_STAGES places for each consumer's Q.
//
// Softmax: running maxima as usual, but O and the sums stay scaled by an older maximum until the new one has outgrown
// it by 2^8 (FP8: 2^2) in any row of the warp: probabilities then reach 256 at most, which the type holds with the same
// relative precision. With CHECKED_SUMS 1, only a tile's first step and masked ones ask for maxima; at HEAD_DIM
// 64 with blocks of 128 its last one, too. The others take their exponentials at once, by the reference they find. No probability exceeds the sum it is part of:
// where a thread's sum is small enough, all is well, and without comparing and exchanging the exponentials begin as
// soon as the scores are there. Where it is not, the warp computes its scores again, by mma.sync, and goes the long
// way.
//
// Of what the producer writes by ordinary stores (tiles, keys of a slot), lane 0 of a warp reads, and lane 0 gives the
// place back: that alone the race checker can follow.
//
// Tiles run through the rows of one head, then the next head, so that a head's K and V stay in L2. With DYNAMIC 1 they
// come from a counter in the workspace, longest rows first if the caller gives such an order. Where hardly more tiles
// than streams are, they are dealt in turn: clearing the counter would take longer than it saves.
//
// Requires: 16-byte aligned pointers, strides that are multiples of 16 bytes, columns within the keys, sm_90a.

#include "common/launch.cuh"
#include "sm90_attention_consumer.cuh"
#include "sm90_attention_producer.cuh"

namespace attention {
namespace {

__global__ void __launch_bounds__(Config::kThreads, 1)
    sm90_block_sparse_attention_kernel(const __grid_constant__ Problem p, const __grid_constant__ CUtensorMap map_q,
                                       const __grid_constant__ CUtensorMap map_k,
                                       const __grid_constant__ CUtensorMap map_v) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const int warpgroup = __shfl_sync(kAll, threadIdx.x / 128, 0);  // uniform, as the compiler then knows
  const uint32_t base = ptx::shared_address(memory);
  if (threadIdx.x == 0) {
    ptx::prefetch_tensormap(&map_q);
    ptx::prefetch_tensormap(&map_k);
    ptx::prefetch_tensormap(&map_v);
    for (int stream = 0; stream < Config::kStreams; ++stream) {
      const Shared shared{memory, base, stream};
      for (int slot = 0; slot < Config::kSlots; ++slot) {
        ptx::mbarrier_init(shared.full(slot), 1);
        ptx::mbarrier_init(shared.empty(slot), Config::kReleases);
      }
      for (int place = 0; place < Config::kQueue; ++place) {
        ptx::mbarrier_init(shared.queue_full(place), 1);
        ptx::mbarrier_init(shared.queue_empty(place), Config::kReleases);
      }
    }
    const Shared shared{memory, base, 0};
    for (int stage = 0; stage < Config::kQStages; ++stage) {
      for (int consumer = 0; consumer < Config::kConsumers; ++consumer) {
        ptx::mbarrier_init(shared.q_full(consumer, stage), 1);
        ptx::mbarrier_init(shared.q_empty(consumer, stage), 4);
      }
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Config::kProducerRegisters>();
    const int stream = __shfl_sync(kAll, threadIdx.x / 32, 0);
    if (stream < Config::kStreams) {
      produce(p, Shared{memory, base, stream}, &map_q, &map_k, &map_v);
    }
  } else {
    ptx::setmaxnreg_inc<Config::kConsumerRegisters>();
    const int consumer = warpgroup - 1;
    consume(p, Shared{memory, base, Config::kStreams == 1 ? 0 : consumer}, consumer);
  }
}

// ---- host ----------------------------------------------------------------------------------------------

// 16 bytes of `bytes` each.
bool strides_fit(int64_t batch, int64_t head, int64_t row, int bytes = Config::kElementBytes) {
  return batch * bytes % 16 == 0 && head * bytes % 16 == 0 && row * bytes % 16 == 0;
}

// [batch][head][row][HEAD_DIM] as panels of 128 bytes: a box is [box_panels][box_rows][128 bytes], its coordinates are
// {0, row, panel, head, batch}.
cudaError_t make_map(CUtensorMap* map, const void* pointer, int batches, int heads, int rows, int64_t batch,
                     int64_t head, int64_t row, uint32_t box_rows, uint32_t box_panels) {
  constexpr uint32_t kColumns = Config::kRowBytes / Config::kElementBytes;
  const auto bytes = [](int64_t elements) { return static_cast<cuuint64_t>(elements) * Config::kElementBytes; };
  const auto count = [](int size) { return static_cast<cuuint64_t>(size); };
  return launch::make_tensor_map<5>(
      map, pointer, {kColumns, count(rows), Config::kPanels, count(heads), count(batches)},
      {bytes(row), Config::kRowBytes, bytes(head), bytes(batch)}, {kColumns, box_rows, box_panels, 1, 1},
      Config::kElementBytes);
}

// V of FP8, [batch][kv_head][HEAD_DIM][keys]: a box is [HEAD_DIM][128 keys], its coordinates are {key, 0, 0, kv_head,
// batch}.
cudaError_t make_column_map(CUtensorMap* map, const AssayAttention& c) {
  const auto count = [](int64_t size) { return static_cast<cuuint64_t>(size); };
  const int keys = (c.keys + Config::kKeys - 1) / Config::kKeys * Config::kKeys;
  return launch::make_tensor_map<5>(map, c.v, {count(keys), Config::kHeadDim, 1, count(c.kv_heads), count(c.batches)},
                                    {count(c.v_row), Config::kRowBytes, count(c.v_head), count(c.v_batch)},
                                    {Config::kKeys, Config::kHeadDim, 1, 1, 1}, 1);
}

#if DTYPE == 2
using Call = AssayAttentionFp8;
const AssayAttention& sizes_of(const Call& call) { return call.call; }
Scales<true> scales_of(const Call& c) {
  const auto blocks = [](int tokens) { return (tokens + Config::kBlock - 1) / Config::kBlock; };
  return {c.q_scale, c.k_scale, c.v_scale, c.v_top, blocks(c.call.queries), blocks(c.call.keys)};
}
#else
using Call = AssayAttention;
const AssayAttention& sizes_of(const Call& call) { return call; }
Scales<false> scales_of(const Call&) { return {}; }
#endif

}  // namespace
}  // namespace attention

// Four bytes, for the counter of tiles.
extern "C" size_t assay_block_sparse_attention_workspace(const attention::Call*) { return sizeof(int); }

extern "C" int assay_block_sparse_attention(const attention::Call* call, void* workspace, size_t workspace_bytes,
                                            void* stream) {
  using namespace attention;
  const AssayAttention& c = sizes_of(*call);
  if (c.batches <= 0 || c.heads <= 0 || c.kv_heads <= 0 || c.queries <= 0 || c.keys <= 0 || c.heads % c.kv_heads != 0 ||
      !(c.scale > 0.0f)) {
    return cudaErrorInvalidValue;
  }
  if ((c.mask_batches != 1 && c.mask_batches != c.batches) || (c.mask_heads != 1 && c.mask_heads != c.heads)) {
    return cudaErrorInvalidValue;
  }
  if (!launch::is_aligned_16(c.q) || !launch::is_aligned_16(c.k) || !launch::is_aligned_16(c.v) ||
      !launch::is_aligned_16(c.o) || !strides_fit(c.q_batch, c.q_head, c.q_row) ||
      !strides_fit(c.k_batch, c.k_head, c.k_row) || !strides_fit(c.v_batch, c.v_head, c.v_row) ||
      !strides_fit(c.o_batch, c.o_head, c.o_row, 2)) {
    return cudaErrorInvalidValue;
  }
  if (Config::kDynamic && (workspace == nullptr || workspace_bytes < sizeof(int))) {
    return cudaErrorInvalidValue;
  }
  const int rows = (c.queries + Config::kBlock - 1) / Config::kBlock;
  const int64_t tiles = static_cast<int64_t>(c.batches) * c.heads * rows * Config::kBlockTiles;
  if (tiles > INT32_MAX / 2 || c.keys > INT32_MAX / 4 || c.queries > INT32_MAX / 4) {
    return cudaErrorInvalidValue;  // tile numbers and coordinates are ints
  }
  CUtensorMap map_q;
  CUtensorMap map_k;
  CUtensorMap map_v;
  cudaError_t error = make_map(&map_q, c.q, c.batches, c.heads, c.queries, c.q_batch, c.q_head, c.q_row,
                               Config::kConsumerRows, Config::kPanels);
  if (error == cudaSuccess) {
    error = make_map(&map_k, c.k, c.batches, c.kv_heads, c.keys, c.k_batch, c.k_head, c.k_row, Config::kBlock,
                     Config::kCopyPanels);
  }
  if (error == cudaSuccess) {
    error = Config::kScaled ? make_column_map(&map_v, c)
                            : make_map(&map_v, c.v, c.batches, c.kv_heads, c.keys, c.v_batch, c.v_head, c.v_row,
                                       Config::kBlock, Config::kCopyPanels);
  }
  launch::DeviceLimits limits;
  if (error == cudaSuccess) {
    error = launch::prepare(sm90_block_sparse_attention_kernel, Config::kSharedBytes, &limits);
  }
  const int ctas = (static_cast<int>(tiles) + Config::kStreams - 1) / Config::kStreams;
  const int grid = ctas < limits.sms ? ctas : limits.sms;
  const bool counts = Config::kDynamic && tiles > int64_t{3} * grid * Config::kStreams / 2;
  if (error == cudaSuccess && counts) {
    error = cudaMemsetAsync(workspace, 0, sizeof(int), static_cast<cudaStream_t>(stream));
  }
  if (error != cudaSuccess) {
    return error;
  }
  const Problem problem{scales_of(*call),
                        c,
                        counts ? static_cast<int*>(workspace) : nullptr,
                        rows,
                        static_cast<int>(tiles),
                        c.heads / c.kv_heads,
                        c.scale * 1.4426950408889634f};
  sm90_block_sparse_attention_kernel<<<grid, Config::kThreads, Config::kSharedBytes,
                                       static_cast<cudaStream_t>(stream)>>>(problem, map_q, map_k, map_v);
  return cudaGetLastError();
}
