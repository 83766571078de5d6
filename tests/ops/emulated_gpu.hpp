// A GPU's threads on a CPU, as far as kernels by mma.sync need one: each thread is a context of its own, and threads
// change at barriers and at what a warp does together. It stands in for cuda_runtime.h and kernels/common.
//
// Asynchronous copies land when they are waited for, not before: a missing wait is seen. Shared memory begins as
// NaN. Addresses beyond it and misaligned ones end the program. It knows no speed.

#pragma once

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
using cudaStream_t = void*;
struct uint4 {
  uint32_t x, y, z, w;
};
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
using std::max;
using std::min;

namespace emulated {

constexpr size_t kStackBytes = 1 << 16;
#ifndef EMULATED_SHARED_BYTES  // that a CTA of sm_89 may have
#define EMULATED_SHARED_BYTES 101376
#endif
constexpr int kSharedBytes = EMULATED_SHARED_BYTES;

struct Index {
  unsigned x = 0;
};
struct Copy {
  uint32_t to;
  const void* from;
  int bytes;
};
struct Thread {
  ucontext_t context;
  std::vector<char> stack = std::vector<char>(kStackBytes);
  Index thread, block;
  std::vector<Copy> begun;
  std::deque<std::vector<Copy>> committed;
  int turn = 0;
  bool done = false;
};
struct Barrier {
  size_t threads;
  size_t here = 0;
  size_t passed = 0;
};
struct Warp {
  Barrier barrier{32};
  uint32_t words[2][32][6];
};
inline size_t ctas_begun = 0;
struct Cta {
  size_t number = ++ctas_begun;
  std::vector<unsigned char> bytes = std::vector<unsigned char>(kSharedBytes + 1024, 0xff);
  unsigned char* shared = nullptr;
  Barrier barrier{0};
  std::vector<Warp> warps;
};

inline Thread* current = nullptr;
inline Cta* cta = nullptr;
inline ucontext_t scheduler;

inline void yield() { swapcontext(&current->context, &scheduler); }

inline void meet(Barrier& barrier) {
  const size_t before = barrier.passed;
  if (++barrier.here == barrier.threads) {
    barrier.here = 0;
    ++barrier.passed;
  }
  while (barrier.passed == before) {
    yield();
  }
}

inline Warp& warp() { return cta->warps[current->thread.x / 32]; }
inline int lane() { return current->thread.x % 32; }

// What a lane tells stands until all have met once more: by then, all have read it.
template <typename Read>
auto together(std::initializer_list<uint32_t> told, Read read) {
  auto& words = warp().words[current->turn++ % 2];
  std::copy(told.begin(), told.end(), words[lane()]);
  meet(warp().barrier);
  return read(words);
}

inline unsigned char* at(uint32_t address) {
  if (address % 16 != 0 || address + 16 > kSharedBytes) {
    std::fprintf(stderr, "shared memory has no 16 bytes at %u\n", address);
    std::abort();
  }
  return cta->shared + address;
}

inline std::function<void()> launched;
inline Index grid;

// One CTA after the other.
template <typename... Parameters, typename... Arguments>
void run(void (*kernel)(Parameters...), unsigned ctas, int threads, const Arguments&... arguments) {
  launched = [&] { kernel(arguments...); };
  grid.x = ctas;
  for (unsigned block = 0; block < ctas; ++block) {
    Cta mine;
    mine.shared = mine.bytes.data() + (1024 - reinterpret_cast<uintptr_t>(mine.bytes.data()) % 1024) % 1024;
    mine.barrier.threads = threads;
    mine.warps.resize(threads / 32);
    cta = &mine;
    std::vector<Thread> all(threads);
    for (int i = 0; i < threads; ++i) {
      Thread& thread = all[i];
      thread.thread.x = i;
      thread.block.x = block;
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack.data();
      thread.context.uc_stack.ss_size = kStackBytes;
      makecontext(
          &thread.context,
          +[] {
            launched();
            current->done = true;
            yield();
          },
          0);
    }
    for (bool running = true; running;) {
      running = false;
      for (Thread& thread : all) {
        if (!thread.done) {
          running = true;
          current = &thread;
          swapcontext(&scheduler, &thread.context);
        }
      }
    }
  }
}

}  // namespace emulated

#define threadIdx (emulated::current->thread)
#define blockIdx (emulated::current->block)
#define gridDim (emulated::grid)

inline void __syncthreads() { emulated::meet(emulated::cta->barrier); }

template <typename Word>
Word __shfl_xor_sync(unsigned, Word value, int mask) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  word = emulated::together({word}, [mask](auto& words) { return words[emulated::lane() ^ mask][0]; });
  std::memcpy(&value, &word, 4);
  return value;
}

inline bool __any_sync(unsigned, bool value) {
  return emulated::together({value}, [](auto& words) {
    return std::any_of(words, words + 32, [](auto& told) { return told[0] != 0; });
  });
}

inline float __fdividef(float x, float y) { return x / y; }
inline float __logf(float x) { return std::log(x); }

namespace launch {

#ifndef EMULATED_SMS  // of an L4
#define EMULATED_SMS 58
#endif
struct DeviceLimits {
  int sms = EMULATED_SMS;
};
template <typename Kernel>
cudaError_t prepare(Kernel, int bytes, DeviceLimits*) {
  return bytes > emulated::kSharedBytes ? cudaErrorInvalidValue : cudaSuccess;
}

}  // namespace launch

namespace ptx {

enum class L2Prefetch { kNone, k128B };

inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(static_cast<const unsigned char*>(pointer) - emulated::cta->shared);
}

template <L2Prefetch>
void cp_async_16(uint32_t to, const void* from, int bytes) {
  emulated::at(to);
  if (reinterpret_cast<uintptr_t>(from) % 16 != 0) {
    std::abort();
  }
  emulated::current->begun.push_back({to, from, bytes});
}

inline void cp_async_commit() { emulated::current->committed.push_back(std::exchange(emulated::current->begun, {})); }

template <int kPending>
void cp_async_wait() {
  auto& groups = emulated::current->committed;
  for (; groups.size() > kPending; groups.pop_front()) {
    for (const emulated::Copy& copy : groups.front()) {
      std::memset(emulated::at(copy.to), 0, 16);
      std::memcpy(emulated::at(copy.to), copy.from, copy.bytes);
    }
  }
}

inline float exp2_approx(float x) { return std::exp2(x); }

}  // namespace ptx

namespace mma {

struct Half {};
struct Bfloat16 {};
struct Float8E4M3 {};
template <int kDtype>
struct ElementOf {
  using Type = std::conditional_t<kDtype == 0, Half, std::conditional_t<kDtype == 1, Bfloat16, Float8E4M3>>;
};

inline float widen(Half, uint16_t bits) {
  _Float16 value;
  std::memcpy(&value, &bits, 2);
  return value;
}
inline float widen(Bfloat16, uint16_t bits) {
  const uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}
inline uint16_t narrow(Half, float value) {
  const _Float16 rounded = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &rounded, 2);
  return bits;
}
inline uint16_t narrow(Bfloat16, float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  return (word + 0x7fff + (word >> 16 & 1)) >> 16;
}
template <typename Element>
uint32_t pack_pair(Element element, float low, float high) {
  return narrow(element, low) | static_cast<uint32_t>(narrow(element, high)) << 16;
}

// Word w of a lane: elements lane % 4 * 2 and the next of row lane / 4 of matrix w, or of its transpose.
inline void load_matrices(uint32_t (&to)[4], uint32_t shared, bool transposed) {
  const auto found = emulated::together({shared}, [transposed](auto& told) {
    std::array<uint32_t, 4> words{};
    for (int matrix = 0; matrix < 4; ++matrix) {
      for (int e = 0; e < 2; ++e) {
        int row = emulated::lane() / 4;
        int column = emulated::lane() % 4 * 2 + e;
        if (transposed) {
          std::swap(row, column);
        }
        uint16_t element;
        std::memcpy(&element, emulated::at(told[matrix * 8 + row][0]) + 2 * column, 2);
        words[matrix] |= static_cast<uint32_t>(element) << 16 * e;
      }
    }
    return words;
  });
  std::copy(found.begin(), found.end(), to);
}
inline void ldmatrix_x4(uint32_t (&to)[4], uint32_t shared) { load_matrices(to, shared, false); }
inline void ldmatrix_x4_trans(uint32_t (&to)[4], uint32_t shared) { load_matrices(to, shared, true); }
inline void stmatrix_x4(uint32_t shared, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
  const auto rows = emulated::together({shared}, [](auto& told) {
    std::array<uint32_t, 4> found;
    for (int matrix = 0; matrix < 4; ++matrix) {
      found[matrix] = told[matrix * 8 + emulated::lane() / 4][0];
    }
    return found;
  });
  const uint32_t words[] = {w0, w1, w2, w3};
  for (int matrix = 0; matrix < 4; ++matrix) {
    std::memcpy(emulated::at(rows[matrix]) + emulated::lane() % 4 * 4, &words[matrix], 4);
  }
}

// The fragments of the PTX manual, "Matrix Fragments for mma.m16n8k16".
template <typename Element>
void mma_m16n8k16(Element element, float* accum, const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  const auto half = [element](uint32_t word, int k) { return widen(element, k % 2 != 0 ? word >> 16 : word & 0xffff); };
  const auto sums = emulated::together({a[0], a[1], a[2], a[3], b0, b1}, [half](auto& words) {
    std::array<float, 4> found{};
    for (int e = 0; e < 4; ++e) {
      const int row = emulated::lane() / 4 + e / 2 * 8;
      const int column = emulated::lane() % 4 * 2 + e % 2;
      for (int k = 0; k < 16; ++k) {
        const uint32_t left = words[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
        const uint32_t right = words[column * 4 + k % 8 / 2][4 + k / 8];
        found[e] += half(left, k) * half(right, k);
      }
    }
    return found;
  });
  for (int e = 0; e < 4; ++e) {
    accum[e] += sums[e];
  }
}

// Word s of lane t of a quad becomes word t of lane s.
inline void transpose_quad(uint32_t (&w)[4]) {
  const int me = emulated::lane() % 4;
  const auto found = emulated::together({w[0], w[1], w[2], w[3]}, [me](auto& words) {
    const int first = emulated::lane() / 4 * 4;
    return std::array<uint32_t, 4>{words[first][me], words[first + 1][me], words[first + 2][me], words[first + 3][me]};
  });
  std::copy(found.begin(), found.end(), w);
}

}  // namespace mma
