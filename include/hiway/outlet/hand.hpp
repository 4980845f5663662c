// Hand: items that a CPU thread has taken from a tunnel by one claim and gets one by one.
//
// A claim of one item costs some locked operations on words that others write, too. So a thread whose gets follow each
// other quickly takes several items at once into memory of its own.
//
//   - Every get of that thread looks in its hand first, and claims only when it is empty: the tunnel's only reader sees
//     each writer's items in order.
//   - Of several readers each has a *shared* hand. A reader that finds nothing elsewhere takes items from the hand of
//     another, which stands at its item. So no item waits for the end of another one's task, and a body may wait for
//     what follows from an item in its own thread's hand. A reader that takes an item there ends its task.
//   - What is taken is counted as got. The tasks of a hand's items are counted as ended together: items that were got
//     and not ended keep the unit open in any case. A shared hand defers no end beyond for_each, though: its items may
//     be gone when the owner calls nothing more.
//   - A hand begins with single items. It takes twice as many after a run that was used up in `quick`, and single items
//     again after one that took longer than `slow`. So a stage that takes its time has the items that it works on, and
//     no more.
//
// What lies in a hand, and how others take it: held_items.hpp.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/held_items.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/trace.hpp"

namespace hiway {

/// *Threads*: its end's (detail::is_own), but for what says otherwise.
class Hand {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds quick{2};
  static constexpr std::chrono::microseconds slow{10};

  static constexpr unsigned between_looks = 8;  ///< steps of a thread that finds nothing

  using Items = ItemsInRow;

  /// The most that a hand takes: what is in it lies in the tunnel no more, so little beside the capacity.
  [[nodiscard]] static constexpr std::uint32_t longest_run(std::size_t item_bytes, std::size_t capacity_items) {
    constexpr std::size_t most_items = HeldItems::most_items;
    constexpr std::size_t most_bytes = 16384;
    std::size_t const by_bytes = most_bytes / item_bytes;
    std::size_t const by_capacity = capacity_items / 16;
    std::size_t const fit = by_bytes < by_capacity ? by_bytes : by_capacity;
    return static_cast<std::uint32_t>(fit < most_items ? fit : most_items);
  }

  /// `most`: at least 2.
  Hand(std::size_t item_bytes, std::uint32_t most) : items_(item_bytes, most), most_(most) {}

  /// Before the first run: other readers of the tunnel may take from it. `other`: another hand of the tunnel, or null.
  /// `got`: where its owner's gets are counted.
  void share(Hand* other, Word<std::uint64_t>& got) {
    got_ = &got;
    next_of_tunnel_ = other != nullptr ? std::exchange(other->next_of_tunnel_, this) : this;
  }
  [[nodiscard]] bool is_shared() const { return got_ != nullptr; }

  /// Before a run, while no thread of it is there.
  void reset() {
    items_.reset(!is_shared() || has_asymmetric_fences());
    length_ = 1;
    ended_ = 0;
    watched_ = this;
    seen_ = 0;
    fruitless_ = 0;
    missed();
  }

  template <class Machine>
  [[nodiscard]] std::uint32_t held(Machine m) {
    return HeldItems::count_in(items_.look(m));
  }
  /// Takes up to `n` of its items for the owner.
  template <class Machine>
  [[nodiscard]] Items next(Machine m, std::uint32_t n = 1) {
    return items_.take(m, n);
  }
  /// Takes all of its items for the owner, as HeldItems::take_each.
  template <class Machine, class Work>
  std::uint64_t next_each(Machine m, Work&& work) {
    return items_.take_each(m, work);
  }

  /// How many items the next claim asks for.
  [[nodiscard]] std::uint32_t length() const { return length_; }
  /// Whether that claim may fill the hand, which is empty.
  template <class Machine>
  [[nodiscard]] bool may_fill(Machine m) {
    return length_ > 1 && items_.may_fill(m);
  }
  [[nodiscard]] std::byte* room() { return items_.room(); }
  [[nodiscard]] std::size_t item_bytes() const { return items_.item_bytes(); }
  /// `n` items lie in room(); the caller has the first one.
  template <class Machine>
  void fill(Machine m, std::uint32_t n) {
    items_.fill(m, n);
  }

  /// A claim brought `n` items, in this hand or past it.
  void claimed(std::uint32_t n) {
    bool const follows = follows_;
    fruitless_ = 0;
    follows_ = true;
    if (!follows && n == 1) return;  // a thread that waits for each item does not look at the clock
    Clock::time_point const now = Clock::now();
    if (timed_) used_up(now - since_);
    timed_ = true;
    since_ = now;
    whole_ = n == length_;
  }
  /// A claim brought nothing: the time until the next one is no work.
  void missed() { follows_ = timed_ = whole_ = false; }

  /// Tasks that ended while it held items, to be counted later; not of a shared one.
  void defer_ends(std::uint64_t n) { ended_ += n; }
  [[nodiscard]] std::uint64_t take_ends() {
    std::uint64_t const n = ended_;
    ended_ = 0;
    return n;
  }

  /// Any thread takes up to `n` items for itself, and counts them as its own. `read(items, i, n)` reads its items i to
  /// i + n.
  template <class Machine, class Read>
  std::uint32_t give(Machine m, std::uint32_t n, Read&& read) {
    Items const items = items_.take_from_owner(m, n);
    if (items.count == 0) return 0;
    read(items.first, 0u, items.count);
    items_.read(m);
    // the owner ends them no more
    m.fetch_add(*got_, std::uint64_t{0} - std::uint64_t{items.count}, MemoryOrder::relaxed);
    return items.count;
  }
  /// One step of the owner, who found nothing elsewhere: takes from another hand that is as it was at the last look, so
  /// its owner stands. Each gets two looks, then the next one that holds anything. Most steps of a wait's beginning
  /// look nowhere, since a look takes the line that the other owner writes for each item.
  template <class Machine, class Read>
  std::uint32_t take_from_others(Machine m, std::uint32_t n, Read&& read) {
    constexpr unsigned busy_steps = 64;
    if (++fruitless_ < busy_steps && fruitless_ % between_looks != 0) return 0;
    std::uint64_t const now = watched_->items_.look(m);
    if (now == seen_ && HeldItems::count_in(now) != 0) {
      std::uint32_t const count = watched_->give(m, n, read);
      seen_ = watched_->items_.look(m);
      return count;
    }
    Hand* at = watched_;
    do {
      at = at->next_of_tunnel_;
      seen_ = at->items_.look(m);
    } while (HeldItems::count_in(seen_) == 0 && at != watched_);
    watched_ = at;
    return 0;
  }
  /// The same for a thread that has no hand: from any that holds something.
  template <class Machine, class Read>
  std::uint32_t take_from_all(Machine m, std::uint32_t n, Read&& read) {
    Hand* at = this;
    do {
      if (std::uint32_t const count = at->give(m, n, read); count != 0) return count;
      at = at->next_of_tunnel_;
    } while (at != this);
    return 0;
  }

 private:
  void used_up(Clock::duration time) {
    if (time > slow) length_ = 1;
    if (time < quick && whole_ && length_ < most_) length_ = 2 * length_ < most_ ? 2 * length_ : most_;
  }

  HeldItems items_;
  Hand* next_of_tunnel_ = nullptr;      ///< round and round
  Word<std::uint64_t>* got_ = nullptr;  ///< null: not shared
  // The owner's alone.
  alignas(64) std::uint32_t most_;
  std::uint32_t length_ = 1;
  bool follows_ = false;  ///< the claim before brought something
  bool timed_ = false;    ///< `since_` is when the last claim brought something
  bool whole_ = false;    ///< that claim brought as many as it asked for
  Clock::time_point since_{};
  std::uint64_t ended_ = 0;
  Hand* watched_ = this;    ///< another reader's, or this one
  std::uint64_t seen_ = 0;  ///< what was there at the last look
  unsigned fruitless_ = 0;  ///< steps since the last claim that brought something
};

namespace detail {

/// The hand of a CPU thread of a stage; null: it has none.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline Hand* hand_of(Machine, [[maybe_unused]] OutletView const& v) {
  if constexpr (RoleOf<Machine>::keeps_hand) {
    if (v.ports->hand != nullptr && is_own(*v.ports)) return v.ports->hand;
  }
  return nullptr;
}

/// One try of a thread that found nothing elsewhere: up to `n` items from the hands of the tunnel's other readers;
/// returns how many. `read` as in Hand::give.
HIWAY_NO_SPACE_CHECK template <class Machine, class Read>
HIWAY_DEVICE inline std::uint32_t take_from_hands([[maybe_unused]] Machine m, [[maybe_unused]] OutletView const& v,
                                                  [[maybe_unused]] std::uint32_t n, [[maybe_unused]] Read&& read) {
  std::uint32_t count = 0;
  if constexpr (RoleOf<Machine>::keeps_hand) {
    OutletPort& port = port_of(m, v);
    if (port.hand == nullptr || !port.hand->is_shared()) return 0;
    count = is_own(port) ? port.hand->take_from_others(m, n, read) : port.hand->take_from_all(m, n, read);
    if (count != 0) m.fetch_add(port.got, std::uint64_t{count}, MemoryOrder::relaxed);
  }
  return count;
}

}  // namespace detail

}  // namespace hiway
