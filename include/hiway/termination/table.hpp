// The table that the checker goes by: which words each unit's sums and gates are, and where its end is told. The host
// makes it; it lies at the checker's home.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/termination/question.hpp"
#include "hiway/termination/words.hpp"

namespace hiway {

/// `count` words of one kind, `stride` bytes apart, to be summed.
struct SumTerm {
  Word<std::uint64_t>* first = nullptr;
  std::uint32_t count = 0;
  std::uint32_t stride = 0;
  bool across = false;  ///< the words' home is not the checker's
};

/// A word that must reach `needed`.
struct CountGate {
  Word<std::uint32_t>* word = nullptr;
  std::uint32_t needed = 0;
  bool across = false;
};

/// Indices [begin, end) into one of the table's lists.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Where the copies of one tunnel's words lie; null if there is no copy.
struct TunnelEnds {
  EndWords* host = nullptr;
  EndWords* device = nullptr;
  Word<std::uint32_t>* closing = nullptr;  ///< at the host; set when the gate opens: batches no longer wait to fill
};

struct UnitRecord {
  Range finished;  ///< in terms
  Range created;   ///< in terms
  Range gates;     ///< in gates: outside writers given as loops, and open inlets
  Range upstream;  ///< in unit_list: read by outside writers given per item, or by inside writers
  Range readers;   ///< in gates: returned counts of the reading stages; empty when an open outlet reads
  Range tunnels;   ///< in tunnels
  std::uint32_t reader_stage = no_id;  ///< the stage named in a fault of this unit
  std::uint32_t tunnel = no_id;        ///< the tunnel named in a fault of this unit
  std::uint32_t gate_open = 0;         ///< used by the checker only
  std::uint32_t ended = 0;             ///< used by the checker only
  /// With a time-out, used by the checker only: both sums together; starts at a value that they never have.
  std::uint64_t moved = ~std::uint64_t{0};
};

/// A stage whose `ended` word is set when all its units have ended.
struct StageRecordWords {
  Word<std::uint32_t>* ended = nullptr;
  Range units;  ///< in unit_list
  bool across = false;
  std::uint32_t announced = 0;  ///< used by the checker only
};

/// Everything the checker reads, at its home.
struct TerminationTable {
  UnitRecord* units = nullptr;
  std::uint32_t unit_count = 0;
  StageRecordWords* stages = nullptr;
  std::uint32_t stage_count = 0;
  SumTerm* terms = nullptr;
  CountGate* gates = nullptr;
  std::uint32_t* unit_list = nullptr;
  TunnelEnds* tunnels = nullptr;
  std::uint32_t term_count = 0;
  std::uint32_t gate_count = 0;
  std::uint32_t listed_count = 0;  ///< in unit_list
  std::uint32_t tunnel_count = 0;
  bool host_across = false;       ///< the checker runs on the device: host words are across
  std::uint64_t time_out_ns = 0;  ///< 0: no time-out (EndDetection::tracked)
  // Used by the checker only:
  std::uint64_t still_since_ns = 0;  ///< with a time-out: when `moved` of any unit last changed
  std::uint64_t quiet_since_ns = 0;  ///< likewise, or when a gate was opened, or a unit ended
  std::uint32_t rounds = 0;
  // Used by the checker if there are several devices:
  DelegateWords* delegates = nullptr;
  std::uint8_t* asks = nullptr;      ///< for each delegate and unit: what it is asked, a bit for each Question
  std::uint32_t delegate_count = 0;  ///< 0: there is only one device
  Word<std::uint32_t>* host_aborted = nullptr;  ///< ends the wait for answers
  // Used by a delegate:
  DelegateWords own;
  UnitNews* news = nullptr;  ///< one per unit; not null if this monitor is a delegate of another device's checker
};

/// Memory that only the checker's warp uses.
struct CheckRoom {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

/// Copies the table and its lists to `room` and returns the copy; returns the table itself if the copy does not fit. A
/// round follows many references, and after each acquire a GPU reads its memory anew, while its shared memory is near.
/// All lanes of the warp call it together.
template <class Machine>
HIWAY_DEVICE inline TerminationTable& bring_near(Machine m, TerminationTable& far_table, CheckRoom room) {
  std::byte* at = room.begin;
  std::size_t left = room.bytes;
  bool fits = true;
  auto const take = [&](std::size_t bytes) {
    std::size_t const whole = (bytes + 15) / 16 * 16;
    fits = fits && whole <= left;
    std::byte* const taken = at;
    if (fits) at += whole, left -= whole;
    return taken;
  };
  auto const copy = [&](auto*& list, std::size_t count) {
    std::byte* const taken = take(count * sizeof *list);
    if (!fits) return;
    copy_bytes(taken, list, count * sizeof *list, m.lane(), m.count(m.lanes()));
    list = reinterpret_cast<decltype(list + 0)>(taken);
  };
  TerminationTable near_table = far_table;
  auto* const table = reinterpret_cast<TerminationTable*>(take(sizeof far_table));
  copy(near_table.units, near_table.unit_count);
  copy(near_table.stages, near_table.stage_count);
  copy(near_table.terms, near_table.term_count);
  copy(near_table.gates, near_table.gate_count);
  copy(near_table.unit_list, near_table.listed_count);
  copy(near_table.tunnels, near_table.tunnel_count);
  copy(near_table.delegates, near_table.delegate_count);
  copy(near_table.asks, std::size_t{near_table.unit_count} * near_table.delegate_count);
  if (near_table.news != nullptr) copy(near_table.news, near_table.unit_count);
  if (!fits) return far_table;
  by_one_lane(m, [&] { *table = near_table; });
  return *table;
}

/// Gives `far_table` what the checker has written into its copy. All lanes of the warp call it together.
template <class Machine>
HIWAY_DEVICE inline void take_back(Machine m, TerminationTable const& near_table, TerminationTable& far_table) {
  if (&near_table == &far_table) return;
  m.sync_warp(m.lanes());
  auto const copy = [&](auto* to, auto const* from, std::size_t count) {
    copy_bytes(reinterpret_cast<std::byte*>(to), from, count * sizeof *from, m.lane(), m.count(m.lanes()));
  };
  copy(far_table.units, near_table.units, near_table.unit_count);
  copy(far_table.stages, near_table.stages, near_table.stage_count);
  copy(far_table.delegates, near_table.delegates, near_table.delegate_count);
  by_one_lane(m, [&] { far_table.rounds = near_table.rounds; });
}

}  // namespace hiway
