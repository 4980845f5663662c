// Hand: items that a CPU thread has taken from a tunnel by one claim and gets one by one.
//
// A claim of one item costs some locked operations on words that others write, too. So a thread whose gets follow each
// other quickly takes several items at once into memory of its own.
//
//   - Only the tunnel's only reader has a hand, since no other thread can get what lies in it.
//   - Every get of that thread looks in its hand first, and claims only when it is empty: order stays.
//   - What is taken is counted as got. Tasks that end while the hand holds items are counted with a later one: items
//     that were got and not ended keep the unit open in any case.
//   - A hand begins with single items. It takes twice as many after a run that was used up in `quick`, and single items
//     again after one that took longer than `slow`. So a stage that takes its time has the items that it works on, and
//     no more.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/trace.hpp"

namespace hiway {

/// *Threads*: its end's (detail::is_own).
class Hand {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds quick{2};
  static constexpr std::chrono::microseconds slow{10};

  /// The most that a hand takes: what is in it lies in the tunnel no more, so little beside the capacity.
  [[nodiscard]] static constexpr std::uint32_t longest_run(std::size_t item_bytes, std::size_t capacity_items) {
    constexpr std::size_t most_items = 64;
    constexpr std::size_t most_bytes = 4096;
    std::size_t const by_bytes = most_bytes / item_bytes;
    std::size_t const by_capacity = capacity_items / 16;
    std::size_t const fit = by_bytes < by_capacity ? by_bytes : by_capacity;
    return static_cast<std::uint32_t>(fit < most_items ? fit : most_items);
  }

  /// `most`: at least 2.
  Hand(std::size_t item_bytes, std::uint32_t most) : item_bytes_(item_bytes), most_(most), items_(item_bytes * most) {}

  /// A run begins.
  void begin() {
    next_ = end_ = 0;
    length_ = 1;
    ended_ = 0;
    missed();
  }

  [[nodiscard]] std::uint32_t held() const { return end_ - next_; }
  /// The next item; the hand holds one.
  [[nodiscard]] std::byte const* next() { return items_.data() + std::size_t{next_++} * item_bytes_; }
  /// `n` items in a row, of those that it holds.
  [[nodiscard]] std::byte const* next(std::uint32_t n) {
    std::byte const* const first = items_.data() + std::size_t{next_} * item_bytes_;
    next_ += n;
    return first;
  }

  /// How many items the next claim asks for.
  [[nodiscard]] std::uint32_t length() const { return length_; }
  [[nodiscard]] std::byte* room() { return items_.data(); }
  [[nodiscard]] std::size_t item_bytes() const { return item_bytes_; }
  /// `n` items lie in room().
  void take(std::uint32_t n) {
    next_ = 0;
    end_ = n;
  }

  /// A claim brought `n` items, in this hand or past it.
  void claimed(std::uint32_t n) {
    bool const follows = follows_;
    follows_ = true;
    if (!follows && n == 1) return;  // whoever waits for each item does not look at the clock
    Clock::time_point const now = Clock::now();
    if (timed_) used_up(now - since_);
    timed_ = true;
    since_ = now;
    whole_ = n == length_;
  }
  /// A claim brought nothing: the time until the next one is no work.
  void missed() { follows_ = timed_ = whole_ = false; }

  /// Tasks that ended while it held items, to be counted later.
  void defer_ends(std::uint64_t n) { ended_ += n; }
  [[nodiscard]] std::uint64_t take_ends() {
    std::uint64_t const n = ended_;
    ended_ = 0;
    return n;
  }

 private:
  void used_up(Clock::duration time) {
    if (time > slow) length_ = 1;
    if (time < quick && whole_ && length_ < most_) length_ = 2 * length_ < most_ ? 2 * length_ : most_;
  }

  std::size_t item_bytes_;
  std::uint32_t most_;
  std::uint32_t next_ = 0;
  std::uint32_t end_ = 0;
  std::uint32_t length_ = 1;
  bool follows_ = false;  ///< the claim before brought something
  bool timed_ = false;    ///< `since_` is when the last claim brought something
  bool whole_ = false;    ///< that claim brought as many as it asked for
  Clock::time_point since_{};
  std::uint64_t ended_ = 0;
  std::vector<std::byte> items_;
};

namespace detail {

/// The hand of a CPU thread that reads the tunnel alone; null: it has none.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline Hand* hand_of(Machine, [[maybe_unused]] OutletView const& v) {
  if constexpr (RoleOf<Machine>::keeps_hand) {
    if (v.ports->hand != nullptr && is_own(*v.ports)) return v.ports->hand;
  }
  return nullptr;
}

}  // namespace detail

}  // namespace hiway
