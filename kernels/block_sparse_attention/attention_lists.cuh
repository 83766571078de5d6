// Which key blocks a block row of queries attends to, and which keys of such a block count: the device's side of
// attention_call.cuh, for the kernels of this folder that copy with all their threads.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "attention_call.cuh"

#ifndef BLOCK  // queries and keys of a stored block: 128 or 64
#define BLOCK 128
#endif

namespace attention {

constexpr int kBlock = BLOCK;
constexpr int kBitWords = kBlock / 32;  // of a row of a partial block, as bits

__host__ __device__ __forceinline__ int block_rows(const AssayAttention& call) {
  return (call.queries + kBlock - 1) / kBlock;
}

// Most blocks that a row may list, full and partial.
__host__ __device__ __forceinline__ int list_pitch(const AssayAttention& call) {
  return (call.full_counts != nullptr ? call.full_pitch : 0) +
         (call.partial_counts != nullptr ? call.partial_pitch : 0);
}

__device__ __forceinline__ int64_t mask_row(const AssayAttention& call, int batch, int head, int row) {
  const int mask_batch = call.mask_batches == 1 ? 0 : batch;
  const int mask_head = call.mask_heads == 1 ? 0 : head;
  return (static_cast<int64_t>(mask_batch) * call.mask_heads + mask_head) * block_rows(call) + row;
}

// The blocks of one row: full ones first, then partial ones.
struct BlockList {
  const int* full = nullptr;
  const int* partial = nullptr;
  const uint32_t* bits = nullptr;  // of the row's first partial block
  int full_count = 0;
  int count = 0;

  __device__ __forceinline__ int column(int slot) const {
    return slot < full_count ? full[slot] : partial[slot - full_count];
  }
};

__device__ __forceinline__ BlockList block_list(const AssayAttention& call, int batch, int head, int row) {
  const int64_t at = mask_row(call, batch, head, row);
  BlockList list;
  if (call.full_counts != nullptr) {
    list.full = call.full_columns + at * call.full_pitch;
    list.full_count = call.full_counts[at];
  }
  list.count = list.full_count;
  if (call.partial_counts != nullptr) {
    list.partial = call.partial_columns + at * call.partial_pitch;
    list.count += call.partial_counts[at];
    if (call.partial_bits != nullptr) {
      list.bits = call.partial_bits + at * call.partial_pitch * (kBlock * kBitWords);
    }
  }
  return list;
}

// The keys of a block that count for one query: from `first` on, before `end`, and their bit is set if there are bits.
struct KeyRange {
  int first;
  int end;
  const uint32_t* words;

  __device__ __forceinline__ bool all(int from, int count) const {
    return words == nullptr && first <= from && from + count <= end;
  }
  __device__ __forceinline__ bool has(int key) const {
    return first <= key && key < end && (words == nullptr || (words[key / 32] >> (key % 32) & 1) != 0);
  }
  // Of 32 keys from `32 * word` on, a bit each.
  __device__ __forceinline__ uint32_t bits(int word) const {
    const auto from = [word](int key) { return key <= 32 * word ? ~0u : key >= 32 * word + 32 ? 0u : ~0u << key % 32; };
    return from(first) & ~from(end) & (words == nullptr ? ~0u : words[word]);
  }
};

// `query` is the query's number, `column` the block's.
__device__ __forceinline__ KeyRange key_range(const AssayAttention& call, const BlockList& list, int slot, int column,
                                              int query) {
  KeyRange range{0, min(kBlock, call.keys - column * kBlock), nullptr};
  if (slot >= list.full_count) {
    if (list.bits != nullptr) {
      const int block = slot - list.full_count;
      range.words = list.bits + (static_cast<int64_t>(block) * kBlock + query % kBlock) * kBitWords;
    } else {
      const int here = query + call.keys - call.queries - column * kBlock;  // the key opposite, within the block
      if (call.window_left >= 0) {
        range.first = max(range.first, here - call.window_left);
      }
      if (call.window_right >= 0) {
        range.end = min(range.end, here + call.window_right + 1);
      }
    }
  }
  return range;
}

// ---- host --------------------------------------------------------------------------------------------

// Sizes make sense, and 16-byte copies can take all rows.
inline bool is_valid(const AssayAttention& call) {
  const auto aligned = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; };
  const int64_t strides[] = {call.q_batch, call.q_head, call.q_row, call.k_batch, call.k_head, call.k_row,
                             call.v_batch, call.v_head, call.v_row, call.o_batch, call.o_head, call.o_row};
  for (const int64_t stride : strides) {
    if (stride < 0 || stride % 8 != 0) {
      return false;
    }
  }
  return call.batches > 0 && call.heads > 0 && call.kv_heads > 0 && call.heads % call.kv_heads == 0 &&
         call.queries > 0 && call.keys > 0 && (call.mask_batches == 1 || call.mask_batches == call.batches) &&
         (call.mask_heads == 1 || call.mask_heads == call.heads) && call.full_pitch >= 0 && call.partial_pitch >= 0 &&
         aligned(call.q) && aligned(call.k) && aligned(call.v) && aligned(call.o);
}

}  // namespace attention
