// What CPU threads stage (inlet/staging.hpp) under every schedule: each item once, each writer's in order, taken
// or moved by any thread; and an end that is neither early nor missed.
#include "hiway/inlet/staging.hpp"

#include <array>
#include <optional>
#include <span>

#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

struct CopyTorn {
  ExploreMachine m;
  void operator()(std::byte* slot, std::byte const* from, std::uint32_t n) const {
    for (std::uint32_t i = 0; i < n; ++i) {
      std::uint32_t x = 0;
      ReadTorn{m, x}(from + i * sizeof(Torn));
      WriteTorn{m, x}(slot + i * sizeof(Torn));
    }
  }
};

/// One item from any of the stagings.
bool take_one(ExploreMachine m, std::span<std::optional<Staging>> staged, OutletView const& v, std::uint32_t& x) {
  for (auto& s : staged) {
    auto const read_one = [&](std::byte const* item, std::uint32_t, std::uint32_t) { ReadTorn{m, x}(item); };
    if (s->take_if_free(m, v.ring, 1, read_one) == 0) continue;
    m.fetch_add(v.ports->got, std::uint64_t{1}, MemoryOrder::relaxed);
    return true;
  }
  return false;
}

/// What a writer does with its items besides staging them.
enum class Also : std::uint8_t { nothing, puts_past };

template <unsigned Writers, unsigned Readers, unsigned Each, std::uint32_t Slots, Also What = Also::nothing>
struct Staged {
  static constexpr auto warps = [] {
    std::array<unsigned, Writers + 1 + Readers> lanes{};
    lanes.fill(1);
    return lanes;
  }();

  Staged() {
    for (unsigned w = 0; w < Writers; ++w) staged[w].emplace(sizeof(Torn), Slots, &taken[w]).reset(t.inlet(w));
    SumTerm finished = t.finished();
    SumTerm created = t.created();
    finished.across = created.across = true;  // loads may find an old count, read-modify-writes at home do not
    table.add({.finished = {finished},
               .created = {created, {taken.data(), Writers, sizeof taken[0], true}},
               .gates = {t.closed_by(Writers)},
               .tunnels = {t.ends()}});
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp < Writers) {
      write(m, warp);
    } else if (warp == Writers) {
      result = explore::check_to_the_end(m, table.table, control);
    } else {
      read(m, warp - Writers - 1);
    }
  }

  void write(ExploreMachine m, unsigned writer) {
    for (unsigned i = 0; i < Each; ++i) {
      if (What == Also::puts_past && i == Each / 2) {
        empty(m, writer);
        t.put(m, writer, ledger.item(writer, i));
      } else {
        stage(m, writer, ledger.item(writer, i));
      }
    }
    empty(m, writer);
    t.close(m, writer);
  }
  void stage(ExploreMachine m, unsigned writer, std::uint32_t value) {
    Staging& s = *staged[writer];
    for (unsigned misses = 0; s.is_full(m); ++misses) {
      if (!move(m, s)) m.relax(misses);
    }
    WriteTorn{m, value}(s.slot<WriteTorn>());
    s.publish(m);
  }
  void empty(ExploreMachine m, unsigned writer) {
    Staging& s = *staged[writer];
    for (unsigned misses = 0; !s.is_empty(m); ++misses) {
      if (!move(m, s)) m.relax(misses);
    }
  }
  static bool move(ExploreMachine m, Staging& s) { return s.move_if_free(m, CopyTorn{m}); }

  void read(ExploreMachine m, unsigned reader) {
    OutletView const v = t.outlet(reader);
    std::array<std::uint32_t, Writers> last{};
    for (unsigned misses = 0;;) {
      std::uint32_t x = 0;
      if (take_one(m, staged, v, x) || t.try_get(m, reader, x)) {
        ledger.got(x, last);
        require(t.end.ended.bits == 0, "an end before the last task was ended");
        t.end_task(m, reader);
        misses = 0;
      } else if (detail::tunnel_ended(m, v)) {
        return;
      } else {
        m.relax(misses++);
      }
    }
  }
  void check() const {
    require(result == CheckResult::ended && control.aborted.bits == 0, "no end");
    ledger.check();
    t.check_rest();
  }

  Control control;
  LocalTunnel t{control, 2};
  std::array<Word<std::uint64_t>, Writers> taken{};
  std::array<std::optional<Staging>, Writers> staged;
  CheckTable table;
  CheckResult result = CheckResult::open;
  Ledger<Writers, Each> ledger;
};

/// A stage feeds itself through a tunnel of a few slots and a pool: an item n makes every item below n. Each thread
/// stages one of them, so the next one needs room. A thread alone gets nothing until its task has ended, so it must not
/// wait.
template <unsigned Readers, std::uint32_t Capacity>
struct Cycle {
  static constexpr auto warps = [] {
    std::array<unsigned, 2 + Readers> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  static constexpr unsigned first = 2;
  static constexpr unsigned tasks = 4;

  Cycle() {
    for (unsigned r = 0; r < Readers; ++r) staged[r].emplace(sizeof(Torn), 1, &taken[r]).reset(t.inlet(1 + r));
    table.add({.finished = {t.finished()},
               .created = {t.created(), t.spilled(), {taken.data(), Readers, sizeof taken[0], false}},
               .gates = {t.closed_by(1)},
               .tunnels = {t.ends()}});
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      t.put(m, 0, first);
      t.close(m, 0);
    } else if (warp == 1) {
      result = explore::check_to_the_end(m, table.table, control);
    } else {
      read(m, warp - 2);
    }
  }
  void read(ExploreMachine m, unsigned reader) {
    OutletView const v = t.outlet(reader);
    Staging& own = *staged[reader];
    for (unsigned misses = 0;;) {
      std::uint32_t n = 0;
      if (take_one(m, staged, v, n) || t.try_get(m, reader, n)) {
        while (n-- != 0) stage(m, own, n);
        while (!own.is_empty(m)) step(m, own);
        t.end_task(m, reader);
        misses = 0;
      } else if (detail::tunnel_ended(m, v)) {
        return;
      } else {
        m.relax(misses++);
      }
    }
  }
  static void stage(ExploreMachine m, Staging& own, std::uint32_t value) {
    while (own.is_full(m)) step(m, own);
    WriteTorn{m, value}(own.slot<WriteTorn>());
    own.publish(m);
  }
  static void step(ExploreMachine m, Staging& own) {
    if (!own.move_if_free(m, CopyTorn{m}) && !own.spill_if_free(m, CopyTorn{m})) m.relax(0);
  }
  void check() const {
    require(result == CheckResult::ended && control.aborted.bits == 0, "no end");
    std::uint64_t created = t.tickets();
    for (auto const& n : taken) created += n.bits;
    require(t.tasks_ended == tasks && created == tasks, "a task was lost");
    require(Capacity < tasks || t.pool.words.claimed.bits == 0, "spilled beside room in the ring");
    t.check_rest();
  }

  Control control;
  LocalTunnel t{control, Capacity, 2};
  std::array<Word<std::uint64_t>, Readers> taken{};
  std::array<std::optional<Staging>, Readers> staged;
  CheckTable table;
  CheckResult result = CheckResult::open;
};

TEST(ExploreStaging, OneSlotIsUsedAgain) { expect_no_failure<Staged<1, 1, 3, 1>>(); }
TEST(ExploreStaging, TwoReadersTakeInOrder) { expect_no_failure<Staged<1, 2, 3, 2>>(); }
TEST(ExploreStaging, TwoWritersStageForOneReader) { expect_no_failure<Staged<2, 1, 2, 1>>(); }
TEST(ExploreStaging, APutPastItKeepsTheOrder) { expect_no_failure<Staged<1, 1, 4, 2, Also::puts_past>>(); }
TEST(ExploreStaging, InACycleWhatFindsNoRoomIsSpilled) { expect_no_failure<Cycle<1, 1>>(); }
TEST(ExploreStaging, InACycleOfTwoThreadsTasksEnd) { expect_no_failure<Cycle<2, 1>>(); }
TEST(ExploreStaging, InACycleWhatFindsRoomIsNotSpilled) { expect_no_failure<Cycle<2, 4>>(); }
TEST(ExploreStaging, APutPastItKeepsTheOrderOfEachReader) { expect_no_failure<Staged<1, 2, 4, 2, Also::puts_past>>(); }

}  // namespace
