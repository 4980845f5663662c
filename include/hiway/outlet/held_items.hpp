// HeldItems: a run of items that a CPU thread, its owner, has got by one claim and takes one by one, and from which
// other threads may take.
//
// The owner takes thousands of times. Others take seldom, when the owner stands. So a run is *open* at first: its owner
// takes by a store and a look, without a locked operation. A thread that wants some of it asks, and pays for both by a
// fence of all threads. From then on the run is *settled*: everybody takes by compare-exchanges on one word.
//
//   word    written by                 says
//   place   the owner                  the next item, while the run is open
//   held    the owner; other threads   the run's number and end; whether it is open; whether it was asked for; of a
//                                      settled run the next item, where `place` stood, how many threads copy items
//
//   H1  the owner fills it only when it is empty and no thread copies from it. It acquires that, so what others took
//       has been read. It never waits for that
//   H2  filling releases `held`. A thread that takes acquires it: the items are whole, and `place` is this run's
//   H3  an item of a settled run belongs to the thread that changes `held`, in one step: once
//   H4  another thread counts itself in with that step, so the owner knows of it (H1). It counts itself out, by a
//       release, when it has read
//   H5  the owner stores `place`, then looks whether `held` is as the owner left it. An asker sets `asked` in
//       `held`, has all threads pass a fence, then reads `place`. So the owner sees the ask, or the asker sees the
//       place, or both. The asker settles the run at the place that it saw, and notes that place. An owner that sees
//       the ask settles the run itself, or finds it settled. If the noted place is behind the items that the owner
//       was about to take, it has them. If not, they are the run's, like all others
//   H6  a run is never settled by what was seen of another one. Each has a number in `held`. `held` changes before
//       `place` does when a run begins
// No thread waits for another one here. An asker that stops before it has settled the run leaves that to the owner, and
// to other askers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiway/machine/machine.hpp"
#include "hiway/ring/ring.hpp"

namespace hiway {

/// Items in a row.
struct ItemsInRow {
  std::byte const* first = nullptr;
  std::uint32_t count = 0;
};

/// *Threads*: the owner, but for what says otherwise.
class HeldItems {
 public:
  static constexpr std::uint32_t most_items = 512;

  /// `most`: at most most_items.
  HeldItems(std::size_t item_bytes, std::uint32_t most) : item_bytes_(item_bytes), items_(item_bytes * most) {}

  /// Before a run of the pipeline, while no thread of it is there. `opens`: others ask before they take, or there are
  /// none.
  void reset(bool opens) {
    held_.bits = left_ = 0;
    place_.bits = end_ = 0;
    opens_ = opens;
  }
  [[nodiscard]] std::byte* room() { return items_.data(); }
  [[nodiscard]] std::size_t item_bytes() const { return item_bytes_; }

  /// It is empty: whether it may be filled.
  template <class Machine>
  [[nodiscard]] bool may_fill(Machine m) {
    return copiers_in(m.load(held_, MemoryOrder::acquire)) == 0;  // H1
  }
  /// `n` items lie in room(); the owner has the first one.
  template <class Machine>
  void fill(Machine m, std::uint32_t n) {
    std::uint64_t const empty = (left_ & ~below_run) + one_run;
    m.store(held_, empty, MemoryOrder::relaxed);  // H6
    m.store(place_, 1u, MemoryOrder::release);    // H6
    end_ = opens_ ? n : 1;
    left_ = empty + n * one_end + (opens_ ? open : std::uint64_t{1});
    m.store(held_, left_, MemoryOrder::release);  // H2
  }

  /// Takes up to `n` items.
  template <class Machine>
  [[nodiscard]] ItemsInRow take(Machine m, std::uint32_t n) {
    std::uint32_t const place = m.load(place_, MemoryOrder::relaxed);
    std::uint32_t const count = at_most(end_ - place, n);
    if (count == 0) return take_settled(m, n);
    return take_at(m, place, count) ? ItemsInRow{item(place), count} : settle(m, place, count);
  }
  /// Takes all items, one after another: `work(first byte)`, which may take some itself. Returns how often it was
  /// called.
  template <class Machine, class Work>
  std::uint64_t take_each(Machine m, Work&& work) {
    std::uint32_t place = m.load(place_, MemoryOrder::relaxed);
    for (std::uint64_t times = 0;; ++times) {
      if (place != end_ && take_at(m, place, 1)) [[likely]] {
        work(item(place));
        // What is read would wait for what was stored just now: so it is read again only where `work` has changed it.
        if (m.load(place_, MemoryOrder::relaxed) != ++place) [[unlikely]]
          place = m.load(place_, MemoryOrder::relaxed);
      } else {
        ItemsInRow const one = place == end_ ? take_settled(m, 1) : settle(m, place, 1);
        if (one.count == 0) return times;
        work(one.first);
        place = m.load(place_, MemoryOrder::relaxed);
      }
    }
  }

  /// What is there now; unlike before if anything was taken. *Threads*: any.
  template <class Machine>
  [[nodiscard]] std::uint64_t look(Machine m) {
    std::uint64_t const held = m.load(held_, MemoryOrder::relaxed);
    return is_open(held) ? held | m.load(place_, MemoryOrder::relaxed) : held;
  }
  /// How many items there were at that look. *Threads*: any.
  [[nodiscard]] static std::uint32_t count_in(std::uint64_t look) {
    return end_in(look) > place_in(look) ? end_in(look) - place_in(look) : 0;
  }

  /// Takes up to `n` items for another thread, which reads them and then calls read(). *Threads*: any.
  template <class Machine>
  [[nodiscard]] ItemsInRow take_from_owner(Machine m, std::uint32_t n) {
    for (;;) {
      std::uint64_t held = m.load(held_, MemoryOrder::acquire);  // H2
      std::uint64_t settled = held;
      if (is_open(held)) {
        if (count_in(held | m.load(place_, MemoryOrder::relaxed)) == 0) return {};
        if ((held & asked) == 0 && !m.compare_exchange(held_, held, held | asked, MemoryOrder::relaxed)) continue;
        held |= asked;
        m.asymmetric_fence_heavy();
        settled = settled_at(held, m.load(place_, MemoryOrder::acquire));  // H5, H6
      }
      std::uint32_t const count = at_most(count_in(settled), n);
      if (count == 0 || copiers_in(settled) == most_copiers) return {};
      if (m.compare_exchange(held_, held, settled + count + one_copier, MemoryOrder::relaxed))  // H3, H4
        return {item(place_in(settled)), count};
    }
  }
  /// It has read them. *Threads*: any.
  template <class Machine>
  void read(Machine m) {
    m.fetch_add(held_, std::uint64_t{0} - one_copier, MemoryOrder::release);  // H4
  }

 private:
  // `held`, from its lowest bit: the place of the next item, 0 while the run is open; the end's place; where `place`
  // stood when the run was settled; those that copy; asked; open; the run's number.
  static constexpr unsigned place_bits = 10;
  static constexpr std::uint32_t places = (1u << place_bits) - 1;
  static_assert(most_items <= places);
  static constexpr std::uint64_t one_end = std::uint64_t{1} << place_bits;
  static constexpr std::uint64_t one_seen = one_end << place_bits;
  static constexpr std::uint64_t one_copier = one_seen << place_bits;
  static constexpr std::uint32_t most_copiers = 255;
  static constexpr std::uint64_t asked = one_copier * (most_copiers + 1);
  static constexpr std::uint64_t open = asked << 1;
  static constexpr std::uint64_t one_run = open << 1;
  static constexpr std::uint64_t below_run = one_run - 1;

  [[nodiscard]] static std::uint32_t place_in(std::uint64_t held) { return static_cast<std::uint32_t>(held) & places; }
  [[nodiscard]] static std::uint32_t end_in(std::uint64_t held) { return place_in(held / one_end); }
  [[nodiscard]] static std::uint32_t seen_in(std::uint64_t held) { return place_in(held / one_seen); }
  [[nodiscard]] static std::uint32_t copiers_in(std::uint64_t held) {
    return static_cast<std::uint32_t>(held / one_copier) & most_copiers;
  }
  [[nodiscard]] static bool is_open(std::uint64_t held) { return (held & open) != 0; }
  [[nodiscard]] static std::uint64_t settled_at(std::uint64_t held, std::uint32_t place) {
    return (held & ~(open | asked)) + place + place * one_seen;
  }
  [[nodiscard]] std::byte const* item(std::uint32_t place) const {
    return items_.data() + std::size_t{place} * item_bytes_;
  }

  /// The owner takes the `count` items from `place` on, which are not beyond the end; false: somebody has asked.
  template <class Machine>
  [[nodiscard]] bool take_at(Machine m, std::uint32_t place, std::uint32_t count) {
    m.store(place_, place + count, MemoryOrder::relaxed);
    m.asymmetric_fence_light();  // H5
    return m.load(held_, MemoryOrder::relaxed) == left_;
  }
  /// Somebody has asked while the owner took these items.
  template <class Machine>
  [[gnu::noinline]] ItemsInRow settle(Machine m, std::uint32_t place, std::uint32_t count) {
    std::uint32_t const behind = place + count;
    end_ = behind;  // no more by stores
    std::uint64_t held = m.load(held_, MemoryOrder::relaxed);
    while (is_open(held)) {
      if (m.compare_exchange(held_, held, settled_at(held, behind), MemoryOrder::relaxed)) return {item(place), count};
    }
    if (seen_in(held) == behind) return {item(place), count};  // H5
    return take_settled(m, count);
  }
  template <class Machine>
  ItemsInRow take_settled(Machine m, std::uint32_t n) {
    std::uint64_t held = m.load(held_, MemoryOrder::relaxed);
    for (;;) {
      if (is_open(held)) return {};
      std::uint32_t const count = at_most(count_in(held), n);
      if (count == 0) return {};
      if (m.compare_exchange(held_, held, held + count, MemoryOrder::relaxed))
        return {item(place_in(held)), count};  // H3
    }
  }

  // What others write.
  alignas(64) Word<std::uint64_t> held_{0};
  // The owner's; others read `place_`.
  alignas(64) Word<std::uint32_t> place_{0};
  std::uint32_t end_ = 0;   ///< up to here it takes by stores
  std::uint64_t left_ = 0;  ///< `held_` as it left it
  bool opens_ = true;       ///< what it fills is open at first
  std::size_t item_bytes_;
  std::vector<std::byte> items_;
};

}  // namespace hiway
