// What a run's counters say about which stage waits for what: pure functions of numbers, tested without threads.
//
// Which thread or lane waits cannot be read. It follows from what is full, what is empty, and which stages hold tasks.
// So findings name candidates, the most likely cause first.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot.hpp"

namespace hiway {

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
