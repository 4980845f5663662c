// What a run's counters say about which stage waits for what: pure functions of numbers, tested without threads.
//
// Which thread or lane waits cannot be read. It follows from what is full, what is empty, and which stages hold tasks.
// So findings name candidates, the most likely cause first.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
};

struct TunnelSnapshot {
  std::string name;
  std::string kind;  ///< direction and movement, for people
  bool crosses = false;
  bool on_device = false;  ///< some of its words are at the device's home
  std::uint64_t capacity = 0;
  std::uint64_t may_grow_to = 0;                 ///< 0: it does not grow
  std::uint64_t claimed = 0;                     ///< the ring's, or the outbox's
  std::uint64_t taken = 0;                       ///< the ring's, or the inbox's
  std::uint64_t retired = 0;                     ///< items whose room in the ring is free again
  std::uint64_t published = 0, arrived = 0;      ///< crossing tunnels only
  std::uint64_t put_groups = 0, get_groups = 0;  ///< claims that the warps of a block made together
  bool spills = false;
  std::uint64_t spill_claimed = 0;
  std::uint64_t spill_taken = 0;  ///< taken by readers; in a crossing tunnel, moved on into the ring
  std::uint64_t spill_capacity = 0;
  bool throttled = false;                   ///< writers that do not spill wait until the pools have emptied
  std::vector<std::size_t> throttled_by{};  ///< the tunnels that own these pools
  bool closed = false;
  bool ended = false;
  std::uint32_t open_inlets = 0;
  std::uint32_t open_inlets_closed = 0;
  std::vector<TaskCounts> open_outlets;
  std::string frames{};  ///< of a stencil tunnel: what a frame that was begun lacks
};

struct PipelineSnapshot {
  std::vector<StageSnapshot> stages;
  std::vector<TunnelSnapshot> tunnels;
  bool device_seen = true;  ///< false: words at the device's home are missing, not 0
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

/// Numbers of which some change whenever anything moves.
using Progress = std::vector<std::uint64_t>;
[[nodiscard]] Progress progress(PipelineSnapshot const& snapshot);

/// The tunnel that must have more room (Parks): the smallest of the full tunnels that are part of a circle of waits and
/// may grow.
[[nodiscard]] std::optional<std::size_t> tunnel_to_grow(PipelineSnapshot const& snapshot);

/// What seems to hold the run up, one sentence each, the most likely cause first; at least one.
[[nodiscard]] std::vector<std::string> find_waits(PipelineSnapshot const& snapshot);

/// True if no task is unfinished and an open inlet may still bring items: a service without requests.
[[nodiscard]] bool waits_for_outside(PipelineSnapshot const& snapshot);

/// `occasion`, a line for each stage and tunnel, then the findings.
[[nodiscard]] std::string describe_stall(PipelineSnapshot const& snapshot, std::string_view occasion);

/// Says when a run stalls, once for each stall.
class StallWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit StallWatch(std::chrono::nanoseconds stall_after) : stall_after_(stall_after) {}
  [[nodiscard]] std::chrono::nanoseconds stall_after() const { return stall_after_; }

  /// Takes the current counters. True once for each stall: when nothing has moved for stall_after.
  [[nodiscard]] bool look(Time now, Progress progress);
  /// How long nothing had moved at the last look.
  [[nodiscard]] std::chrono::nanoseconds still() const { return still_; }

 private:
  std::chrono::nanoseconds stall_after_;
  Time since_{};
  std::chrono::nanoseconds still_{0};
  Progress last_;
  bool told_ = false;
};

}  // namespace hiway
