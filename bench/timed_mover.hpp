// A mover as a variant of a row: how many items a turn takes, and what it says about itself.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bench/mover.hpp"

namespace bench {

inline constexpr std::uint64_t most_items = std::uint64_t{1} << 30;

/// *Threads*: one.
class TimedMover {
 public:
  /// `items` of a turn, each way; 0: looked for in the first turn.
  TimedMover(std::unique_ptr<Mover> mover, Work const& work, std::uint64_t items, bool small)
      : mover_(std::move(mover)), work_(work), items_(items), small_(small) {}

  /// Its value is in items a second, both ways together.
  [[nodiscard]] Turn turn() {
    if (items_ == 0) {
      Moved const moved = find_items();
      if (!moved.wrong.empty()) return {0, false, moved.wrong};
    }
    Moved const moved = mover_->move(items_);
    double const ways = work_.flow == Flow::both ? 2 : 1;
    double const rate = moved.seconds > 0 ? ways * static_cast<double>(items_) / moved.seconds : 0;
    if (!moved.wrong.empty()) return {rate, false, moved.wrong};
    rates_.push_back(rate);
    return {rate, true};
  }

  [[nodiscard]] Json facts() const {
    Json facts = Json::object();
    facts["items"] = items_;
    if (!small_ && !rates_.empty()) {
      // As the row's median: without the turn that does not count.
      std::vector<double> sorted(rates_.begin() + (rates_.size() > 1 ? 1 : 0), rates_.end());
      std::ranges::sort(sorted);
      facts["bytes_per_second"] = sorted[sorted.size() / 2] * static_cast<double>(work_.item_bytes);
      if (empty_us_ > 0) facts["without_items_us"] = empty_us_;
    }
    facts.update(mover_->facts());
    return facts;
  }

 private:
  static constexpr double least_seconds = 0.05;
  static constexpr double wanted_seconds = 0.1;

  /// Ever more items, until a move takes long enough.
  [[nodiscard]] Moved find_items() {
    Moved moved = mover_->move(0);
    empty_us_ = moved.seconds * 1e6;
    // The first one that counts anything also warms up.
    for (std::uint64_t items = (std::uint64_t{4} << 20) / work_.item_bytes + 1024; moved.wrong.empty();) {
      items_ = std::min(items, most_items);
      moved = mover_->move(items_);
      if (moved.seconds >= least_seconds || items_ == most_items) break;
      double const more = std::clamp(wanted_seconds / std::max(moved.seconds, 1e-6), 2.0, 16.0);
      items = static_cast<std::uint64_t>(static_cast<double>(items_) * more);
    }
    return moved;
  }

  std::unique_ptr<Mover> mover_;
  Work work_;
  std::uint64_t items_;
  bool small_;
  double empty_us_ = 0;
  std::vector<double> rates_;
};

}  // namespace bench
