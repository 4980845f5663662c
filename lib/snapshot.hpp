// PipelineSnapshot: what one look at a run's counters saw, and what follows from the numbers of one tunnel or stage.
//
// The words are read one after another while other threads change them, so a later word may be ahead.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiway/config.hpp"
#include "hiway/failed_tasks.hpp"

namespace hiway {

/// Tasks of one reader of a tunnel: how many it got and how many it ended, all its threads or blocks together.
struct TaskCounts {
  std::uint64_t got = 0;
  std::uint64_t finished = 0;
};

struct StageSnapshot {
  struct From {
    std::size_t tunnel = 0;
    TaskCounts tasks;
  };
  struct Into {
    std::size_t tunnel = 0;
    std::uint32_t closed = 0;  ///< executors that have closed or returned
    bool spills = false;       ///< then a put never waits for room
  };
  std::string name;
  bool gpu = false;
  std::string device{};         ///< its device, if the pipeline has several
  std::uint32_t executors = 0;  ///< threads or blocks
  std::uint32_t started = 0;
  std::uint32_t returned = 0;  ///< executors that leave because of an abort are not counted
  /// Executors still in the stage's code. For a kernel that runs: all of them.
  std::uint32_t inside = 0;
  std::optional<std::uint32_t> in_sync_block{};  ///< lanes of its kernel, if the device tells
  bool ended = false;                            ///< every tunnel that it reads has ended
  std::vector<From> from;
  std::vector<std::uint64_t> got;  ///< by each executor, from all tunnels together
  std::vector<Into> into;
  std::uint64_t failed_tasks = 0;
  FirstFailure first_failure{};  ///< its message is empty while it is not known
};

/// A tunnel's ring, or its two rings across the bus.
struct RingCounts {
  std::uint64_t capacity = 0;
  std::uint64_t may_grow_to = 0;                 ///< 0: it does not grow
  std::uint64_t claimed = 0;                     ///< the ring's, or the outbox's
  std::uint64_t taken = 0;                       ///< the ring's, or the inbox's
  std::uint64_t retired = 0;                     ///< items whose room in the ring is free again
  std::uint64_t published = 0, arrived = 0;      ///< crossing tunnels only
  std::uint64_t put_groups = 0, get_groups = 0;  ///< claims that the warps of a block made together
  std::uint64_t dropped = 0;                     ///< of drop_oldest they were put and taken, else neither
  WhenFull when_full = WhenFull::automatic;      ///< as configured
};
/// A tunnel's spill pool, and those whose items hold its writers back.
struct PoolCounts {
  bool spills = false;
  std::uint64_t spill_claimed = 0;
  std::uint64_t spill_taken = 0;  ///< taken by readers; in a crossing tunnel, moved on into the ring
  std::uint64_t spill_capacity = 0;
  bool throttled = false;                   ///< writers that do not spill wait until the pools have emptied
  std::vector<std::size_t> throttled_by{};  ///< the tunnels that own these pools
};
/// Whether anything can still come, and the user's own ends.
struct EndCounts {
  bool closed = false;
  bool ended = false;
  std::uint32_t open_inlets = 0;
  std::uint32_t open_inlets_closed = 0;
  std::vector<TaskCounts> open_outlets;
};
struct TunnelSnapshot : RingCounts, PoolCounts, EndCounts {
  std::string name;
  std::string kind;  ///< direction and movement, for people
  bool crosses = false;
  bool on_device = false;  ///< some of its words are at the device's home
  std::string frames{};    ///< of a stencil tunnel: what a frame that was begun lacks
};

struct OpenScopeAge {
  std::uint32_t place = 0;
  std::chrono::nanoseconds age{0};
};
struct ScopesSnapshot {
  std::string name;
  std::uint64_t most_open = 0;
  std::uint64_t open = 0;
  std::uint64_t ended = 0;
  std::vector<OpenScopeAge> oldest;  ///< some of those that are open, the longest first
};

struct PipelineSnapshot {
  std::vector<StageSnapshot> stages;
  std::vector<TunnelSnapshot> tunnels;
  std::vector<ScopesSnapshot> scopes;  ///< only for a stall report
  bool device_seen = true;             ///< false: words at the device's home are missing, not 0
  bool aborting = false;
  bool asks_driver = false;  ///< some words can only be read through the CUDA driver
  /// How long a call of the library has been waiting for the CUDA driver.
  std::chrono::nanoseconds driver_held{0};
};

/// Items in the tunnel's ring or rings, in its pool, and put into it so far.
[[nodiscard]] std::uint64_t in_ring(TunnelSnapshot const& t);
[[nodiscard]] std::uint64_t in_pool(TunnelSnapshot const& t);
[[nodiscard]] std::uint64_t put(TunnelSnapshot const& t);
/// The tasks of all readers of the tunnel together.
[[nodiscard]] TaskCounts tasks(PipelineSnapshot const& snapshot, std::size_t tunnel);

/// Items got from the tunnel so far.
[[nodiscard]] std::uint64_t got(TunnelSnapshot const& t);
[[nodiscard]] bool full(TunnelSnapshot const& t);
[[nodiscard]] bool empty(TunnelSnapshot const& t);
/// Items that a get would find.
[[nodiscard]] std::uint64_t ready(TunnelSnapshot const& t);
/// Items between the two rings of a tunnel across the bus.
struct UnderWay {
  std::uint64_t items = 0;
  std::uint64_t unpublished = 0;  ///< of these
  std::uint64_t published = 0;
};
[[nodiscard]] UnderWay under_way(TunnelSnapshot const& t);
/// Tasks that were got and have not ended.
[[nodiscard]] std::uint64_t held(TaskCounts const& c);
[[nodiscard]] std::uint64_t held(StageSnapshot const& s);
[[nodiscard]] bool has_returned(StageSnapshot const& s);

/// Numbers of which some change whenever anything moves.
using Progress = std::vector<std::uint64_t>;
[[nodiscard]] Progress progress(PipelineSnapshot const& snapshot);

}  // namespace hiway
