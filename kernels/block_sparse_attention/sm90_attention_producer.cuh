// The producer warp of a stream: takes tiles, publishes them to the consumers, and starts all copies, running ahead.

#pragma once

#include "sm90_attention_config.cuh"

namespace attention {

struct Tile {
  int row = 0;
  int head = 0;
  int batch = 0;
  int list = 0;
  int partial = 0;
  int blocks = 0;
};

__device__ __forceinline__ Tile tile_at(const Problem& p, int index) {
  Tile tile;
  if (index < p.tiles) {
    const AssayAttention& c = p.call;
    const int pair = index / (p.rows * Config::kBlockTiles);
    const int within = index - pair * (p.rows * Config::kBlockTiles);
    const int place = within / Config::kBlockTiles;
    tile.batch = pair / c.heads;
    tile.head = pair - tile.batch * c.heads;
    const int lists = list_of(p, tile.batch, tile.head, 0);
    // Below a diagonal, the last rows are the longest.
    const int row = c.order != nullptr ? c.order[lists + place] : c.window_right >= 0 ? p.rows - 1 - place : place;
    tile.row = row * Config::kBlockTiles + within % Config::kBlockTiles;
    tile.list = lists + row;
    tile.partial = c.partial_counts != nullptr ? c.partial_counts[tile.list] : 0;
    tile.blocks = tile.partial + (c.full_counts != nullptr ? c.full_counts[tile.list] : 0);
  }
  return tile;
}

// The column of the tile's i-th block: partial blocks come first. A list without them is read as far as it has room, so
// that the answer need not wait for its length; columns beyond that are not used.
__device__ __forceinline__ int column_of(const Problem& p, const Tile& tile, int i) {
  const AssayAttention& c = p.call;
  if (c.partial_counts == nullptr) {
    return i < c.full_pitch && c.full_counts != nullptr
               ? c.full_columns[static_cast<int64_t>(tile.list) * c.full_pitch + i]
               : 0;
  }
  if (i >= tile.blocks) {
    return 0;
  }
  return i < tile.partial ? c.partial_columns[static_cast<int64_t>(tile.list) * c.partial_pitch + i]
                          : c.full_columns[static_cast<int64_t>(tile.list) * c.full_pitch + i - tile.partial];
}

// What FP8 has beside it.
__device__ __forceinline__ StepScale scale_of(const Problem& p, const Tile& tile, int i, int column) {
  return i < tile.blocks ? p.of_step(p.call, tile.batch, tile.head / p.group, column) : StepScale{};
}

// What a slot is to hold.
struct Load {
  int key[Config::kParts];
  int head;
  int batch;
};

// One warp. The ticket after the next and the next tile's first indices are asked for a tile ahead, behind the tile's
// first copies.
__device__ __forceinline__ void produce(const Problem& p, const Shared& shared, const CUtensorMap* map_q,
                                        const CUtensorMap* map_k, const CUtensorMap* map_v) {
  const int lane = threadIdx.x % 32;
  Ring pipe;
  pipe.parity = 1;  // the first visit to each slot need not wait
  QRing q_pipe;
  q_pipe.parity = 1;
  ptx::PipelineState<Config::kQueue> place;
  place.parity = 1;

  const int walkers = static_cast<int>(gridDim.x) * Config::kStreams;
  const int walker = static_cast<int>(blockIdx.x) + shared.stream * static_cast<int>(gridDim.x);
  int round = 0;
  const auto ticket = [&] {  // of the tile after the last that was asked for; lane 0 knows it
    ++round;
    if (Config::kDynamic && p.counter != nullptr) {
      return lane == 0 ? walkers + atomicAdd(p.counter, 1) : 0;
    }
    return round * walkers + (round % 2 == 0 ? walker : walkers - 1 - walker);
  };
  const auto publish = [&](const Tile& tile, int steps) {
    ptx::mbarrier_wait(shared.queue_empty(place.stage), place.parity);
    if (lane == 0) {
      shared.queue()[place.stage] = make_int4(tile.row, tile.head, tile.batch, steps);
      ptx::mbarrier_arrive(shared.queue_full(place.stage));
    }
    place.advance();
  };
  const auto load_q = [&](const Tile& tile) {
#pragma unroll
    for (int i = 0; i < Config::kStreamConsumers; ++i) {
      const int consumer = Config::kStreams == 1 ? i : shared.stream;
      ptx::mbarrier_wait(shared.q_empty(consumer, q_pipe.stage), q_pipe.parity);
      if (lane == 0) {
        const uint32_t full = shared.q_full(consumer, q_pipe.stage);
        ptx::mbarrier_arrive_expect_tx(full, Config::kQBytes);
        ptx::tma_load_5d(shared.q(consumer, q_pipe.stage), map_q, 0,
                         tile.row * Config::kTileRows + i * Config::kConsumerRows, 0, tile.head, tile.batch, full,
                         ptx::kEvictFirst);
      }
    }
    q_pipe.advance();
  };
  // One thread.
  const auto copy = [&](const CUtensorMap* map, const Load& load, auto by_column) {
    const uint32_t full = shared.full(pipe.stage);
    ptx::mbarrier_arrive_expect_tx(full, Config::kSlotBytes);
#pragma unroll
    for (int part = 0; part < Config::kParts; ++part) {
#pragma unroll
      for (int panel = 0; panel < Config::kPanels; panel += Config::kCopyPanels) {
        constexpr bool kColumns = decltype(by_column)::value;
        ptx::tma_load_5d(shared.slot(pipe.stage) + panel * Config::kSlotPanelBytes +
                             part * Config::kBlock * Config::kRowBytes,
                         map, kColumns ? load.key[part] : 0, kColumns ? 0 : load.key[part], panel, load.head,
                         load.batch, full, ptx::kEvictNormal);
      }
    }
  };
  // The step's V waits until the next step's K has been asked for.
  Load value;
  bool value_waits = false;
  const auto load_value = [&] {
    if (value_waits) {
      ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
      if (lane == 0) {
        copy(map_v, value, std::bool_constant<Config::kScaled>{});
      }
      pipe.advance();
    }
  };

  int index = walker;
  int pending = ticket();
  Tile tile = tile_at(p, index);
  int columns = column_of(p, tile, lane);
  StepScale scales{};
  if constexpr (Config::kScaled) {
    scales = scale_of(p, tile, lane, columns);
  }
  bool first = true;
  while (index < p.tiles) {
    int next_index = 0;
    Tile next;
    int next_columns = 0;
    StepScale next_scales{};
    const auto look_ahead = [&] {
      next_index = __shfl_sync(kAll, pending, 0);
      next = tile_at(p, next_index);
      next_columns = column_of(p, next, lane);
      if constexpr (Config::kScaled) {
        next_scales = scale_of(p, next, lane, next_columns);
      }
    };

    const int steps = (tile.blocks + Config::kParts - 1) / Config::kParts;
    publish(tile, steps);
    // Streams ask at different times, so that the last tiles fall to different SMs rather than to a few whole ones.
    const int ticket_at = steps * shared.stream / Config::kStreams;
    if (steps == 0) {
      look_ahead();
      pending = ticket();
    }
    const int q_at = first ? 0 : min(steps, Config::kStepsBeforeQ);
    const int kv_head = tile.head / p.group;
    for (int step = 0; step < steps; ++step) {
      const int begin = step * Config::kParts;
      if (step > 0 && begin % 32 == 0) {
        columns = column_of(p, tile, begin + lane);
        if constexpr (Config::kScaled) {
          scales = scale_of(p, tile, begin + lane, columns);
        }
      }
      if (step == q_at) {
        load_q(tile);
      }
      Load load;
      load.head = kv_head;
      load.batch = tile.batch;
      StepKeys keys;
#pragma unroll
      for (int i = 0; i < Config::kParts; ++i) {
        const int column = __shfl_sync(kAll, columns, begin % 32 + i);
        const int at = begin + i;
        const bool there = i == 0 || at < tile.blocks;
        // What is not there is copied from behind the last key: zeros, and all masked.
        keys.key[i] = there ? column * Config::kBlock : p.call.keys;
        const bool past_end = keys.key[i] + Config::kBlock > p.call.keys;
        keys.part[i] = there && at < tile.partial ? at : past_end ? kUpToLastKey : kWhole;
        load.key[i] = keys.key[i];
      }
      StepScale scale{};
      if constexpr (Config::kScaled) {
        scale = {__shfl_sync(kAll, scales.log2, begin % 32), __shfl_sync(kAll, scales.values_log2, begin % 32)};
      }
      ptx::mbarrier_wait(shared.empty(pipe.stage), pipe.parity);
      if (lane == 0) {
        bool masked = false;
#pragma unroll
        for (int i = 0; i < Config::kParts; ++i) {
          masked = masked || keys.part[i] != kWhole;
        }
        *static_cast<StepKeys*>(shared.pointer(shared.keys(pipe.stage))) = keys;
        *static_cast<int*>(shared.pointer(shared.masked(pipe.stage))) = masked ? 1 : 0;
        if constexpr (Config::kScaled) {
          *static_cast<StepScale*>(shared.pointer(shared.scale(pipe.stage))) = scale;
        }
        copy(map_k, load, std::false_type{});
      }
      pipe.advance();
      load_value();
      value = load;
      value_waits = true;
      if (step == 0) {
        look_ahead();
      }
      if (step == ticket_at) {
        pending = ticket();
      }
    }
    if (steps > 0) {
      if (q_at == steps) {
        load_q(tile);
      }
      first = false;
    }
    index = next_index;
    tile = next;
    columns = next_columns;
    if constexpr (Config::kScaled) {
      scales = next_scales;
    }
  }
  load_value();
  publish(tile, -1);
}

}  // namespace attention
