// What a backward pass of block-sparse attention hands over, filled in by src/assay/shared/attention_call.py.
// The kernels' launchers have these signatures (C linkage):
//
//   int assay_block_sparse_attention_backward(const AssayAttentionBackward* call, void* workspace,
//                                             size_t workspace_bytes, void* stream);
//   size_t assay_block_sparse_attention_backward_workspace(const AssayAttentionBackward* call);
//
// The first returns a cudaError_t and only launches: nothing is read back, planned or allocated on the host. The second
// returns the bytes that the first needs, from sizes alone.
#pragma once

#include <cstdint>

#include "attention_call.cuh"

// Strides in elements, the last one 1.
extern "C" struct AssayAttentionBackward {
  AssayAttention forward;   // as the forward pass had it: o and lse are what it wrote, and lse is not null
  const void* grad;         // by o: [batches][heads][queries][head_dim]
  const float* grad_lse;    // by lse: [batches][heads][queries]; null: zeros
  void* by_q;               // the gradients by q, k and v, shaped as these
  void* by_k;
  void* by_v;
  int64_t grad_batch, grad_head, grad_row;
  int64_t by_q_batch, by_q_head, by_q_row;
  int64_t by_k_batch, by_k_head, by_k_row;
  int64_t by_v_batch, by_v_head, by_v_row;
};
