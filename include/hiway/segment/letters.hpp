// Letters: what a replica sends to others that have run out of work, and gets from them (lending.hpp has the protocol
// and its proof).
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/item.hpp"
#include "hiway/segment/lending.hpp"
#include "hiway/segment/parking.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/replica_state.hpp"

namespace hiway::segment {

template <class State>
class Letters {
 public:
  HIWAY_DEVICE explicit Letters(State& replica) : r_(replica) {}

  /// Called now and then: looks whether the run aborts, or another replica asks for work. Returns whether the slice is
  /// over.
  HIWAY_DEVICE bool look_around() {
    auto const m = r_.lanes.machine();
    auto const& p = r_.program;
    constexpr unsigned most_letters = 4;
    for (unsigned sent = 0; sent != most_letters; ++sent) {
      bool asked = false;
      if (r_.lanes.rank() == 0) {
        leave_if_aborted(m, *p.control);
        asked = p.lending.idle != nullptr && anyone_asks(m, p.lending) &&
                m.now_ns() - p.times[r_.replica].began_ns >= p.lend_after_ns;
      }
      asked = r_.lanes.share(asked ? 1 : 0) != 0;
      leave_if_aborted(m, *p.control);  // the first lane may have left instead of sharing (grouping/team.hpp E3)
      if (!asked || !lend()) break;
    }
    r_.watch.looked_at = m.cycles();
    r_.watch.late = false;
    Parking<State> parking(r_);
    return parking.leaves_if([&] { return parking.is_over(); });
  }
  /// Asks for a letter and opens it. Nothing: no replica has work any more.
  HIWAY_DEVICE Next borrow() {
    auto const m = r_.lanes.machine();
    auto const& p = r_.program;
    auto got = Awaited::none;
    if (r_.lanes.rank() == 0) {
      std::uint64_t const began = m.now_ns();
      Parking<State> parking(r_);
      if (!parking.has_asked()) ask(m, p.lending, r_.replica);
      got = await_letter(m, p.lending, r_.replica, *p.control, [&] { return parking.is_over(); });
      parking.note_asked(got == Awaited::not_yet);
      p.times[r_.replica].waited_ns += m.now_ns() - began;
    }
    got = static_cast<Awaited>(r_.lanes.share(static_cast<std::uint64_t>(got)));
    leave_if_aborted(m, *p.control);
    if (got != Awaited::letter) return got == Awaited::none ? Next::nothing : Next::leaves;
    r_.lanes.sync();  // O2: all lanes see the letter as the first lane does
    LetterBox const& box = p.lending.boxes[r_.replica];
    std::uint32_t const node = box.node;
    std::uint32_t const k = box.count;
    NodeRow const& row = r_.rows[node];
    std::byte const* const letter = letter_of(r_.replica);
    if (r_.lanes.rank() < k)
      copy_bytes(slot(row, r_.lanes.rank()), letter + std::size_t{r_.lanes.rank()} * row.item_bytes, row.item_bytes);
    r_.lanes.sync();
    if (r_.lanes.rank() == 0) {
      r_.states[node].head = 0;
      r_.states[node].count = k;
    }
    r_.lanes.sync();
    r_.activity.flush(1u << node);
    return Next::work;
  }

 private:
  /// A node to lend from, or most_nodes.
  struct Choice {
    unsigned node = most_nodes;
    std::uint32_t free = 0;    ///< its items that no suspended ensemble holds
    std::uint32_t others = 0;  ///< all other items of the replica
  };
  /// Chooses the node nearest to the root. If a node does not spread and has one ensemble of items or less, they are
  /// not split: with half of the lanes they take as long.
  HIWAY_DEVICE Choice choose() const {
    Choice from;
    for (unsigned node = r_.program.nodes; node-- != 0;) {
      QueueState const s = r_.states[node];
      NodeRow const& row = r_.rows[node];
      std::uint32_t const bound = row.keeps_lanes ? 0 : s.suspended;
      std::uint32_t const least = row.spreads ? 1 : row.width + 1;
      if (from.node == most_nodes && (node != r_.root || r_.root_is_queued()) && s.count >= bound + least) {
        from.node = node;
        from.free = s.count - bound;
        from.others += s.suspended;
      } else {
        from.others += s.count + s.suspended;
      }
    }
    return from;
  }
  /// Sends half of the chosen node's items to a replica that asks, if that leaves work for this one. Returns whether it
  /// did.
  HIWAY_DEVICE bool lend() {
    auto const m = r_.lanes.machine();
    auto const& p = r_.program;
    Choice const from = choose();
    if (from.node == most_nodes || from.free + from.others < 2) return false;
    std::uint32_t to = no_replica;
    if (r_.lanes.rank() == 0) to = answer(m, p.lending, r_.replica / 32 + r_.watch.letters);
    to = static_cast<std::uint32_t>(r_.lanes.share(to));
    leave_if_aborted(m, *p.control);
    ++r_.watch.letters;  // the next search starts elsewhere
    if (to == no_replica) return false;
    r_.lanes.sync();  // O1: the first lane has taken over the request before any lane writes the letter
    std::uint32_t k = (from.free + 1) / 2;
    if (k > r_.lanes.size()) k = r_.lanes.size();
    NodeRow const& row = r_.rows[from.node];
    QueueState s = r_.states[from.node];
    std::byte* const letter = letter_of(to);
    if (r_.lanes.rank() < k) {
      std::uint32_t const at = detail::wrap(s.head + s.count - k + r_.lanes.rank(), row.queue_slots);
      copy_bytes(letter + std::size_t{r_.lanes.rank()} * row.item_bytes, slot(row, at), row.item_bytes);
    }
    s.count -= k;
    r_.lanes.sync();
    if (r_.lanes.rank() == 0) {
      send(m, p.lending, to, from.node, k);
      r_.states[from.node] = s;
    }
    r_.lanes.sync();
    return true;
  }
  /// Where the items of a letter lie.
  [[nodiscard]] HIWAY_DEVICE std::byte* letter_of(std::uint32_t to) const {
    return r_.program.lending.letters + std::size_t{to} * r_.program.lending.letter_bytes;
  }
  [[nodiscard]] HIWAY_DEVICE std::byte* slot(NodeRow const& row, std::uint32_t at) const {
    return r_.rooms.of(row.queue_is_far) + row.queue_at + std::size_t{at} * row.item_bytes;
  }

  State& r_;
};

}  // namespace hiway::segment
