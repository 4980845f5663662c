// Tunnels of the explored worlds: rings, ports and end words, the views on them, and the table of the end check. What
// runs on them is the library's own put, get, end_tasks, close and check_round.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "hiway/inlet.hpp"
#include "hiway/outlet.hpp"
#include "hiway/persistent.hpp"
#include "hiway/termination.hpp"
#include "monitors/drain.hpp"
#include "tests/explore/worlds.hpp"

namespace hiway::explore {

/// Lanes converge within one of these only.
enum Site : unsigned { putting, getting, ending };

/// The ports of a tunnel of at most three writers and two readers, and what their views point at.
struct Ports {
  Ports() {
    writing.closed_executors = &closed;
    reading.stage_ended = &stage_ended;
  }
  Ports(Ports const&) = delete;
  Ports& operator=(Ports const&) = delete;

  [[nodiscard]] InletView inlet(unsigned writer) {
    InletView v = writing;
    v.ports = &inlets.at(writer);
    v.home = writer;
    return v;
  }
  [[nodiscard]] OutletView outlet(unsigned reader) {
    OutletView v = reading;
    v.ports = &outlets.at(reader);
    v.home = reader;
    return v;
  }
  void put(ExploreMachine m, unsigned writer, std::uint32_t value) {
    detail::put(m.at(putting), inlet(writer), WriteTorn{m, value});
  }
  void close(ExploreMachine m, unsigned writer) { detail::close(m, inlet(writer)); }
  [[nodiscard]] bool try_get(ExploreMachine m, unsigned reader, std::uint32_t& value) {
    ExploreMachine const g = m.at(getting);
    OutletView const v = outlet(reader);
    return detail::get_once(g, v, detail::together(g, v), true, Credit::early, ReadTorn{m, value});
  }
  void end_task(ExploreMachine m, unsigned reader) {
    ExploreMachine const e = m.at(ending);
    OutletView const v = outlet(reader);
    ++tasks_ended;
    detail::end_tasks(e, v, detail::together(e, v), true);
  }
  /// Calls `work(value)` for each item until the tunnel has ended: a loop written by hand.
  template <class Work>
  void read(ExploreMachine m, unsigned reader, Work&& work) {
    for (unsigned misses = 0;;) {
      std::uint32_t x = 0;
      if (try_get(m, reader, x)) {
        require(reading.end->ended.bits == 0, "an end before the last task has begun");
        work(x);
        require(reading.end->ended.bits == 0, "an end before the last task was ended");
        end_task(m, reader);
        misses = 0;
      } else if (detail::tunnel_ended(m, reading)) {
        return;
      } else {
        m.relax(misses++);
      }
    }
  }
  /// For the check's table.
  [[nodiscard]] SumTerm finished() { return {&outlets[0].finished, 2, sizeof(OutletPort), false}; }
  [[nodiscard]] SumTerm created() const {
    return {&writing.ring.words->claimed, writing.ring.shards, sizeof(RingWords), false};
  }
  [[nodiscard]] SumTerm spilled() const {
    return writing.spill == nullptr ? SumTerm{} : SumTerm{&writing.spill->words->claimed, 1, 0, false};
  }
  [[nodiscard]] CountGate closed_by(std::uint32_t writers) { return {&closed, writers, false}; }
  [[nodiscard]] StageRecordWords reading_stage() { return {.ended = &stage_ended, .units = {}}; }

  InletView writing;
  OutletView reading;
  std::array<InletPort, 3> inlets{};
  std::array<OutletPort, 2> outlets{};
  Word<std::uint32_t> closed{0};
  Word<std::uint32_t> stage_ended{0};
  unsigned tasks_ended = 0;
};

/// A world's lambda as what a persistent executor runs.
template <class Body>
struct Stage {
  static constexpr unsigned outlet_count = 0;
  static constexpr unsigned inlet_count = 1;
  static constexpr unsigned stage_count = 1;
  Body body;
  void operator()(ExploreMachine, OutletView const*, InletView const*) { body(); }
};

/// The life of executor `number` of a stage that writes `t`: the library's, with `body` as what it runs.
template <class Body>
void run_executor(ExploreMachine m, Ports& t, unsigned number, StageWords& words, Body&& body) {
  Stage<Body&> stage{body};
  Ends<Stage<Body&>> ends{};
  ends.inlets[0] = t.inlet(number);
  ends.stages[0] = &words;
  ends.control = ends.inlets[0].control;
  run_persistent(m, stage, ends);
}

/// The ring of a tunnel with restored order.
inline void restore(Ring& ring) {
  ring.restored = true;
  ring.chunk_shift = chunk_shift_of_marks(ring.lap_shift);
}

/// A tunnel at one home; with a spill pool unless `pooled` is 0.
struct LocalTunnel : Ports {
  LocalTunnel(Control& control, std::uint32_t capacity, std::uint32_t pooled = 0, RingPart part = RingPart::whole)
      : slots(capacity), pool_slots(pooled), ring(capacity, part), pool(pooled, part) {
    writing.ring = reading.ring = ring.ring;
    writing.spill = reading.spill = pooled != 0 ? &pool.ring : nullptr;
    writing.control = reading.control = &control;
    writing.end = reading.end = &end;
  }
  [[nodiscard]] TunnelEnds ends() { return {&end, nullptr, nullptr}; }
  void restore_order() {
    for (Ring* const of_tunnel : {&writing.ring, &reading.ring}) restore(*of_tunnel);
  }
  [[nodiscard]] std::uint64_t tickets() const { return ring.words.claimed.bits + pool.words.claimed.bits; }
  /// Everything that was put was got, and all credit has come home.
  void check_rest() const {
    ring.check_rest(slots, ring.words.claimed.bits);
    pool.check_rest(pool_slots, pool.words.claimed.bits);
  }

  std::uint32_t slots;
  std::uint32_t pool_slots;
  SmallRing ring;
  SmallRing pool;
  EndWords end;
};

/// A tunnel across the bus, direct: outbox, inbox and their relays; with a drained pool unless `pooled` is 0.
struct CrossingTunnel : Ports {
  CrossingTunnel(Control& writers_home, Control& readers_home, std::uint32_t capacity, std::uint32_t pooled = 0)
      : outbox(capacity, RingPart::outbox), inbox(capacity, RingPart::inbox, outbox.items.data()), pool(pooled) {
    writing.ring = outbox.ring;
    writing.spill = pooled != 0 ? &pool.ring : nullptr;
    writing.control = &writers_home;
    writing.end = &writers_end;
    reading.ring = inbox.ring;
    reading.control = &readers_home;
    reading.end = &readers_end;
    out = {.tells = {outbox.ring, {&published}}, .hears = {outbox.ring, {&retired}}};
    in = {.tells = {inbox.ring, {&retired}}, .hears = {inbox.ring, {&published}}};
    drain = {.pool = pool.ring, .outbox = outbox.ring, .drained = &drained};
  }
  void restore_order() {
    for (Ring* const of_writers : {&writing.ring, &out.tells.ring, &out.hears.ring}) restore(*of_writers);
  }
  [[nodiscard]] SumTerm moved() { return {&drained, 1, 0, false}; }
  [[nodiscard]] std::uint64_t tickets() const {  // an item that was drained has one of each
    return outbox.words.claimed.bits + pool.words.claimed.bits - drained.bits;
  }

  SmallRing outbox;
  SmallRing inbox;
  SmallRing pool;
  EndWords writers_end;
  EndWords readers_end;
  Word<std::uint64_t> published{0};
  Word<std::uint64_t> retired{0};
  Word<std::uint64_t> drained{0};
  Relays out;
  Relays in;
  Drain drain;
};

/// The same term, gate or stage, as the checker at the other home sees it.
template <class Entry>
Entry across(Entry entry) {
  entry.across = true;
  return entry;
}

/// The checker's table, built as Pipeline does.
struct CheckTable {
  struct Unit {
    std::initializer_list<SumTerm> finished;
    std::initializer_list<SumTerm> created;
    std::initializer_list<CountGate> gates;
    std::initializer_list<TunnelEnds> tunnels;
    std::initializer_list<std::uint32_t> upstream = {};
    std::initializer_list<CountGate> readers = {};
  };
  void add(Unit const& u) {
    UnitRecord unit;
    unit.finished = append(terms, u.finished);
    unit.created = append(terms, u.created);
    unit.gates = append(gates, u.gates);
    unit.readers = append(gates, u.readers);
    unit.upstream = append(unit_list, u.upstream);
    unit.tunnels = append(tunnels, u.tunnels);
    units.push_back(unit);
    point();
  }
  void add_stage(StageRecordWords stage, std::initializer_list<std::uint32_t> units_read) {
    stage.units = append(unit_list, units_read);
    stages.push_back(stage);
    point();
  }
  std::vector<UnitRecord> units;
  std::vector<StageRecordWords> stages;
  std::vector<SumTerm> terms;
  std::vector<CountGate> gates;
  std::vector<TunnelEnds> tunnels;
  std::vector<std::uint32_t> unit_list;
  TerminationTable table;

 private:
  template <class T>
  static Range append(std::vector<T>& list, std::initializer_list<T> more) {
    auto const begin = static_cast<std::uint32_t>(list.size());
    for (T const& entry : more) list.push_back(entry);
    return {begin, static_cast<std::uint32_t>(list.size())};
  }
  void point() {
    table.units = units.data();
    table.unit_count = static_cast<std::uint32_t>(units.size());
    table.stages = stages.data();
    table.stage_count = static_cast<std::uint32_t>(stages.size());
    table.terms = terms.data();
    table.gates = gates.data();
    table.unit_list = unit_list.data();
    table.tunnels = tunnels.data();
    table.term_count = static_cast<std::uint32_t>(terms.size());
    table.gate_count = static_cast<std::uint32_t>(gates.size());
    table.listed_count = static_cast<std::uint32_t>(unit_list.size());
    table.tunnel_count = static_cast<std::uint32_t>(tunnels.size());
  }
};

/// Rounds of the check until it has ended or found a fault; like the monitors, it also leaves when somebody else did.
/// In the worlds it comes behind the writers in turn: it looks while the readers are still at work, without a delay.
inline CheckResult check_to_the_end(ExploreMachine m, TerminationTable& table, Control& control) {
  for (unsigned misses = 0;; m.relax(misses++)) {
    if (CheckResult const result = check_round(m, table, control); result != CheckResult::open) return result;
    if (m.ballot(m.lanes(), is_aborted(m, control)) != 0) return CheckResult::faulted;
  }
}

/// What many worlds are: one tunnel at one home, a unit of its own that `writers` close, and its check.
struct CheckedTunnel {
  struct Shape {
    std::uint32_t capacity = 1;
    std::uint32_t pooled = 0;
    std::uint32_t writers = 1;
    RingPart part = RingPart::whole;
    std::initializer_list<CountGate> readers = {};
  };
  explicit CheckedTunnel(Shape const& shape) : t(control, shape.capacity, shape.pooled, shape.part) {
    table.add({.finished = {t.finished()},
               .created = {t.created(), t.spilled()},
               .gates = {t.closed_by(shape.writers)},
               .tunnels = {t.ends()},
               .readers = shape.readers});
  }
  void check_to_the_end(ExploreMachine m) { result = explore::check_to_the_end(m, table.table, control); }
  void require_end(unsigned tasks) const {
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(result == CheckResult::ended, "no end");
    require(t.tasks_ended == tasks && t.tickets() == tasks, "a task was lost");
    t.check_rest();
  }
  Control control;
  LocalTunnel t;
  CheckTable table;
  CheckResult result = CheckResult::open;
};

}  // namespace hiway::explore
