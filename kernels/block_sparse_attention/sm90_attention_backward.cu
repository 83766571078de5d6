// The gradients of block-sparse attention by Q, K and V, for Hopper: 16-bit in and out, fp32 scores and sums, TMA and
// warpgroup products. Stored blocks of 128 x 128, head dimension HEAD_DIM, 128 or 64. With G the gradient by O:
//
//   P = exp(scale * Q K^T - lse)        dV = P^T G
//   dP = G V^T                          dQ = scale * dS K
//   dS = P * (dP - delta)               dK = scale * dS^T Q        delta = rowsum(G * O) - gradient by lse
//
// Three launches, one after the other:
//
//   rows      one CTA a block row: delta and lse of each query, and zeros for its sums if it is of the first turn.
//             Further CTAs write which block rows list each key block, a table of [key blocks][block rows], which is
//             cleared before; the last of them sorts key blocks, longest lists first.
//   keys      a CTA holds a block of K and V; Q, G, delta and lse pass by, for each head of the group and each block
//             row in the table's line. Scores are transposed: rows are keys. Five products. Heads take turns, as many
//             at once as keep the SMs busy.
//   sums      one CTA a block row: scales and rounds what is left of dQ, that of the last turn.
//
//                64 queries pass by               One CTA an SM, blocks from a counter:
//                 +------------+                    warpgroup 0: a producer warp starts all copies, running ahead; one
//                 |    Q, G    |                    tells which sums of dQ are whole; two clear those of later turns,
//                 +------------+                    then round those of turns that are over.
//     +------+    +------------+    +------+        warpgroups 1 and 2: consumers of 64 held keys each.
//  64 | K, V |    | consumer 0 |    |dK, dV|
//     +------+    +------------+    +------+      Scores and dP have their sums in registers, are rounded there and are
//  64 | K, V |    | consumer 1 |    |dK, dV|      the left operand of the products with what passes by. dS goes to
//     +------+    +------------+    +------+      shared memory, too: dQ needs that of both consumers. Each computes 64
//                                                 columns of it (D = 64: 64 of the queries of two steps) and adds them
//                                                 to fp32 sums in memory, a step later or more: consumers need not be
//                                                 in step. consume() has the order of products, one for each D.
//
// The sums of dQ in memory come in another order each time: its last bits differ from call to call. All other sums stay
// in one CTA's registers.
//
// Shared memory: V and, twice, K: that of the next block arrives early; 128 rows each. STAGES stages of two tiles of 64
// rows, all as [HEAD_DIM / 64][rows][64]; dS of two steps (D = 64: four), [128 keys][64 queries]; with the 128-byte
// swizzle; 4 KB a consumers' warp for sums on their way out.
//
// Requires: 16-byte aligned pointers, strides that are multiples of 8 elements, columns within the keys, sm_90a.

#include "common/launch.cuh"
#include "sm90_attention_backward_keys.cuh"
#include "sm90_attention_backward_rows.cuh"
#include "sm90_attention_backward_sums.cuh"

namespace attention_backward {
namespace {

int blocks_of(int length) { return (length + Config::kBlock - 1) / Config::kBlock; }

// Bytes of a number for each query, blocks whole.
size_t number_bytes(const AssayAttention& c) {
  return sizeof(float) * c.batches * c.heads * blocks_of(c.queries) * Config::kBlock;
}

// Where the parts of the workspace begin, in bytes: Problem's pointers in their order, but for `sums`, the last.
struct Workspace {
  size_t delta, places, weights, placed, added, rounded, cleared, counter, order, sums, end;

  explicit Workspace(const AssayAttention& c) {
    const size_t masks = c.mask_batches * static_cast<size_t>(c.mask_heads > 1 ? c.kv_heads : 1);
    const size_t numbers = number_bytes(c);
    const size_t ordered = sizeof(int) * masks * blocks_of(c.keys);
    delta = numbers;
    places = delta + numbers;
    weights = places + sizeof(int) * c.mask_batches * c.mask_heads * blocks_of(c.queries) * blocks_of(c.keys);
    placed = weights + ordered;
    added = placed + sizeof(int) * masks;
    rounded = added + sizeof(int) * c.batches * c.kv_heads;
    cleared = rounded + sizeof(int) * c.batches * c.kv_heads;
    counter = cleared + 2 * sizeof(int);
    order = counter + sizeof(int);
    sums = (order + ordered + 127) / 128 * 128;
    end = sums + numbers * Config::kHeadDim;
  }
};

int ctas_of(int blocks, const launch::DeviceLimits& limits) {
  return blocks > limits.sms ? limits.sms : blocks;
}

// Heads of K and V whose key blocks are taken together: as many as have blocks for the SMs one and a half times.
int together_of(const AssayAttention& c, const launch::DeviceLimits& limits) {
  const int64_t pairs = static_cast<int64_t>(c.batches) * c.kv_heads;
  const int64_t times = 2 * pairs * blocks_of(c.keys) / (3 * limits.sms);
  const int64_t turns = times < 1 ? 1 : times < pairs ? times : pairs;
  return static_cast<int>((pairs + turns - 1) / turns);
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

  cudaError_t make(const AssayAttentionBackward& call) {
    const AssayAttention& c = call.forward;
    const Matrix by_queries[] = {{c.q, c.q_batch, c.q_head, c.q_row},
                                 {call.grad, call.grad_batch, call.grad_head, call.grad_row}};
    const Matrix by_keys[] = {{c.k, c.k_batch, c.k_head, c.k_row}, {c.v, c.v_batch, c.v_head, c.v_row}};
    cudaError_t error = make_map(&q, by_queries[0], c.batches, c.heads, c.queries, Config::kQueries);
    if (error == cudaSuccess) {
      error = make_map(&grad, by_queries[1], c.batches, c.heads, c.queries, Config::kQueries);
    }
    if (error == cudaSuccess) {
      error = make_map(&k, by_keys[0], c.batches, c.kv_heads, c.keys, Config::kBlock);
    }
    if (error == cudaSuccess) {
      error = make_map(&v, by_keys[1], c.batches, c.kv_heads, c.keys, Config::kBlock);
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
  return c.queries <= most && c.keys <= most && pairs * 8 * blocks_of(c.queries) <= most &&
         pairs * blocks_of(c.keys) <= most;
}

}  // namespace
}  // namespace attention_backward

extern "C" size_t assay_block_sparse_attention_backward_workspace(const AssayAttentionBackward* call) {
  using namespace attention_backward;
  return Workspace(call->forward).end;
}

extern "C" int assay_block_sparse_attention_backward(const AssayAttentionBackward* call, void* workspace,
                                                     size_t workspace_bytes, void* stream) {
  using namespace attention_backward;
  const AssayAttention& c = call->forward;
  if (!is_valid(*call) || workspace == nullptr || !launch::is_aligned_16(workspace)) {
    return cudaErrorInvalidValue;
  }
  const int rows = blocks_of(c.queries);
  const int columns = blocks_of(c.keys);
  const int pairs = c.batches * c.heads;
  const Workspace at(c);
  if (workspace_bytes < at.end) {
    return cudaErrorInvalidValue;
  }
  Maps maps;
  launch::DeviceLimits limits;
  cudaError_t error = maps.make(*call);
  if (error == cudaSuccess) {
    error = launch::prepare(attention_backward_keys_kernel, Shared::kBytes, &limits);
  }
  if (error != cudaSuccess) {
    return error;
  }
  auto* const bytes = static_cast<unsigned char*>(workspace);
  const auto on = static_cast<cudaStream_t>(stream);
  error = cudaMemsetAsync(bytes + at.places, 0, at.order - at.places, on);
  if (error != cudaSuccess) {
    return error;
  }
  const auto floats = [bytes](size_t where) { return reinterpret_cast<float*>(bytes + where); };
  const auto ints = [bytes](size_t where) { return reinterpret_cast<int*>(bytes + where); };
  const Problem problem{*call,
                        floats(0),
                        floats(at.delta),
                        floats(at.sums),
                        ints(at.places),
                        ints(at.weights),
                        ints(at.placed),
                        ints(at.added),
                        ints(at.rounded),
                        ints(at.cleared),
                        ints(at.counter),
                        ints(at.order),
                        rows,
                        columns,
                        c.heads / c.kv_heads,
                        together_of(c, limits),
                        c.scale * 1.4426950408889634f};
  const int placers = c.mask_batches * c.mask_heads * rows;
  attention_backward_rows_kernel<<<placers + pairs * rows, Config::kRowThreads, 0, on>>>(problem, placers);
  error = cudaGetLastError();
  if (error != cudaSuccess) {
    return error;
  }
  const int ctas = ctas_of(c.batches * c.kv_heads * columns, limits);
  attention_backward_keys_kernel<<<ctas, Config::kThreads, Shared::kBytes, on>>>(problem, maps.q, maps.grad, maps.k,
                                                                                 maps.v);
  error = cudaGetLastError();
  if (error != cudaSuccess) {
    return error;
  }
  attention_backward_sums_kernel<<<pairs * rows, Config::kRowThreads, 0, on>>>(problem);
  return cudaGetLastError();
}
