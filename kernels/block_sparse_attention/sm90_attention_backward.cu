// The gradients of block-sparse attention by Q, K and V, for Hopper: 16-bit in and out, fp32 scores and sums, TMA and
// warpgroup products. Stored blocks of 128 x 128, head dimension HEAD_DIM, 128 or 64. With G the gradient by O:
//
//   P = exp(scale * Q K^T - lse)        dV = P^T G
//   dP = G V^T                          dQ = scale * dS K
//   dS = P * (dP - delta)               dK = scale * dS^T Q        delta = rowsum(G * O) - gradient by lse
//
// Three launches, one after the other:
//
//   rows      one CTA a block row: delta and lse of each query. Further CTAs write which block rows list each key
//             block: a table of [key blocks][block rows], which is cleared before, as are the counters.
//   keys      a CTA holds a block of K and V; Q, G, delta and lse pass by, for each head of the group and each block
//             row in the table's line. Scores are transposed: rows are keys.
//   queries   a CTA holds a block of Q and G; K and V pass by, as the row's lists say.
//
//                64 or 128 rows pass by           The last two are alike. One CTA an SM, blocks from a counter:
//                 +------------+                    warpgroup 0: a producer warp starts all copies, running ahead.
//                 |  passing   |                    warpgroups 1 and 2: consumers of 64 held rows each.
//                 +------------+
//     +------+    +------------+    +------+      Scores and dP have their sums in registers, are rounded there and are
//  64 | held |    | consumer 0 |    | sums |      the left operand of the products with what passes by. Scores of a
//     +------+    +------------+    +------+      step are asked for before the last product of the step before has
//  64 | held |    | consumer 1 |    | sums |      ended; exponentials run beside dP, dS beside the product for V.
//     +------+    +------------+    +------+
//
// Seven products where one launch for all would need five, but every sum stays in one CTA's registers: no atomics, no
// fp32 sums in memory, and the same bits every time.
//
// Shared memory: two held blocks, 128 rows each, and QUERY_STAGES (KEY_STAGES) stages of two tiles of QUERIES (KEYS)
// rows, all [HEAD_DIM / 64][rows][64] with the 128-byte swizzle.
//
// Requires: 16-byte aligned pointers, strides that are multiples of 8 elements, columns within the keys, sm_90a.

#include "common/launch.cuh"
#include "sm90_attention_backward_keys.cuh"
#include "sm90_attention_backward_queries.cuh"
#include "sm90_attention_backward_rows.cuh"

namespace attention_backward {
namespace {

int blocks_of(int length) { return (length + Config::kBlock - 1) / Config::kBlock; }

// Bytes of a number for each query, blocks whole.
size_t number_bytes(const AssayAttention& c) {
  return sizeof(float) * c.batches * c.heads * blocks_of(c.queries) * Config::kBlock;
}

size_t place_bytes(const AssayAttention& c) {
  return sizeof(int) * c.mask_batches * c.mask_heads * blocks_of(c.queries) * blocks_of(c.keys);
}

// The table and two counters: what begins as zeros.
size_t cleared_bytes(const AssayAttention& c) { return place_bytes(c) + 2 * sizeof(int); }

size_t workspace_bytes_of(const AssayAttention& c) { return 2 * number_bytes(c) + cleared_bytes(c); }

int ctas_of(int blocks, const launch::DeviceLimits& limits) {
  return Config::kDynamic && blocks > limits.sms ? limits.sms : blocks;
}

// Pointer and strides of one matrix.
struct Matrix {
  const void* pointer;
  int64_t batch, head, row;

  bool fits() const {
    return launch::is_aligned_16(pointer) && pointer != nullptr && batch % 8 == 0 && head % 8 == 0 && row % 8 == 0;
  }
};

// [batch][head][row][HEAD_DIM] as panels of 64 columns: a box is [panels][box_rows][64], its coordinates are
// {0, row, 0, head, batch}.
cudaError_t make_map(CUtensorMap* map, const Matrix& matrix, int batches, int heads, int rows, uint32_t box_rows) {
  const auto bytes = [](int64_t elements) { return static_cast<cuuint64_t>(elements) * 2; };
  const auto count = [](int size) { return static_cast<cuuint64_t>(size); };
  return launch::make_tensor_map<5>(map, matrix.pointer,
                                    {64, count(rows), Config::kPanels, count(heads), count(batches)},
                                    {bytes(matrix.row), 128, bytes(matrix.head), bytes(matrix.batch)},
                                    {64, box_rows, Config::kPanels, 1, 1});
}

struct Maps {
  CUtensorMap q, grad, k, v;

  cudaError_t make(const AssayAttentionBackward& call, uint32_t query_rows, uint32_t key_rows) {
    const AssayAttention& c = call.forward;
    const Matrix by_queries[] = {{c.q, c.q_batch, c.q_head, c.q_row},
                                 {call.grad, call.grad_batch, call.grad_head, call.grad_row}};
    const Matrix by_keys[] = {{c.k, c.k_batch, c.k_head, c.k_row}, {c.v, c.v_batch, c.v_head, c.v_row}};
    cudaError_t error = make_map(&q, by_queries[0], c.batches, c.heads, c.queries, query_rows);
    if (error == cudaSuccess) {
      error = make_map(&grad, by_queries[1], c.batches, c.heads, c.queries, query_rows);
    }
    if (error == cudaSuccess) {
      error = make_map(&k, by_keys[0], c.batches, c.kv_heads, c.keys, key_rows);
    }
    if (error == cudaSuccess) {
      error = make_map(&v, by_keys[1], c.batches, c.kv_heads, c.keys, key_rows);
    }
    return error;
  }
};

bool is_valid(const AssayAttentionBackward& call) {
  const AssayAttention& c = call.forward;
  const Matrix matrices[] = {{c.q, c.q_batch, c.q_head, c.q_row},
                             {c.k, c.k_batch, c.k_head, c.k_row},
                             {c.v, c.v_batch, c.v_head, c.v_row},
                             {c.o, c.o_batch, c.o_head, c.o_row},
                             {call.grad, call.grad_batch, call.grad_head, call.grad_row},
                             {call.by_q, call.by_q_batch, call.by_q_head, call.by_q_row},
                             {call.by_k, call.by_k_batch, call.by_k_head, call.by_k_row},
                             {call.by_v, call.by_v_batch, call.by_v_head, call.by_v_row}};
  for (const Matrix& matrix : matrices) {
    if (!matrix.fits()) {
      return false;
    }
  }
  if (c.batches <= 0 || c.heads <= 0 || c.kv_heads <= 0 || c.queries <= 0 || c.keys <= 0 ||
      c.heads % c.kv_heads != 0 || !(c.scale > 0.0f) || c.lse == nullptr) {
    return false;
  }
  if ((c.mask_batches != 1 && c.mask_batches != c.batches) || (c.mask_heads != 1 && c.mask_heads != c.heads)) {
    return false;
  }
  const int64_t pairs = static_cast<int64_t>(c.batches) * c.heads;
  const int64_t most = INT32_MAX / 4;  // numbers of CTAs and coordinates are ints
  return c.queries <= most && c.keys <= most && pairs * 2 * blocks_of(c.queries) <= most &&
         pairs * blocks_of(c.keys) <= most;
}

}  // namespace
}  // namespace attention_backward

extern "C" size_t assay_block_sparse_attention_backward_workspace(const AssayAttentionBackward* call) {
  return attention_backward::workspace_bytes_of(call->forward);
}

extern "C" int assay_block_sparse_attention_backward(const AssayAttentionBackward* call, void* workspace,
                                                     size_t workspace_bytes, void* stream) {
  using namespace attention_backward;
  const AssayAttention& c = call->forward;
  if (!is_valid(*call) || workspace == nullptr || !launch::is_aligned_16(workspace) ||
      workspace_bytes < workspace_bytes_of(c)) {
    return cudaErrorInvalidValue;
  }
  const int rows = blocks_of(c.queries);
  const int columns = blocks_of(c.keys);
  const int pairs = c.batches * c.heads;
  auto* const minus = static_cast<float*>(workspace);
  float* const delta = minus + number_bytes(c) / sizeof(float);
  auto* const places = reinterpret_cast<int*>(delta + number_bytes(c) / sizeof(float));
  const Problem problem{*call,
                        minus,
                        delta,
                        places,
                        places + place_bytes(c) / sizeof(int),
                        rows,
                        columns,
                        c.heads / c.kv_heads,
                        c.scale * 1.4426950408889634f};
  Maps keys_maps;
  Maps queries_maps;
  launch::DeviceLimits limits;
  cudaError_t error = keys_maps.make(*call, Config::kQueries, Config::kBlock);
  if (error == cudaSuccess) {
    error = queries_maps.make(*call, Config::kBlock, Config::kKeys);
  }
  if (error == cudaSuccess) {
    error = launch::prepare(attention_backward_keys_kernel, KeysShared::kBytes, &limits);
  }
  if (error == cudaSuccess) {
    error = launch::prepare(attention_backward_queries_kernel, QueriesShared::kBytes, &limits);
  }
  const auto on = static_cast<cudaStream_t>(stream);
  if (error == cudaSuccess) {
    error = cudaMemsetAsync(places, 0, cleared_bytes(c), on);
  }
  if (error != cudaSuccess) {
    return error;
  }
  const int reducers = pairs * rows;
  const int placers = c.mask_batches * c.mask_heads * rows;
  attention_backward_rows_kernel<<<reducers + placers, Config::kRowThreads, 0, on>>>(problem, reducers);
  error = cudaGetLastError();
  if (error != cudaSuccess) {
    return error;
  }
  const int key_ctas = ctas_of(c.batches * c.kv_heads * columns, limits);
  attention_backward_keys_kernel<<<key_ctas, Config::kThreads, KeysShared::kBytes, on>>>(
      problem, keys_maps.q, keys_maps.grad, keys_maps.k, keys_maps.v);
  error = cudaGetLastError();
  if (error != cudaSuccess) {
    return error;
  }
  const int query_ctas = ctas_of(pairs * rows, limits);
  attention_backward_queries_kernel<<<query_ctas, Config::kThreads, QueriesShared::kBytes, on>>>(
      problem, queries_maps.q, queries_maps.grad, queries_maps.k, queries_maps.v);
  return cudaGetLastError();
}
