// What kernels for sm_90a need beside emulated_gpu.hpp: mbarriers, bulk tensor copies, products of a warpgroup.
//
// EMULATED_COPIES and EMULATED_PRODUCTS say when copies land and products are done: 0 as soon as they begin, 1 when they
// are waited for. A wait too few is seen in one of the orders, a stage that is given back too early in another. That
// the descriptors mean what stands here, kernels show that ran on a GPU and are right here too.

#pragma once

#define EMULATED_SHARED_BYTES 232448

#include <functional>
#include <map>

#include "emulated_gpu.hpp"

#ifndef EMULATED_COPIES
#define EMULATED_COPIES 1
#endif
#ifndef EMULATED_PRODUCTS
#define EMULATED_PRODUCTS 1
#endif
#ifndef EMULATED_LAGS  // a warpgroup that is slower than the others: what it owes them comes late
#define EMULATED_LAGS -1
#endif

#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static

enum { cudaErrorNotSupported = 801 };
struct int4 {
  int x, y, z, w;
};
struct uint2 {
  uint32_t x, y;
};
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}

template <typename Word>
Word __shfl_sync(unsigned, Word value, int from) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  word = emulated::together({word}, [from](auto& words) { return words[from % 32][0]; });
  std::memcpy(&value, &word, 4);
  return value;
}
inline unsigned __ballot_sync(unsigned, bool value) {
  return emulated::together({value}, [](auto& words) {
    unsigned bits = 0;
    for (int i = 0; i < 32; ++i) {
      bits |= words[i][0] << i;
    }
    return bits;
  });
}
inline bool __all_sync(unsigned all, bool value) { return !__any_sync(all, !value); }
inline void __syncwarp() { emulated::meet(emulated::warp().barrier); }
inline int __ffs(int word) { return __builtin_ffs(word); }
inline int atomicAdd(int* to, int value) { return std::exchange(*to, *to + value); }
inline void __threadfence() {}
inline float __log2f(float x) { return std::log2(x); }
inline uint32_t __float_as_uint(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}
inline float __uint_as_float(uint32_t word) {
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}
inline void __nanosleep(unsigned) { emulated::yield(); }
inline void __trap() { std::abort(); }
template <typename Pointer>
auto __ldcg(Pointer from) {
  return *from;
}
template <typename Pointer>
auto __ldg(Pointer from) {
  return *from;
}

// ---- tensor maps ---------------------------------------------------------------------------------------

using cuuint64_t = uint64_t;
using cuuint32_t = uint32_t;
struct CUtensorMap {
  const unsigned char* pointer;
  uint64_t sizes[5];
  uint64_t strides[5];  // bytes
  uint32_t box[5];
  int element;  // bytes
};

namespace launch {

inline bool is_aligned_16(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

template <int kRank>
cudaError_t make_tensor_map(CUtensorMap* map, const void* pointer, const cuuint64_t (&sizes)[kRank],
                            const cuuint64_t (&strides)[kRank - 1], const cuuint32_t (&box)[kRank], int element = 2) {
  static_assert(kRank == 5, "as attention has them");
  map->pointer = static_cast<const unsigned char*>(pointer);
  map->element = element;
  for (int i = 0; i < kRank; ++i) {
    map->sizes[i] = sizes[i];
    map->strides[i] = i == 0 ? element : strides[i - 1];
    map->box[i] = box[i];
    const bool fits = sizes[i] > 0 && box[i] > 0 && box[i] <= 256 && (i == 0 || (strides[i - 1] % 16 == 0 && strides[i - 1] > 0));
    if (!fits) {
      return cudaErrorInvalidValue;
    }
  }
  return box[0] * element == 128 ? cudaSuccess : cudaErrorInvalidValue;  // as the swizzle has
}

}  // namespace launch

// ---- mbarriers, copies ---------------------------------------------------------------------------------

namespace emulated {

struct MBarrier {
  int arrivals = 0;
  int pending = 0;
  int64_t bytes = 0;
  uint32_t phase = 0;
  std::deque<std::function<void()>> copies;

  void settle() {
    if (pending == 0 && bytes == 0) {
      ++phase;
      pending = arrivals;
    }
  }
};
inline std::map<uint32_t, MBarrier> barriers;
inline size_t barriers_of = 0;

inline MBarrier& barrier_at(uint32_t address) {
  if (barriers_of != cta->number) {
    barriers.clear();
    barriers_of = cta->number;
  }
  if (address % 8 != 0 || address + 8 > kSharedBytes) {
    std::fprintf(stderr, "no mbarrier at %u\n", address);
    std::abort();
  }
  return barriers[address];
}

inline void arrive(uint32_t address, int count) {
  MBarrier& barrier = barrier_at(address);
  barrier.pending -= count;
  if (barrier.pending < 0) {
    std::fprintf(stderr, "too many arrivals at mbarrier %u\n", address);
    std::abort();
  }
  barrier.settle();
}

inline void copy(uint32_t address, int64_t bytes, std::function<void()> lands) {
  const auto whole = [address, bytes, lands] {
    lands();
    MBarrier& barrier = barrier_at(address);
    barrier.bytes -= bytes;
    barrier.settle();
  };
  if (EMULATED_COPIES == 0) {
    whole();
  } else {
    barrier_at(address).copies.push_back(whole);
  }
}

// Bits 4 to 6 of an address are those of the element with bits 7 to 9.
inline uint32_t swizzled(uint32_t address) { return address ^ (address >> 3 & 0x70); }

inline unsigned char* bytes_at(uint32_t address, int count) {
  if (address + count > kSharedBytes) {
    std::fprintf(stderr, "shared memory has no %d bytes at %u\n", count, address);
    std::abort();
  }
  return cta->shared + address;
}

}  // namespace emulated

namespace ptx {

constexpr uint64_t kEvictNormal = 0;
constexpr uint64_t kEvictFirst = 0;

inline void mbarrier_init(uint32_t barrier, int arrivals) {
  auto& found = emulated::barrier_at(barrier);
  found.arrivals = found.pending = arrivals;
}
inline void fence_mbarrier_init() {}
inline void mbarrier_arrive(uint32_t barrier) { emulated::arrive(barrier, 1); }
inline void mbarrier_arrive(uint32_t barrier, uint32_t count) { emulated::arrive(barrier, count); }
inline void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) {
  emulated::barrier_at(barrier).bytes += bytes;
  emulated::arrive(barrier, 1);
}
inline void mbarrier_arrive_if(bool arrives, uint32_t barrier) {
  if (arrives) {
    emulated::arrive(barrier, 1);
  }
}
inline bool mbarrier_test(uint32_t barrier, uint32_t parity) {
  auto& found = emulated::barrier_at(barrier);
  return (found.phase & 1) != parity;
}
inline void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  for (int turns = 0; !mbarrier_test(barrier, parity); ++turns) {
    auto& found = emulated::barrier_at(barrier);
    if (!found.copies.empty() && turns % 3 == 2) {
      const auto lands = found.copies.front();
      found.copies.pop_front();
      lands();
    }
    if (turns > 20000) {
      std::fprintf(stderr, "thread %u of CTA %u waits for ever at mbarrier %u\n", emulated::current->thread.x,
                   emulated::current->block.x, barrier);
      std::abort();
    }
    emulated::yield();
  }
}
inline void mbarrier_wait_unless(bool known, uint32_t barrier, uint32_t parity) {
  if (!known) {
    mbarrier_wait(barrier, parity);
  }
}
inline uint32_t load_shared_if(bool reads, uint32_t shared) {
  uint32_t word = 0;
  if (reads) {
    std::memcpy(&word, emulated::bytes_at(shared, 4), 4);
  }
  return word;
}
template <int>
void setmaxnreg_dec() {}
template <int>
void setmaxnreg_inc() {}
template <int>
void named_barrier_sync(int) {
  std::abort();
}
template <int>
void named_barrier_arrive(int) {
  std::abort();
}
inline void prefetch_tensormap(const CUtensorMap*) {}

template <int kStages>
struct PipelineState {
  int stage = 0;
  uint32_t parity = 0;
  void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

inline void tma_load_5d(uint32_t shared, const CUtensorMap* map, int x0, int x1, int x2, int x3, int x4,
                        uint32_t barrier, uint64_t) {
  if (shared % 1024 != 0) {
    std::fprintf(stderr, "a tile at %u\n", shared);
    std::abort();
  }
  const std::array<int64_t, 5> first{x0, x1, x2, x3, x4};
  const CUtensorMap m = *map;
  int64_t bytes = m.element;
  for (const uint32_t extent : m.box) {
    bytes *= extent;
  }
  emulated::copy(barrier, bytes, [=] {
    uint32_t to = shared;
    std::array<int64_t, 5> i{};
    for (i[4] = 0; i[4] < m.box[4]; ++i[4]) {
      for (i[3] = 0; i[3] < m.box[3]; ++i[3]) {
        for (i[2] = 0; i[2] < m.box[2]; ++i[2]) {
          for (i[1] = 0; i[1] < m.box[1]; ++i[1]) {
            for (i[0] = 0; i[0] < m.box[0]; ++i[0], to += m.element) {
              const unsigned char* from = m.pointer;
              bool there = true;
              for (int d = 0; d < 5; ++d) {
                const int64_t at = first[d] + i[d];
                there = there && at >= 0 && at < static_cast<int64_t>(m.sizes[d]);
                from += at * static_cast<int64_t>(m.strides[d]);
              }
              unsigned char* const place = emulated::bytes_at(emulated::swizzled(to), m.element);
              if (there) {
                std::memcpy(place, from, m.element);
              } else {
                std::memset(place, 0, m.element);
              }
            }
          }
        }
      }
    }
  });
}

inline void bulk_load(uint32_t shared, const void* global, uint32_t bytes, uint32_t barrier) {
  if (shared % 16 != 0 || reinterpret_cast<uintptr_t>(global) % 16 != 0 || bytes % 16 != 0) {
    std::fprintf(stderr, "a bulk copy of %u bytes to %u\n", bytes, shared);
    std::abort();
  }
  emulated::copy(barrier, bytes, [=] { std::memcpy(emulated::bytes_at(shared, bytes), global, bytes); });
}

// What a thread began and nobody waited for.
struct Addition {
  float* to;
  uint32_t shared, bytes;
};
inline std::map<const emulated::Thread*, std::deque<Addition>> additions;

inline void fence_proxy_async() {}
inline void fence_proxy_async_global() {}
inline void bulk_add(float* to, uint32_t shared, uint32_t bytes) {
  if (shared % 16 != 0 || reinterpret_cast<uintptr_t>(to) % 16 != 0 || bytes % 16 != 0) {
    std::abort();
  }
  additions[emulated::current].push_back({to, shared, bytes});
}
inline void tma_store_commit() {}
template <int kPending>
void tma_store_wait_read() {
  static_assert(kPending == 0, "as attention has it");
  for (auto& begun = additions[emulated::current]; !begun.empty(); begun.pop_front()) {
    const Addition& each = begun.front();
    for (uint32_t i = 0; i < each.bytes; i += 4) {
      float value;
      std::memcpy(&value, emulated::bytes_at(each.shared + i, 4), 4);
      each.to[i / 4] += value;
    }
  }
}
inline void tma_store_wait() { tma_store_wait_read<0>(); }

}  // namespace ptx

// ---- products of a warpgroup ---------------------------------------------------------------------------

namespace emulated {

struct Products {
  std::vector<std::function<void()>> begun;
  std::deque<std::vector<std::function<void()>>> committed;
};
inline std::map<const Thread*, Products> products;

inline void product(std::function<void()> multiply) {
  if (EMULATED_PRODUCTS == 0) {
    multiply();
  } else {
    products[current].begun.push_back(std::move(multiply));
  }
}

struct Descriptor {
  uint32_t start, leading, stride;
  explicit Descriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4), stride((bits >> 32 & 0x3fff) << 4) {
    if (bits >> 62 != 1) {
      std::fprintf(stderr, "a descriptor of another swizzle\n");
      std::abort();
    }
  }
  // Rows along k, 128 bytes each.
  uint32_t k_major(int row, int k) const { return swizzled(start + row / 8 * stride + row % 8 * 128 + k * 2); }
  // Rows along n.
  uint32_t mn_major(int n, int k) const {
    return swizzled(start + n / 64 * leading + k / 8 * stride + k % 8 * 128 + n % 64 * 2);
  }
};

}  // namespace emulated

namespace mma {

inline int swizzle_128b(int row, int chunk) { return row * 128 + (chunk ^ (row % 8)) * 16; }
inline uint64_t smem_descriptor_128b(uint32_t shared, uint32_t leading, uint32_t stride) {
  return static_cast<uint64_t>((shared & 0x3ffff) >> 4) | static_cast<uint64_t>(leading >> 4) << 16 |
         static_cast<uint64_t>(stride >> 4) << 32 | static_cast<uint64_t>(1) << 62;
}
inline void warpgroup_fence() {}
inline void warpgroup_commit() {
  auto& mine = emulated::products[emulated::current];
  mine.committed.push_back(std::exchange(mine.begun, {}));
}
template <int kPending>
void warpgroup_wait() {
  auto& mine = emulated::products[emulated::current];
  const bool lags = static_cast<int>(emulated::current->thread.x / 128) == EMULATED_LAGS;
  for (int i = 0; i < (lags ? 20 : 1); ++i) {
    emulated::yield();  // so that others may do harm
  }
  for (; mine.committed.size() > kPending; mine.committed.pop_front()) {
    for (const auto& multiply : mine.committed.front()) {
      multiply();
    }
  }
  emulated::yield();
}
template <int kCount>
void fence_operands(float (&)[kCount]) {}

inline float2 widen_pair(Half, uint32_t pair) { return {widen(Half{}, pair & 0xffff), widen(Half{}, pair >> 16)}; }
inline float2 widen_pair(Bfloat16, uint32_t pair) {
  return {widen(Bfloat16{}, pair & 0xffff), widen(Bfloat16{}, pair >> 16)};
}

template <typename Element>
float element_at(Element element, uint32_t address) {
  uint16_t bits;
  std::memcpy(&bits, emulated::bytes_at(address, 2), 2);
  return widen(element, bits);
}

// The fragments of the PTX manual, "Register fragments for wgmma.mma_async.m64nNk16". `a`: element k of the thread's
// row lane / 4 (r 0), or 8 further down.
template <bool kAdd, int kDepth = 16, int kCount, typename A, typename B>
void multiply_fragment(float (&accum)[kCount], A a, B b) {
  for (int n = 0; n < kCount / 4; ++n) {
    for (int e = 0; e < 2; ++e) {
      float column[kDepth];
      for (int k = 0; k < kDepth; ++k) {
        column[k] = b(8 * n + emulated::lane() % 4 * 2 + e, k);
      }
      for (int r = 0; r < 2; ++r) {
        float sum = 0.0f;
        for (int k = 0; k < kDepth; ++k) {
          sum += a(r, k) * column[k];
        }
        float& to = accum[4 * n + 2 * r + e];
        to = kAdd ? to + sum : sum;
      }
    }
  }
}

template <bool kAdd, typename Element, int kCount>
void wgmma_scores(Element element, float (&accum)[kCount], uint64_t a, uint64_t b) {
  emulated::product([element, &accum, left = emulated::Descriptor(a), right = emulated::Descriptor(b)] {
    const int row = emulated::current->thread.x % 128 / 32 * 16 + emulated::lane() / 4;
    float rows[2][16];
    for (int r = 0; r < 2; ++r) {
      for (int k = 0; k < 16; ++k) {
        rows[r][k] = element_at(element, left.k_major(row + 8 * r, k));
      }
    }
    multiply_fragment<kAdd>(
        accum, [&](int r, int k) { return rows[r][k]; },
        [&](int n, int k) { return element_at(element, right.k_major(n, k)); });
  });
}

// Both operands with rows along k.
template <bool kAdd, typename Element, int kCount>
void wgmma_transposed(Element element, float (&accum)[kCount], uint64_t a, uint64_t b) {
  emulated::product([element, &accum, left = emulated::Descriptor(a), right = emulated::Descriptor(b)] {
    const int row = emulated::current->thread.x % 128 / 32 * 16 + emulated::lane() / 4;
    multiply_fragment<kAdd>(
        accum, [&](int r, int k) { return element_at(element, left.mn_major(row + 8 * r, k)); },
        [&](int n, int k) { return element_at(element, right.mn_major(n, k)); });
  });
}

// Rows lane / 4 and 8 further down, of words that the quad holds: a0 k 0 to 7, a1 the same of the lower row, a2 and a3
// k 8 to 15.
template <typename Element>
std::array<std::array<float, 16>, 2> rows_of(Element element, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3) {
  return emulated::together({a0, a1, a2, a3}, [element](auto& words) {
    std::array<std::array<float, 16>, 2> rows;
    const int quad = emulated::lane() / 4 * 4;
    for (int r = 0; r < 2; ++r) {
      for (int k = 0; k < 16; ++k) {
        const uint32_t word = words[quad + k % 8 / 2][k / 8 * 2 + r];
        rows[r][k] = widen(element, k % 2 != 0 ? word >> 16 : word & 0xffff);
      }
    }
    return rows;
  });
}

template <bool kAdd, typename Element, int kCount>
void wgmma_scores(Element element, float (&accum)[kCount], const uint32_t* a, uint64_t b) {
  const auto rows = rows_of(element, a[0], a[1], a[2], a[3]);
  emulated::product([element, &accum, rows, right = emulated::Descriptor(b)] {
    multiply_fragment<kAdd>(
        accum, [&](int r, int k) { return rows[r][k]; },
        [&](int n, int k) { return element_at(element, right.k_major(n, k)); });
  });
}

template <typename Element, int kCount>
void wgmma_values(Element element, float (&accum)[kCount], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                  uint64_t b) {
  const auto rows = rows_of(element, a0, a1, a2, a3);
  emulated::product([element, &accum, rows, right = emulated::Descriptor(b)] {
    multiply_fragment<true>(
        accum, [&](int r, int k) { return rows[r][k]; },
        [&](int n, int k) { return element_at(element, right.mn_major(n, k)); });
  });
}

// ---- FP8 -----------------------------------------------------------------------------------------------

// 1 sign, 4 bits of exponent, 3 of fraction; 0x7f is no number, and there is no infinity.
inline float widen_byte(uint32_t byte) {
  const int exponent = byte >> 3 & 15;
  const float size = exponent == 0 ? std::ldexp(byte & 7, -9) : std::ldexp(8 + (byte & 7), exponent - 10);
  return (byte & 0x7f) == 0x7f ? NAN : byte >> 7 != 0 ? -size : size;
}
// Of what is not below 0, the nearest; of two, the even one.
inline uint32_t narrow_byte(float value) {
  uint32_t best = 0;
  for (uint32_t byte = 1; byte < 0x7f; ++byte) {
    const float nearer = std::abs(widen_byte(best) - value) - std::abs(widen_byte(byte) - value);
    best = nearer > 0 || (nearer == 0 && byte % 2 == 0) ? byte : best;
  }
  return best;
}
inline uint32_t pack_e4m3(float x0, float x1, float x2, float x3) {
  return narrow_byte(x0) | narrow_byte(x1) << 8 | narrow_byte(x2) << 16 | narrow_byte(x3) << 24;
}

inline float byte_at(const emulated::Descriptor& of, int row, int k) {
  const uint32_t address = of.start + row / 8 * of.stride + row % 8 * 128 + k;
  return widen_byte(*emulated::bytes_at(emulated::swizzled(address), 1));
}

using ByteRows = std::array<std::array<float, 32>, 2>;

template <bool kAdd, int kCount>
void multiply_rows(float (&accum)[kCount], const ByteRows& rows, const emulated::Descriptor& right) {
  multiply_fragment<kAdd, 32>(
      accum, [&](int r, int k) { return rows[r][k]; }, [&](int n, int k) { return byte_at(right, n, k); });
}

// 32 bytes of a row: those of a k 0 to 15, then k 16 to 31, four a word.
template <bool kAdd, int kCount>
void wgmma_scores(Float8E4M3, float (&accum)[kCount], const uint32_t* a, uint64_t b) {
  const auto rows = emulated::together({a[0], a[1], a[2], a[3]}, [](auto& words) {
    ByteRows found;
    for (int r = 0; r < 2; ++r) {
      for (int k = 0; k < 32; ++k) {
        found[r][k] = widen_byte(words[emulated::lane() / 4 * 4 + k % 16 / 4][k / 16 * 2 + r] >> k % 4 * 8 & 0xff);
      }
    }
    return found;
  });
  emulated::product([&accum, rows, right = emulated::Descriptor(b)] { multiply_rows<kAdd>(accum, rows, right); });
}
template <bool kAdd, int kCount>
void wgmma_scores(Float8E4M3, float (&accum)[kCount], uint64_t a, uint64_t b) {
  emulated::product([&accum, left = emulated::Descriptor(a), right = emulated::Descriptor(b)] {
    const int row = emulated::current->thread.x % 128 / 32 * 16 + emulated::lane() / 4;
    ByteRows rows;
    for (int r = 0; r < 2; ++r) {
      for (int k = 0; k < 32; ++k) {
        rows[r][k] = byte_at(left, row + 8 * r, k);
      }
    }
    multiply_rows<kAdd>(accum, rows, right);
  });
}
template <int kCount>
void wgmma_values(Float8E4M3, float (&accum)[kCount], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint64_t b) {
  const uint32_t a[] = {a0, a1, a2, a3};
  wgmma_scores<true>(Float8E4M3{}, accum, a, b);
}
inline void mma_m16n8k16(Float8E4M3, float* accum, const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  const auto sums = emulated::together({a[0], a[1], a[2], a[3], b0, b1}, [](auto& words) {
    std::array<float, 4> found{};
    for (int e = 0; e < 4; ++e) {
      const int row = emulated::lane() / 4 + e / 2 * 8;
      const int column = emulated::lane() % 4 * 2 + e % 2;
      for (int k = 0; k < 32; ++k) {
        const uint32_t left = words[row % 8 * 4 + k % 16 / 4][row / 8 + k / 16 * 2] >> k % 4 * 8;
        const uint32_t right = words[column * 4 + k % 16 / 4][4 + k / 16] >> k % 4 * 8;
        found[e] += widen_byte(left & 0xff) * widen_byte(right & 0xff);
      }
    }
    return found;
  });
  for (int e = 0; e < 4; ++e) {
    accum[e] += sums[e];
  }
}

}  // namespace mma
