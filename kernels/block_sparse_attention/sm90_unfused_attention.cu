// O = softmax(scale * Q K^T over the stored blocks) V, and its log-sum-exp, unfused, for Hopper: what source 003
// describes, a grouped product, a segmented softmax in fp32, a grouped product, each a launch of its own. The base line
// of the fused kernels.
//
//   launch    reads                       writes                     per block of 128 x 128, SCORES 32
//   scores    Q, K                        scores                     64 KB written
//   softmax   scores                      probabilities, lse         64 KB read, 32 KB written
//   values    probabilities, V            O                          32 KB read
//
// Thus 192 KB through L2 and, beyond what L2 holds, through memory, for 4 * 128 * 128 * HEAD_DIM FLOPs: memory sets the
// time. SCORES 16 keeps scores as fp16 exponents of 2, 128 KB a block; beyond 65504 they are lost, and errors grow with
// the logits. Launches two and three begin while the one before ends (programmatic dependent launch).
//
//   define    means
//   HEAD_DIM  64 or 128
//   DTYPE     0 fp16, 1 bf16
//   SCORES    32 (fp32) or 16 (fp16, as exponents of 2) in the workspace
//   CHUNK     blocks of a row for which Q is copied once: 1 (more even), or 4 (fewer bytes from L2: better with
//             SCORES 16 and long rows)
//   PHASE     0 all; 1, 2, 3 launch only scores, softmax or values, on the workspace as an earlier call left it: for
//             measuring a phase alone
//
// Blocks of 128 x 128 alone. Any numbers of queries and keys; full and partial blocks, these masked by the window or by
// bits; no plan on the host, no memory of its own: the workspace holds scores and probabilities for as many blocks as
// the lists have room for, full_pitch + partial_pitch a row, whether used or not. `order` is heeded by the last launch.
// Requires: 16-byte aligned pointers, strides that are multiples of 8 elements, columns within the keys, sm_90a.

#include "sm90_unfused_scores.cuh"
#include "sm90_unfused_softmax.cuh"
#include "sm90_unfused_values.cuh"

namespace unfused {
namespace {

constexpr size_t kAlignment = 1024;

int room(const AssayAttention& call) {
  const int pitch = attention::list_pitch(call);
  return pitch > 0 ? pitch : 1;
}

size_t workspace_scores(const AssayAttention& call) {
  return static_cast<size_t>(call.batches) * call.heads * attention::block_rows(call) * kBlock * room(call) * kBlock;
}

size_t scores_bytes(const AssayAttention& call) { return workspace_scores(call) * sizeof(Score); }

// In boxes of 128 tokens and 64 columns.
cudaError_t make_map(CUtensorMap* map, const void* pointer, int batches, int heads, int tokens, int64_t batch,
                     int64_t head, int64_t row) {
  return attention::make_token_map(map, pointer, batches, heads, tokens, kHeadDim, batch, head, row, kBlock, kPanel,
                                   CU_TENSOR_MAP_SWIZZLE_128B);
}

// A launch that may begin while the one before it in the stream ends; it waits itself for what it reads.
template <typename... Arguments>
cudaError_t launch_phase(void (*kernel)(Arguments...), int grid, int threads, int shared_bytes, bool dependent,
                         void* stream, const Arguments&... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  config.numAttrs = dependent ? 1 : 0;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  return error != cudaSuccess ? error : cudaGetLastError();
}

cudaError_t launch_scores(const Problem& p, void* stream) {
  const AssayAttention& call = p.call;
  CUtensorMap map_q;
  CUtensorMap map_k;
  cudaError_t error = make_map(&map_q, call.q, call.batches, call.heads, call.queries, call.q_batch, call.q_head,
                               call.q_row);
  if (error == cudaSuccess) {
    error = make_map(&map_k, call.k, call.batches, call.kv_heads, call.keys, call.k_batch, call.k_head, call.k_row);
  }
  launch::DeviceLimits limits;
  if (error == cudaSuccess) {
    error = launch::prepare(sm90_unfused_scores_kernel, ScoresConfig::kSharedBytes, &limits);
  }
  if (error != cudaSuccess) {
    return error;
  }
  // Never dependent: it overwrites scores that an earlier call may still read.
  return launch_phase(sm90_unfused_scores_kernel, limits.sms, kThreads, ScoresConfig::kSharedBytes, false, stream, p,
                      map_q, map_k);
}

cudaError_t launch_softmax(const Problem& p, void* stream) {
  const int grid = p.call.batches * p.call.heads * p.rows * (kBlock / SoftmaxConfig::kWarps);
  const auto kernel = p.pitch <= 8 ? sm90_unfused_softmax_kernel<SoftmaxConfig::kHeldShort, 4>
                                   : sm90_unfused_softmax_kernel<SoftmaxConfig::kHeldLong, 3>;
  return launch_phase(kernel, grid, 32 * SoftmaxConfig::kWarps, 0, PHASE == 0, stream, p);
}

cudaError_t launch_values(const Problem& p, void* stream) {
  const AssayAttention& call = p.call;
  const int tiles = call.batches * call.heads * p.rows;
  CUtensorMap map_p;
  CUtensorMap map_v;
  cudaError_t error = launch::make_tensor_map_2d(&map_p, p.probabilities, static_cast<uint64_t>(tiles) * kBlock,
                                                 static_cast<uint64_t>(p.pitch) * kBlock, kBlock, kPanel);
  if (error == cudaSuccess) {
    error = make_map(&map_v, call.v, call.batches, call.kv_heads, call.keys, call.v_batch, call.v_head, call.v_row);
  }
  launch::DeviceLimits limits;
  if (error == cudaSuccess) {
    error = launch::prepare(sm90_unfused_values_kernel, ValuesConfig::kSharedBytes, &limits);
  }
  if (error != cudaSuccess) {
    return error;
  }
  const int grid = tiles < limits.sms ? tiles : limits.sms;
  return launch_phase(sm90_unfused_values_kernel, grid, kThreads, ValuesConfig::kSharedBytes, PHASE == 0, stream, p,
                      map_p, map_v);
}

}  // namespace
}  // namespace unfused

extern "C" size_t assay_block_sparse_attention_workspace(const AssayAttention* call) {
  const size_t bytes = unfused::scores_bytes(*call);
  const size_t aligned = (bytes + unfused::kAlignment - 1) / unfused::kAlignment * unfused::kAlignment;
  return aligned + 2 * unfused::workspace_scores(*call);
}

extern "C" int assay_block_sparse_attention(const AssayAttention* call, void* workspace, size_t workspace_bytes,
                                            void* stream) {
  using namespace unfused;
  if (!attention::is_valid(*call)) {
    return cudaErrorInvalidValue;
  }
  const size_t needed = assay_block_sparse_attention_workspace(call);
  if (workspace == nullptr || workspace_bytes < needed || !launch::is_aligned_16(workspace)) {
    return cudaErrorInvalidValue;
  }
  const int rows = attention::block_rows(*call);
  const int pitch = room(*call);
  const int64_t tiles = static_cast<int64_t>(call->batches) * call->heads * rows;
  if (tiles * kBlock > INT32_MAX || tiles * pitch > INT32_MAX / 2 || static_cast<int64_t>(pitch) * kBlock > INT32_MAX) {
    return cudaErrorInvalidValue;  // coordinates and tile numbers are ints
  }
  const size_t probabilities = needed - 2 * workspace_scores(*call);
  const Problem problem{*call, static_cast<Score*>(workspace),
                        reinterpret_cast<uint16_t*>(static_cast<unsigned char*>(workspace) + probabilities), rows,
                        pitch};
  cudaError_t error = cudaSuccess;
  if (PHASE == 0 || PHASE == 1) {
    error = launch_scores(problem, stream);
  }
  if (error == cudaSuccess && (PHASE == 0 || PHASE == 2)) {
    error = launch_softmax(problem, stream);
  }
  if (error == cudaSuccess && (PHASE == 0 || PHASE == 3)) {
    error = launch_values(problem, stream);
  }
  return error;
}
