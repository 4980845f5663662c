// Gets of single items. Converged lanes share a claim, and each reads its own item.
#pragma once
#include <chrono>
#include <cstdint>
#include <type_traits>

#include "hiway/branches.hpp"
#include "hiway/fault.hpp"
#include "hiway/grouping/warp_group.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/hand.hpp"
#include "hiway/outlet/pieces.hpp"
#include "hiway/outlet/staged.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/ring.hpp"
#include "hiway/trace.hpp"

namespace hiway::detail {

/// The converged lanes that get from the same tunnel.
template <class Machine>
HIWAY_PART_OF_CALLER HIWAY_DEVICE inline std::uint32_t together(Machine m, OutletView const& v) {
  return converged_on(m, v.ring.words);
}

/// `control` as in claim_get; null unless all that a block claims with the outlet's tally is of one ring.
template <class Machine, class Read>
HIWAY_DEVICE inline bool get_from(Machine m, OutletView const& v, Ring const& ring, std::uint32_t group, bool need,
                                  Credit credit, Read&& read, Credits credits, Control* control) {
  Grant const grant = claim_get(m, ring, group, need, &port_of(m, v).got, credit, credits, control);
  if (!grant.granted) return false;
  if (credit == Credit::late) {  // each lane may take as long as it likes
    finish_get(m, ring, grant.ticket, *v.control, credit, read);
  } else {
    finish_get(m, ring, grant, *v.control, read);
  }
  return true;
}

/// Of a CPU thread's branches one with items, as far as that is known.
template <class Machine>
HIWAY_DEVICE inline OutletView const& fullest(Machine m, OutletView const& v) {
  if constexpr (RoleOf<Machine>::has_branches) {
    if (v.further_branches != 0)
      return choose_branch(m, v, [&](OutletView const& branch) { return items_about(m, branch.ring) > 0 ? 1 : 0; });
  }
  return v;
}

/// Fills a CPU thread's hand and reads the first item; returns how many have come.
template <class Machine, class Read>
std::uint32_t fill_hand(Machine m, OutletView const& v, Hand& hand, Read&& read) {
  auto const n = static_cast<std::uint32_t>(take_pieces(m, v, hand.room(), hand.length(), hand.item_bytes()));
  if (n == 0) return 0;
  hand.fill(m, n);
  read(static_cast<std::byte const*>(hand.room()));
  return n;
}

/// One try of a CPU thread for one item, where readers have hands: from its own, by a claim, then from those of others.
/// `claim()` claims one item, whatever lies in a hand.
template <class Machine, class Claim, class Read>
bool get_by_hand(Machine m, OutletView const& v, Claim&& claim, Read&& read) {
  Hand* const hand = hand_of(m, v);
  if (hand != nullptr) {
    if (Hand::Items const item = hand->next(m); item.count != 0) {
      read(item.first);
      return true;
    }
  }
  std::uint32_t const n = hand != nullptr && hand->may_fill(m) ? fill_hand(m, v, *hand, read) : claim() ? 1u : 0u;
  if (hand != nullptr) n != 0 ? hand->claimed(n) : hand->missed();
  auto const read_one = [&](std::byte const* item, std::uint32_t, std::uint32_t) { read(item); };
  return n != 0 || take_from_hands(m, v, 1, read_one) != 0;
}

/// Where a try looks for items: in the caller's home shard, or in another one, too, when that is empty.
enum class LookIn : std::uint8_t { home, all };

/// One item that a writer at the same home has staged.
HIWAY_NO_SPACE_CHECK template <class Machine, class Read>
HIWAY_DEVICE inline bool get_staged(Machine m, OutletView const& v, bool need, Read&& read) {
  auto const read_one = [&](std::byte const* staged, std::uint32_t, std::uint32_t) { read(staged); };
  return need && take_staged(m, v, 1, read_one) != 0;
}

/// get_once by a claim, whatever lies in a hand.
template <class Machine, class Read>
HIWAY_DEVICE inline bool claim_once(Machine m, OutletView const& v, std::uint32_t group, bool need, Credit credit,
                                    Read&& read, Credits credits, LookIn shards, std::uint32_t& next) {
  constexpr Credits doubtful = Credits::doubtful;
  if constexpr (may_be_tagged<std::remove_cvref_t<Read>>) {
    if (v.ring.by_tags()) {
      bool const got = get_tagged(m, v.ring, group, need, TagReader{&port_of(m, v).got, next, v.alone}, read);
      if (!got) (void)help_to_come(m, v);
      return got;
    }
  }
  if constexpr (RoleOf<Machine>::takes_staged) {
    if (get_staged(m, v, need, read)) return true;
    if (v.end->staged != nullptr) credits = doubtful;  // the ring is mostly empty
  }
  bool got = get_from(m, v, home_ring(m, v), group, need, credit, read, credits, v.control);
  if (!got && help_to_come(m, v)) got = get_from(m, v, v.ring, group, need, credit, read, credits, v.control);
  if (v.ring.shards > 1 && shards == LookIn::all && m.ballot(group, got) == 0) {
    Ring const other = shard(v.ring, find_shard(m, v.ring, group, home_of(m, v)));
    got = get_from(m, v, other, group, need, credit, read, doubtful, nullptr);
  }
  if (has_spill(v.spill)) got = get_from(m, v, *v.spill, group, need && !got, credit, read, doubtful, v.control) || got;
  return got;
}
/// One try for the lanes of `group` with `need`; all lanes of `group` together. True for a lane that got an item.
/// `next`: as in TagReader, kept between tries where that pays.
HIWAY_NO_SPACE_CHECK template <class Machine, class Read>
HIWAY_DEVICE inline bool get_once(Machine m, OutletView const& all, std::uint32_t group, bool need, Credit credit,
                                  Read&& read, Credits credits, LookIn shards, std::uint32_t& next) {
  OutletView const& v = fullest(m, all);
  refuse_if_over(m, v);
  if constexpr (RoleOf<Machine>::keeps_hand) {
    auto const claim = [&] { return claim_once(m, v, group, need, credit, read, credits, shards, next); };
    if (v.ports->hand != nullptr) return get_by_hand(m, v, claim, read);
  }
  return claim_once(m, v, group, need, credit, read, credits, shards, next);
}
template <class Machine, class Read>
HIWAY_DEVICE inline bool get_once(Machine m, OutletView const& all, std::uint32_t group, bool need, Credit credit,
                                  Read&& read, Credits credits = Credits::doubtful) {
  std::uint32_t next = 0;
  return get_once(m, all, group, need, credit, read, credits, LookIn::all, next);
}

/// Notes when a stage's CPU thread ran out of items, for RunReport::end_detection_us, and how it spends its time.
inline void note_get(OutletView const& v, bool got) {
  OutletPort& port = *v.ports;
  if (!got) this_thread_context().bell = port.bell;
  if (!is_own(port)) return;
  if (port.busy && !got) port.idle_since_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  port.busy = got;
  if (got) {
    port.trace->got(v.tunnel);
  } else {
    port.trace->missed(v.tunnel);
  }
}
/// The same of an item that lay in the thread's own hand: mostly nothing has changed since the last one.
inline void note_next(OutletView const& v) {
  if (!v.ports->busy || !v.ports->trace->ignores_hits()) note_get(v, true);
}
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void note_result(Machine, [[maybe_unused]] OutletView const& v, [[maybe_unused]] bool got) {
  if constexpr (RoleOf<Machine>::keeps_trace) {
    if (!v.open) note_get(v, got);
  }
}

/// One item from the calling thread's own hand, if it holds any.
template <class Machine, class Read>
inline bool get_held(Machine m, OutletView const& v, Read&& read) {
  Hand* const hand = hand_of(m, v);
  if (hand == nullptr) return false;
  Hand::Items const item = hand->next(m);
  if (item.count == 0) return false;
  read(item.first);
  note_next(v);
  return true;
}

HIWAY_ITEMS_MAY_LOOK_UNSET
/// One try for all lanes of `group`: `work(T const&)` in each lane that got an item. It looks beyond the home shard
/// only after a miss: a look there disturbs that shard's own readers.
template <class T, class Machine, class Work>
HIWAY_DEVICE inline bool work_once(Machine m, OutletView const& v, std::uint32_t group, Credits credits,
                                   std::uint32_t& next, Work&& work) {
  LookIn const shards = credits == Credits::doubtful ? LookIn::all : LookIn::home;
  bool got = false;
  auto const begin = [&](T const& item) {
    note_result(m, v, true);
    work(item);
  };
  if constexpr (stays_in_slot<T>) {
    auto const read = [&](std::byte const* slot) { begin(item_in<T>(slot)); };
    got = get_once(m, v, group, true, Credit::late, read, credits, shards, next);  // I5
  } else {
    ItemRoom<T> room;
    got = get_once(m, v, group, true, Credit::early, ReadItem<T>{room.item()}, credits, shards, next);
    if (got) begin(room.item());
  }
  if (!got) note_result(m, v, false);
  return got;
}
HIWAY_ITEMS_END

}  // namespace hiway::detail
