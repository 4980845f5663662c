// Tunnels with ports and views made by hand, and an end check of all of them: for worlds that run the library's own loops.
#pragma once
#include "hiway/inlet.hpp"
#include "hiway/outlet.hpp"
#include "tests/explore/worlds.hpp"

namespace hiway::explore {

/// A tunnel whose items are uint64_t in the slots of a SmallRing; at most two executors on either side.
struct Pipe {
  explicit Pipe(std::uint32_t capacity) : r(capacity) {}
  InletView inlet(Control& control, unsigned writer) {
    InletView v;
    v.ring = r.ring;
    v.control = &control;
    v.end = &end;
    v.ports = &writers.at(writer);
    v.closed_executors = &closed;
    return v;
  }
  OutletView outlet(Control& control, unsigned reader) {
    OutletView v;
    v.ring = r.ring;
    v.control = &control;
    v.end = &end;
    v.ports = &readers.at(reader);
    v.stage_ended = &stage_ended;
    return v;
  }
  void put(ExploreMachine m, Control& control, unsigned writer, std::uint64_t value) {
    detail::put(m, inlet(control, writer), WriteItem<std::uint64_t>{value});
  }
  /// Calls `work(value)` for each item until the tunnel has ended.
  template <class Work>
  void read(ExploreMachine m, Control& control, Work&& work) {
    detail::for_each<std::uint64_t>(m, outlet(control, 0), m.lanes(), [&](std::uint64_t value) {
      require(end.ended.bits == 0, "an end before the last task was ended");
      work(value);
    });
  }

  SmallRing r;
  EndWords end;
  std::array<InletPort, 2> writers{};
  std::array<OutletPort, 2> readers{};
  Word<std::uint32_t> closed{0};
  Word<std::uint32_t> stage_ended{0};
};

/// One unit a tunnel, in their order; each behind the units before it.
template <std::size_t Tunnels>
struct Check {
  void add(unsigned t, Pipe& pipe, std::uint32_t writers) {
    finished[2 * t] = {&pipe.readers[0].finished, 2, sizeof(OutletPort), false};
    created[2 * t] = {&pipe.r.words.claimed, 1, 8, false};
    gates[t] = {&pipe.closed, writers, false};
    ends[t] = {&pipe.end, nullptr, nullptr};
    units[t].finished = {2 * t, 2 * t + 1};
    units[t].created = {terms_of_created + 2 * t, terms_of_created + 2 * t + 1};
    units[t].gates = {t, writers != 0 ? t + 1 : t};
    units[t].upstream = {0, t};
    units[t].tunnels = {t, t + 1};
    stages[t] = {&pipe.stage_ended, {0, t + 1}, false};
  }
  template <class Machine>
  CheckResult round(Machine m, Control& control) {
    TerminationTable table{units.data(), Tunnels,     stages.data(), Tunnels, terms.data(),
                           gates.data(), list.data(), ends.data(),   false};
    return check_round(m, table, control);
  }
  CheckResult to_the_end(ExploreMachine m, Control& control) {
    for (unsigned misses = 0;; m.relax(misses++)) {
      if (CheckResult const result = round(m, control); result != CheckResult::open) return result;
      if (is_aborted(m, control)) return CheckResult::faulted;
    }
  }
  static constexpr std::uint32_t terms_of_created = 2 * Tunnels;
  std::array<UnitRecord, Tunnels> units{};
  std::array<SumTerm, 4 * Tunnels> terms{};
  SumTerm* finished = terms.data();
  SumTerm* created = terms.data() + terms_of_created;
  std::array<CountGate, Tunnels> gates{};
  std::array<TunnelEnds, Tunnels> ends{};
  std::array<StageRecordWords, Tunnels> stages{};
  std::array<std::uint32_t, 2> list{0, 1};
};

}  // namespace hiway::explore
