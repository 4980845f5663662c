// What a run's counters say about who waits for what: pure functions of numbers, tested without threads.
//
// Which thread or lane waits cannot be read: it follows from what is full, what is empty, and who holds tasks. Findings
// therefore name candidates, the most likely cause first.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hiway {

/// Tasks of one reader of a tunnel: what it got and what it ended, all its threads or blocks together.
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
    bool spills = false;       ///< a put never waits for room
  };
  std::string name;
  bool gpu = false;
  std::string device{};         ///< of several, the one it is on
  std::uint32_t executors = 0;  ///< threads or blocks
  std::uint32_t started = 0;
  std::uint32_t returned = 0;  ///< not counted when they leave because of an abort
  std::uint32_t inside = 0;    ///< still in the stage's code or, of a kernel that runs, all of them
  std::optional<std::uint32_t> in_sync_block{};  ///< lanes of its kernel, where the device says
  bool ended = false;                            ///< every tunnel that it reads has ended
  std::vector<From> from;
  std::vector<std::uint64_t> got;  ///< by each executor, of all tunnels together
  std::vector<Into> into;
};

struct TunnelSnapshot {
  std::string name;
  std::string kind;  ///< direction and movement, for the reader
  bool crosses = false;
  bool on_device = false;  ///< some of its words are at the device's home
  std::uint64_t capacity = 0;
  std::uint64_t may_grow_to = 0;                 ///< 0: it does not
  std::uint64_t claimed = 0;                     ///< the ring's, or the outbox's
  std::uint64_t taken = 0;                       ///< the ring's, or the inbox's
  std::uint64_t retired = 0;                     ///< items whose room in the ring is free again
  std::uint64_t published = 0, arrived = 0;      ///< crossing tunnels only
  std::uint64_t put_groups = 0, get_groups = 0;  ///< claims that warps of a block have made together
  bool spills = false;
  std::uint64_t spill_claimed = 0;
  std::uint64_t spill_taken = 0;  ///< by readers, or, of a crossing tunnel, moved on into the ring
  std::uint64_t spill_capacity = 0;
  bool throttled = false;                   ///< writers that do not spill wait until pools have emptied
  std::vector<std::size_t> throttled_by{};  ///< tunnels whose pools these are
  bool closed = false;
  bool ended = false;
  std::uint32_t open_inlets = 0;
  std::uint32_t open_inlets_closed = 0;
  std::vector<TaskCounts> open_outlets;
  std::string frames{};  ///< a stencil tunnel's: what a frame lacks that was begun
};

struct PipelineSnapshot {
  std::vector<StageSnapshot> stages;
  std::vector<TunnelSnapshot> tunnels;
  bool device_seen = true;  ///< false: words at the device's home are missing, not 0
  bool aborting = false;
  bool asks_driver = false;  ///< of CUDA
  std::chrono::nanoseconds driver_held{0};  ///< so long a call of the library's has been waiting for the CUDA driver
};

/// Items in the tunnel's ring, or rings; in its pool; put into it so far.
[[nodiscard]] std::uint64_t in_ring(TunnelSnapshot const& t);
[[nodiscard]] std::uint64_t in_pool(TunnelSnapshot const& t);
[[nodiscard]] std::uint64_t put(TunnelSnapshot const& t);
/// Of all readers of the tunnel.
[[nodiscard]] TaskCounts tasks(PipelineSnapshot const& snapshot, std::size_t tunnel);

/// Numbers that change whenever anything moved.
using Progress = std::vector<std::uint64_t>;
[[nodiscard]] Progress progress(PipelineSnapshot const& snapshot);

/// The tunnel that must have more room (Parks): of the full ones that are part of a circle of waits and may grow, the
/// smallest.
[[nodiscard]] std::optional<std::size_t> tunnel_to_grow(PipelineSnapshot const& snapshot);

/// What seems to hold the run up, one sentence each, the most likely cause first; at least one.
[[nodiscard]] std::vector<std::string> find_waits(PipelineSnapshot const& snapshot);

/// Nothing is under way, and an open inlet may still bring something: a service without requests.
[[nodiscard]] bool waits_for_outside(PipelineSnapshot const& snapshot);

/// `occasion`, a line for each stage and tunnel, then the findings.
[[nodiscard]] std::string describe_stall(PipelineSnapshot const& snapshot, std::string_view occasion);

/// Says when a run stalls, once for each stall.
class StallWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit StallWatch(std::chrono::nanoseconds stall_after) : stall_after_(stall_after) {}
  [[nodiscard]] std::chrono::nanoseconds stall_after() const { return stall_after_; }

  /// Takes the counters as they are now. True when nothing has moved for stall_after, the first time.
  [[nodiscard]] bool look(Time now, Progress progress);
  /// How long nothing has moved, at the last look.
  [[nodiscard]] std::chrono::nanoseconds still() const { return still_; }

 private:
  std::chrono::nanoseconds stall_after_;
  Time since_{};
  std::chrono::nanoseconds still_{0};
  Progress last_;
  bool told_ = false;
};

}  // namespace hiway
