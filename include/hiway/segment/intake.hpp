// Intake: brings a replica's items from the source to its root.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/item.hpp"
#include "hiway/outlet.hpp"
#include "hiway/segment/parking.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/replica_state.hpp"

namespace hiway::segment {

template <class State>
class Intake {
  using Source = typename State::Source;
  using Slot = typename State::template Slot<typename Source::Item>;

 public:
  HIWAY_DEVICE explicit Intake(State& replica) : r_(replica), in_(replica.intake) {}

  /// Brings items to the root, or starts the last flush. Nothing: the source has ended, and its items are done.
  HIWAY_DEVICE Next refill() {
    if (in_.ended) return Next::nothing;
    if constexpr (Source::is_range) {
      claim();
      return Next::work;
    } else {
      return get();
    }
  }

 private:
  /// A part of a range.
  struct Part {
    std::uint64_t first = 0;
    std::uint32_t count = 0;
  };
  /// How many items to claim when a range has `left` items left: fewer towards its end.
  [[nodiscard]] HIWAY_DEVICE std::uint64_t part_of(std::uint64_t left) const {
    auto const& p = r_.program;
    std::uint64_t part = left / (2 * p.replicas);
    std::uint64_t const width = r_.rows[r_.root].width;
    if (part >= width) part -= part % width;
    return part < p.least_claim ? p.least_claim : part > p.most_claim ? p.most_claim : part;
  }
  /// The first lane claims a part of the range. Each replica's first part is reserved for it: a small range then goes
  /// to one replica of each block, not to all replicas of the blocks that started first. A queued root reserves none:
  /// its queue may have no room for it.
  HIWAY_DEVICE Part claim_part() const {
    auto const m = r_.lanes.machine();
    std::uint64_t const size = r_.program.source.size;
    bool const is_own = !in_.claimed && !r_.root_is_queued();
    std::uint64_t const others = r_.root_is_queued() ? 0 : part_of(size) * r_.program.replicas;
    std::uint64_t const seen = is_own ? 0 : others + m.load(r_.program.words->next, MemoryOrder::relaxed);
    if (seen >= size) return {};
    std::uint64_t part = part_of(size - seen);
    if (r_.root_is_queued()) {
      std::uint64_t const free = free_of_root(r_.states[r_.root]);
      part = part < free ? part : free;
    }
    std::uint64_t const first =
        is_own ? in_.turn * part : others + m.fetch_add(r_.program.words->next, part, MemoryOrder::relaxed);
    if (first >= size) return {first, 0};
    return {first, static_cast<std::uint32_t>(first + part < size ? part : size - first)};
  }
  /// Claims a part of the range for the root.
  HIWAY_DEVICE void claim() {
    Part part;
    if (r_.lanes.rank() == 0) part = claim_part();
    in_.claimed = true;
    std::uint64_t const first = r_.lanes.share(part.first);
    auto const count = static_cast<std::uint32_t>(r_.lanes.share(part.count));
    leave_if_aborted(r_.lanes.machine(), *r_.program.control);
    if (count == 0) return begin_flush();
    if (r_.root_is_queued()) {
      QueueState const s = r_.states[r_.root];
      std::uint32_t const size = r_.rows[r_.root].queue_slots;
      auto* const queue = r_.template queue_of<typename Source::Item>(r_.root);
      for (std::uint32_t k = r_.lanes.rank(); k < count; k += r_.lanes.size())
        queue[detail::wrap(detail::wrap(s.head + s.count, size) + k, size)] = r_.program.source.item(first + k);
      set_root_count(s.count + count);
    } else {
      in_.window = first;
      set_root_count(count);
    }
    r_.activity.add(1u << r_.root);
  }
  /// Room for items from the source (scheduler.hpp S5).
  [[nodiscard]] HIWAY_DEVICE std::uint32_t free_of_root(QueueState const& s) const {
    NodeRow const& row = r_.rows[r_.root];
    std::uint32_t const free = row.queue_slots - s.count;
    if (row.loop == 0) return free;
    return free < r_.lanes.size() ? 0 : free - r_.lanes.size();
  }

  /// Gets the items that are there. If there are none, it flushes those that came before, and ends their tasks: the
  /// source may be waiting for their results.
  HIWAY_DEVICE Next get() {
    auto const m = r_.lanes.machine();
    OutletView const& outlet = in_.outlets[0];
    NodeRow const& row = r_.rows[r_.root];
    for (unsigned misses = 0;; m.relax(misses++)) {
      QueueState const s = r_.states[r_.root];
      std::uint32_t const at = detail::wrap(s.head + s.count, row.queue_slots);
      std::uint32_t const free = free_of_root(s);
      std::uint32_t const straight = row.queue_slots - at < free ? row.queue_slots - at : free;
      auto const [n, has_ended] = get_into(r_.template queue_of<Slot>(r_.root) + at, straight);
      in_.tasks += n;
      if (n != 0) {
        if (r_.lanes.rank() == 0) Parking<State>(r_).note_items(misses);
        set_root_count(s.count + n);
        misses = 0;
        in_.drained = false;
        if (s.count + n < row.width) continue;
        r_.activity.add(1u << r_.root);
        return Next::work;
      }
      if (in_.tasks != 0) {
        if (!in_.drained) {
          begin_flush();
          return Next::work;
        }
        hiway::detail::end_task_together(r_.lanes.team(), outlet, in_.tasks);
        in_.tasks = 0;
        in_.drained = false;
        misses = 0;
      }
      if (has_ended) {
        in_.ended = true;
        return Next::nothing;
      }
      Parking<State> parking(r_);
      if (parking.leaves_if([&] { return parking.is_over_idle(misses); })) return Next::leaves;
    }
  }
  struct Got {
    std::uint32_t items;
    bool has_ended;
  };
  /// Gets up to `n` items, or one large item, which all lanes copy together.
  template <class Item>
  HIWAY_DEVICE Got get_into(Item* items, std::uint32_t n) {
    if constexpr (stays_in_slot<Item>) {
      auto const found = hiway::detail::work_together(r_.lanes.team(), in_.outlets[0], [&](std::byte const* slot) {
        copy_bytes(items, slot, sizeof(Item), r_.lanes.rank(), r_.lanes.size());
      });
      return {found == hiway::detail::Found::item ? 1u : 0u, found == hiway::detail::Found::ended};
    } else {
      auto const claimed =
          hiway::detail::get_span_by_team(r_.lanes.team(), in_.outlets[0], n, hiway::detail::ReadItems<Item>{items});
      return {claimed.run.count, claimed.ended};
    }
  }

  HIWAY_DEVICE void begin_flush() {
    if constexpr (Source::is_range) {
      in_.ended = true;
    } else {
      in_.drained = true;
    }
    r_.activity.flush(1u << r_.root);
  }
  HIWAY_DEVICE void set_root_count(std::uint32_t count) {
    r_.lanes.sync();
    if (r_.lanes.rank() == 0) {
      if constexpr (State::has_regions) r_.marks.came(r_.root, count - r_.states[r_.root].count);
      r_.states[r_.root].count = count;
    }
    r_.lanes.sync();
  }

  State& r_;
  typename State::Intake& in_;
};

}  // namespace hiway::segment
