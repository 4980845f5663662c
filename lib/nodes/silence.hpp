// Silence: which of the other nodes has said nothing for too long. Times are given: it neither waits nor asks a clock.
//
// The thread that asks may have been held up itself, as on a loaded machine. Then it has not listened, and no node is
// to blame: all count anew. So silence counts only while this node asks at least four times within the patience.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace hiway::detail::nodes {

class Silence {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Silence(std::size_t nodes, std::chrono::milliseconds patience) : patience_(patience), heard_(nodes) {}

  /// A node counts from when it is first heard: until then it may have other things to do.
  void begin() { heard_.assign(heard_.size(), std::nullopt); }
  /// Before each time that this node listens.
  void listens(Time now) {
    bool const was_held_up = now - listened_ > patience_ / 4;
    listened_ = now;
    if (!was_held_up) return;
    for (auto& heard : heard_) {
      if (heard) heard = now;
    }
  }
  void hears(std::size_t node, Time now) { heard_[node] = now; }
  [[nodiscard]] std::optional<std::size_t> silent(Time now) const {
    for (std::size_t node = 0; node < heard_.size(); ++node) {
      if (heard_[node] && now - *heard_[node] > patience_) return node;
    }
    return std::nullopt;
  }

 private:
  std::chrono::milliseconds patience_;
  std::vector<std::optional<Time>> heard_;
  Time listened_{};
};

}  // namespace hiway::detail::nodes
