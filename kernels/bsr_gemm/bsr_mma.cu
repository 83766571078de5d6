// C[m,n] = A_bsr[m,k] * B[k,n], fp16 in and out, fp32 accumulators, by warp-level mma.sync (sm_80 and newer).
//
// One CTA computes a 128 x TILE_N tile of C: it walks the stored 128 x 128 blocks of one block row of A
// in steps of BK, and reads for each the BK rows of B that the block's column index selects.
//
//                          TILE_N                 Warps: 2 down, TILE_N / 64 across, 64 x 64 each:
//                    +---+---+---+---+            4 x 8 mma.m16n8k16 tiles, 128 fp32 accumulators a thread.
//                 BK |       B       |            Every warp copies (cp.async, 16 bytes) and every
//                    +---+---+---+---+            warp multiplies.
//            BK
//          +----+    +---+---+---+---+            Shared memory, a ring of STAGES stages:
//          |    |    | 0 | 1 | 2 | 3 | 64           A [128][BK] then B [BK][TILE_N], both in 16-byte
//      128 | A  |    +---+---+---+---+              chunks whose place in the row is XORed with the
//          |    |    | 4 | 5 | 6 | 7 | 64           row, so that ldmatrix meets no bank conflict.
//          +----+    +---+---+---+---+            Bytes a stage: 2 * BK * (128 + TILE_N).
//                     64
//
// Copies run STAGES - 1 steps ahead of the products, across block and tile borders: with PERSISTENT = 1
// a CTA takes every gridDim-th tile, and the next tile's first steps land while this one is written.
// Tiles are numbered down a group of GROUP_N neighbouring columns of tiles: the CTAs that run at one time
// share a few strips of B (they stay in L2) and, side by side, the same blocks of A.
//
// Requires: m % 128 == 0, k % 128 == 0, n % 8 == 0, 16-byte aligned pointers.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/ptx.cuh"

#if !defined(TILE_N) || !defined(BK) || !defined(STAGES)
#error "define TILE_N, BK and STAGES (kernel.yaml lists the variants)"
#endif
#ifndef CTAS_PER_SM
#define CTAS_PER_SM 1
#endif
#ifndef PERSISTENT
#define PERSISTENT 1
#endif
#ifndef GROUP_N
#define GROUP_N 2
#endif

namespace {

struct Config {
  static constexpr int kTileM = 128;  // rows of a stored block
  static constexpr int kTileN = TILE_N;
  static constexpr int kTileK = BK;
  static constexpr int kBlockK = 128;  // columns of a stored block
  static constexpr int kStages = STAGES;
  static constexpr int kCtasPerSm = CTAS_PER_SM;
  static constexpr bool kPersistent = PERSISTENT != 0;
  static constexpr int kGroupN = GROUP_N;

  static constexpr int kWarpM = 64;
  static constexpr int kWarpN = 64;
  static constexpr int kWarpsN = kTileN / kWarpN;
  static constexpr int kThreads = 32 * (kTileM / kWarpM) * kWarpsN;

  static constexpr int kMmaK = 16;
  static constexpr int kMmasM = kWarpM / 16;
  static constexpr int kMmasN = kWarpN / 8;
  static constexpr int kSubsteps = kTileK / kMmaK;
  static constexpr int kStepsPerBlock = kBlockK / kTileK;

  static constexpr int kChunk = 8;  // halves in one 16-byte chunk
  static constexpr int kChunksA = kTileK / kChunk;
  static constexpr int kChunksB = kTileN / kChunk;
  static constexpr int kBytesA = 2 * kTileM * kTileK;
  static constexpr int kBytesB = 2 * kTileK * kTileN;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kSharedBytes = kStages * kStageBytes;

  // One pass of all threads copies this many rows; passes are whole, and a multiple of the swizzle's
  // period of 8 rows, so a thread's chunk keeps its place in the row from pass to pass.
  static constexpr int kRowsPerPassA = kThreads / kChunksA;
  static constexpr int kRowsPerPassB = kThreads / kChunksB;
  static constexpr int kPassesA = kTileM / kRowsPerPassA;
  static constexpr int kPassesB = kTileK / kRowsPerPassB;

  static_assert(kTileN % kWarpN == 0, "TILE_N must be a multiple of the warp tile's 64 columns");
  static_assert(kTileK == 32 || kTileK == 64, "the swizzle of A is made for rows of 64 or 128 bytes");
  static_assert(kBlockK % kTileK == 0, "BK must divide the stored block's 128 columns");
  static_assert(kStages >= 2, "copies need a stage that is not being read");
  static_assert(kRowsPerPassA % 8 == 0 && kRowsPerPassB % 8 == 0, "a pass must keep the swizzle's phase");
  static_assert(kTileM % kRowsPerPassA == 0 && kTileK % kRowsPerPassB == 0, "copies must be whole passes");
  static_assert(kStageBytes % 1024 == 0, "stages must not disturb the XORed address bits");
  static_assert(kSharedBytes * kCtasPerSm <= 227 * 1024, "CTAs of one SM share 227 KiB at most");
};

// ---- shared-memory layout ------------------------------------------------------------------------

// Byte offset of 16-byte chunk `chunk` of row `row` in A's tile [128][BK]. Eight rows of one chunk
// column (one ldmatrix phase) and eight neighbouring chunks of a row (one copy phase) fall on
// different groups of four banks. Rows of 64 bytes lie two to a line of 128 bytes: the phase is row / 2.
__device__ __forceinline__ uint32_t offset_a(int row, int chunk) {
  const int phase = Config::kTileK == 32 ? (row >> 1) & 3 : row & 7;
  return static_cast<uint32_t>(row * (2 * Config::kTileK) + ((chunk ^ phase) * 16));
}

// The same for B's tile [BK][TILE_N]; its rows are at least 128 bytes long.
__device__ __forceinline__ uint32_t offset_b(int row, int chunk) {
  return static_cast<uint32_t>(row * (2 * Config::kTileN) + ((chunk ^ (row & 7)) * 16));
}

// ---- which tile, which block -----------------------------------------------------------------------

struct Problem {
  const __half* a_values;
  const int* row_ptr;
  const int* col_idx;
  const __half* b;
  __half* c;
  int n;
  int block_rows;
  int tiles_n;
  int tiles;
};

struct Tile {
  int row;  // block row of A and C
  int col;  // column of tiles
};

// Groups of kGroupN columns of tiles; inside a group row by row, so neighbours share A's blocks.
__device__ __forceinline__ Tile tile_at(const Problem& p, int index) {
  const int group_tiles = Config::kGroupN * p.block_rows;
  const int group = index / group_tiles;
  const int within = index - group * group_tiles;
  const int width = min(Config::kGroupN, p.tiles_n - group * Config::kGroupN);  // the last may be narrow
  return {within / width, group * Config::kGroupN + within % width};
}

// The copying side's place in the sequence (tile, stored block, step). It runs ahead of the products
// and skips empty rows. Index loads are issued a block, or a tile, before they are needed.
struct Cursor {
  int tile;        // >= tiles: nothing left to copy
  int block;       // stored block being copied
  int block_end;   // end of its row
  int step;        // step of BK inside it
  int next_inner;  // column index of the block after this one, in this row or the next tile's
  int next_begin;  // row bounds of the CTA's next tile
  int next_end;
  const __half* a;  // this thread's chunk of the current step, first pass
  const __half* b;
  int col;          // first of the thread's eight columns of B; may lie right of n
};

__device__ __forceinline__ void read_next_row(const Problem& p, Cursor& at) {
  const int next = at.tile + static_cast<int>(gridDim.x);
  at.next_begin = 0;
  at.next_end = 0;
  if (next < p.tiles) {
    const int row = tile_at(p, next).row;
    at.next_begin = p.row_ptr[row];
    at.next_end = p.row_ptr[row + 1];
  }
}

__device__ __forceinline__ void read_next_inner(const Problem& p, Cursor& at) {
  if (at.block + 1 < at.block_end) {
    at.next_inner = p.col_idx[at.block + 1];
  } else {
    at.next_inner = at.next_begin < at.next_end ? p.col_idx[at.next_begin] : 0;
  }
}

__device__ __forceinline__ int first_column(const Problem& p, int tile) {
  return tile_at(p, tile).col * Config::kTileN + threadIdx.x % Config::kChunksB * Config::kChunk;
}

// Points the thread's global addresses at the first step of stored block `at.block`, column `inner`.
__device__ __forceinline__ void enter_block(const Problem& p, Cursor& at, int inner) {
  const int row_a = threadIdx.x / Config::kChunksA;
  const int col_a = threadIdx.x % Config::kChunksA * Config::kChunk;
  const int row_b = inner * Config::kBlockK + threadIdx.x / Config::kChunksB;
  at.step = 0;
  at.a = p.a_values + static_cast<size_t>(at.block) * (Config::kTileM * Config::kBlockK) +
         row_a * Config::kBlockK + col_a;
  at.b = p.b + static_cast<size_t>(row_b) * p.n + (at.col < p.n ? at.col : 0);  // inside B either way
}

// Moves to tile `tile` of this CTA, or past it while rows are empty.
__device__ __forceinline__ void enter_tile(const Problem& p, Cursor& at, int tile) {
  const int stride = static_cast<int>(gridDim.x);
  at.tile = tile;
  while (at.tile < p.tiles) {
    const int row = tile_at(p, at.tile).row;
    at.block = p.row_ptr[row];
    at.block_end = p.row_ptr[row + 1];
    if (at.block < at.block_end) {
      at.col = first_column(p, at.tile);
      read_next_row(p, at);
      enter_block(p, at, p.col_idx[at.block]);
      read_next_inner(p, at);
      return;
    }
    at.tile += stride;
  }
}

__device__ __forceinline__ void advance(const Problem& p, Cursor& at) {
  if (at.tile >= p.tiles) {
    return;
  }
  if (++at.step < Config::kStepsPerBlock) {
    at.a += Config::kTileK;
    at.b += static_cast<size_t>(Config::kTileK) * p.n;
    return;
  }
  if (++at.block < at.block_end) {
    enter_block(p, at, at.next_inner);
    read_next_inner(p, at);
    return;
  }
  const int next = at.tile + static_cast<int>(gridDim.x);
  if (at.next_begin < at.next_end) {
    at.tile = next;
    at.block = at.next_begin;
    at.block_end = at.next_end;
    at.col = first_column(p, at.tile);
    enter_block(p, at, at.next_inner);
    read_next_row(p, at);
    read_next_inner(p, at);
  } else {
    enter_tile(p, at, next);
  }
}

// Copies part `part` of `parts` of the cursor's step into a stage: some passes of A, then of B. Past the
// end nothing is copied, but the group is closed all the same: the waits count one group a step.
__device__ __forceinline__ void copy_part(const Problem& p, const Cursor& at, uint32_t to_a, uint32_t to_b, int part,
                                          int parts) {
  constexpr int kPasses = Config::kPassesA + Config::kPassesB;
  constexpr auto kHint = ptx::L2Prefetch::k128B;
  const bool live = at.tile < p.tiles;
  const int bytes = at.col < p.n ? 16 : 0;  // right of n: zeros
  const size_t pass_b = static_cast<size_t>(Config::kRowsPerPassB) * p.n;
#pragma unroll
  for (int i = 0; i < kPasses; ++i) {
    if (i * parts / kPasses != part) {
      continue;
    }
    if (i < Config::kPassesA) {
      ptx::cp_async_16<kHint>(to_a + i * (Config::kRowsPerPassA * 2 * Config::kTileK),
                              at.a + i * (Config::kRowsPerPassA * Config::kBlockK), 16, live);
    } else {
      const int j = i - Config::kPassesA;
      ptx::cp_async_16<kHint>(to_b + j * (Config::kRowsPerPassB * 2 * Config::kTileN), at.b + j * pass_b, bytes, live);
    }
  }
  if (part == parts - 1) {
    ptx::cp_async_commit();
  }
}

// Steps of a tile; 0 past the last tile.
__device__ __forceinline__ int steps_of(const Problem& p, int tile) {
  if (tile >= p.tiles) {
    return 0;
  }
  const int row = tile_at(p, tile).row;
  return (p.row_ptr[row + 1] - p.row_ptr[row]) * Config::kStepsPerBlock;
}

// ---- products --------------------------------------------------------------------------------------

struct Fragments {
  uint32_t a[Config::kMmasM][4];
  uint32_t b[Config::kMmasN / 2][4];  // two n-tiles of 8 each
};

// Operands of substep `kk` of one stage. `lane_a`, `lane_b` are the lane's addresses in the stage for
// substep 0: row lane % 16, chunk lane / 16 of the warp's first 16 x 16 patch.
__device__ __forceinline__ void load_fragments(Fragments& f, uint32_t lane_a, uint32_t lane_b, int kk) {
#pragma unroll
  for (int i = 0; i < Config::kMmasM; ++i) {
    // 16 rows down leave the phase as it is; 2 chunks right flip address bits 5 and up.
    mma::ldmatrix_x4(f.a[i], (lane_a ^ (kk * 32)) + i * (16 * 2 * Config::kTileK));
  }
#pragma unroll
  for (int j = 0; j < Config::kMmasN / 2; ++j) {
    mma::ldmatrix_x4_trans(f.b[j], (lane_b ^ (j * 32)) + kk * (16 * 2 * Config::kTileN));
  }
}

using Accumulators = float[Config::kMmasM][Config::kMmasN][4];

// `between(i)` is run after the products of each row i of mma tiles.
template <typename Between>
__device__ __forceinline__ void multiply(Accumulators& accum, const Fragments& f, Between between) {
#pragma unroll
  for (int i = 0; i < Config::kMmasM; ++i) {
#pragma unroll
    for (int jj = 0; jj < Config::kMmasN; ++jj) {
      const int j = i % 2 == 0 ? jj : Config::kMmasN - 1 - jj;  // there and back: neighbours share B
      mma::mma_m16n8k16(mma::Half{}, accum[i][j], f.a[i], f.b[j / 2][j % 2 * 2], f.b[j / 2][j % 2 * 2 + 1]);
    }
    between(i);
  }
}

// A quad holds 8 columns of a row, two a lane, for each n-tile. Four n-tiles are transposed within the
// quad, so each lane writes 16 bytes and a quad writes 64 neighbouring bytes of C.
__device__ __forceinline__ void store_accum(const Accumulators& accum, __half* c, int row, int col, int n) {
  const int lane = threadIdx.x % 32;
  const int quad_lane = lane % 4;
#pragma unroll
  for (int i = 0; i < Config::kMmasM; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      __half* c_row = c + static_cast<size_t>(row + i * 16 + half * 8 + lane / 4) * n;
#pragma unroll
      for (int first = 0; first < Config::kMmasN; first += 4) {
        uint32_t words[4];
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          words[t] = mma::pack_pair(mma::Half{}, accum[i][first + t][half * 2], accum[i][first + t][half * 2 + 1]);
        }
        mma::transpose_quad(words);
        const int at = col + (first + quad_lane) * 8;
        if (at < n) {
          // Streaming: C is not read again, and L2 is for A and B.
          __stcs(reinterpret_cast<uint4*>(c_row + at), make_uint4(words[0], words[1], words[2], words[3]));
        }
      }
    }
  }
}

__global__ void __launch_bounds__(Config::kThreads, Config::kCtasPerSm) bsr_mma_kernel(const Problem p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const auto ring = ptx::shared_address(shared);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / Config::kWarpsN * Config::kWarpM;
  const int warp_col = warp % Config::kWarpsN * Config::kWarpN;

  // Where this thread's copies go, and where its ldmatrix rows lie, in stage 0.
  const uint32_t to_a = ring + offset_a(threadIdx.x / Config::kChunksA, threadIdx.x % Config::kChunksA);
  const uint32_t to_b =
      ring + Config::kBytesA + offset_b(threadIdx.x / Config::kChunksB, threadIdx.x % Config::kChunksB);
  const uint32_t lane_a = ring + offset_a(warp_row + lane % 16, lane / 16);
  const uint32_t lane_b = ring + Config::kBytesA + offset_b(lane % 16, warp_col / Config::kChunk + lane / 16);

  Cursor at = {};
  enter_tile(p, at, blockIdx.x);
#pragma unroll
  for (int s = 0; s < Config::kStages - 1; ++s) {
    copy_part(p, at, to_a + s * Config::kStageBytes, to_b + s * Config::kStageBytes, 0, 1);
    advance(p, at);
  }
  ptx::cp_async_wait<Config::kStages - 2>();  // this thread's part of stage 0 has landed
  __syncthreads();                         // everybody's has

  Fragments fragments[2];
  load_fragments(fragments[0], lane_a, lane_b, 0);
  uint32_t read_stage = 0;                                             // byte offset of the stage being multiplied
  uint32_t write_stage = (Config::kStages - 1) * Config::kStageBytes;  // and of the one being filled

  int steps = steps_of(p, blockIdx.x);
  for (int tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    Accumulators accum = {};

#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int kk = 0; kk < Config::kSubsteps; ++kk) {
        uint32_t next_stage = read_stage;
        if (kk == Config::kSubsteps - 1) {
          // Copies closed so far reach STAGES - 1 steps ahead; leaving STAGES - 2 open means that the
          // next step's have landed. The barrier makes that true of all threads, and says that all
          // are done reading this stage (its last fragments are in registers): it may be filled next.
          next_stage += Config::kStageBytes;
          next_stage = next_stage == Config::kSharedBytes ? 0 : next_stage;
          ptx::cp_async_wait<Config::kStages - 2>();
          __syncthreads();
          read_stage = next_stage;
        }
        // After the very last step this reads a stage that nobody filled; the values are never used.
        load_fragments(fragments[(kk + 1) % 2], lane_a + next_stage, lane_b + next_stage, (kk + 1) % Config::kSubsteps);
        // The stage before this one is free since the last barrier; it is filled in parts between the
        // products, all of them before the next wait.
        multiply(accum, fragments[kk % 2], [&](int i) {
          if (kk < Config::kSubsteps - 1) {
            copy_part(p, at, to_a + write_stage, to_b + write_stage, kk * Config::kMmasM + i,
                      (Config::kSubsteps - 1) * Config::kMmasM);
          }
        });
      }
      advance(p, at);
      write_stage += Config::kStageBytes;
      write_stage = write_stage == Config::kSharedBytes ? 0 : write_stage;
    }
    const Tile place = tile_at(p, tile);
    steps = steps_of(p, tile + static_cast<int>(gridDim.x));  // asked for early: the stores below hide the wait
    store_accum(accum, p.c, place.row * Config::kTileM + warp_row, place.col * Config::kTileN + warp_col, p.n);
  }
}

}  // namespace

extern "C" int assay_bsr_gemm(const void* a_values, const int* a_row_ptr, const int* a_col_idx, const void* b, void* c,
                              int m, int n, int k, void* /*workspace*/, size_t /*workspace_bytes*/, void* stream) {
  if (m <= 0 || n <= 0 || k <= 0 || m % Config::kTileM != 0 || k % Config::kBlockK != 0 || n % Config::kChunk != 0) {
    return cudaErrorInvalidValue;
  }
  if (!launch::is_aligned_16(a_values) || !launch::is_aligned_16(b) || !launch::is_aligned_16(c)) {
    return cudaErrorInvalidValue;
  }
  const int block_rows = m / Config::kTileM;
  const int tiles_n = (n + Config::kTileN - 1) / Config::kTileN;
  if (static_cast<int64_t>(block_rows) * tiles_n > INT32_MAX / 2) {
    return cudaErrorInvalidValue;  // tile numbers are ints, and one stride past the end must fit too
  }
  launch::DeviceLimits limits;
  const cudaError_t error = launch::prepare(bsr_mma_kernel, Config::kSharedBytes, &limits);
  if (error != cudaSuccess) {
    return error;
  }
  const int tiles = block_rows * tiles_n;
  const int resident = limits.sms * Config::kCtasPerSm;
  const int grid = Config::kPersistent && tiles > resident ? resident : tiles;
  const Problem problem{static_cast<const __half*>(a_values), a_row_ptr, a_col_idx,   static_cast<const __half*>(b),
                        static_cast<__half*>(c),              n,         block_rows, tiles_n, tiles};
  bsr_mma_kernel<<<grid, Config::kThreads, Config::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(problem);
  return cudaGetLastError();
}
