// What a call of block-sparse attention in FP8 (E4M3) hands over, filled in by src/assay/shared/attention_call.py. A
// block of 128 tokens of a head has one scale: what is stored, times its scale, is meant.
//
// V comes by columns, [batches][kv_heads][head_dim][blocks * 128], zeros behind the last key, for the tensor cores know
// no other operand of 8 bits. Of 16 keys 0 1 8 9 2 3 10 11 4 5 12 13 6 7 14 15 stand side by side: in that order a
// thread has the probabilities that a product before left with it.
#pragma once

#include "attention_call.cuh"

extern "C" struct AssayAttentionFp8 {
  AssayAttention call;   // strides in elements; v_row from one column to the next; O is bf16
  const float* q_scale;  // [batches][heads][ceil(queries / 128)]
  const float* k_scale;  // [batches][kv_heads][ceil(keys / 128)]
  const float* v_scale;  // as k_scale; above 0
  const float* v_top;    // [batches][kv_heads]: the largest of v_scale
};
