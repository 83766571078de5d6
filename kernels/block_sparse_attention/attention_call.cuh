// What a call of block-sparse attention hands over: the same structure for every kernel of this family, filled in by
// src/assay/shared/attention_call.py. The kernels' launchers have these signatures (C linkage):
//
//   int assay_block_sparse_attention(const AssayAttention* call, void* workspace, size_t workspace_bytes, void* stream);
//   size_t assay_block_sparse_attention_workspace(const AssayAttention* call);
//
// The first returns a cudaError_t and only launches: nothing is read back, planned or allocated on the host. The second
// returns the bytes that the first needs, from sizes alone.
#pragma once

#include <cstdint>

// Strides in elements, the last one 1. Lists as FlexAttention's BlockMask has them, int32 on the device: counts
// [mask_batches][mask_heads][rows], columns [mask_batches][mask_heads][rows][pitch], rows = ceil(queries / block).
extern "C" struct AssayAttention {
  const void* q;  // [batches][heads][queries][head_dim], any strides
  const void* k;  // [batches][kv_heads][keys][head_dim]; head h reads head h / (heads / kv_heads)
  const void* v;
  void* o;     // as q
  float* lse;  // [batches][heads][queries], natural logarithm, -infinity for an empty row; may be null
  int64_t q_batch, q_head, q_row;
  int64_t k_batch, k_head, k_row;
  int64_t v_batch, v_head, v_row;
  int64_t o_batch, o_head, o_row;
  const int* full_counts;  // null: there are no full blocks
  const int* full_columns;
  const int* partial_counts;  // null: there are no partial blocks
  const int* partial_columns;
  // Which scores of a partial block count, as bits: [mask_batches][mask_heads][rows][partial_pitch][block][block / 32],
  // bit j % 32 of word j / 32 of row i for query i and key j of the block. Null: the window below says it.
  const uint32_t* partial_bits;
  const int* order;  // [mask_batches][mask_heads][rows]: which row comes first, for balance alone; null: as they are
  int full_pitch, partial_pitch;
  int mask_batches, mask_heads;  // 1, or as many as there are
  int batches, heads, kv_heads, queries, keys;
  // In partial blocks key j counts for query i where -left <= j - (i + keys - queries) <= right; below 0: no bound.
  int window_left, window_right;
  float scale;
};
