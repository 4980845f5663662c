// What CPU threads stage (inlet/staging.hpp) under every schedule: each item once, each writer's in order, taken
// or moved by any thread; and an end that is neither early nor missed.
#include "hiway/inlet/staging.hpp"

#include <array>
#include <optional>

#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

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
  static bool move(ExploreMachine m, Staging& s) {
    return s.move_if_free(m, [&](std::byte* slot, std::byte const* from, std::uint32_t n) {
      for (std::uint32_t i = 0; i < n; ++i) {
        std::uint32_t x = 0;
        ReadTorn{m, x}(from + i * sizeof(Torn));
        WriteTorn{m, x}(slot + i * sizeof(Torn));
      }
    });
  }

  void read(ExploreMachine m, unsigned reader) {
    OutletView const v = t.outlet(reader);
    std::array<std::uint32_t, Writers> last{};
    for (unsigned misses = 0;;) {
      std::uint32_t x = 0;
      if (take(m, v, x) || t.try_get(m, reader, x)) {
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
  bool take(ExploreMachine m, OutletView const& v, std::uint32_t& x) {
    for (auto& s : staged) {
      auto const read_one = [&](std::byte const* item, std::uint32_t, std::uint32_t) { ReadTorn{m, x}(item); };
      if (s->take_if_free(m, v.ring, 1, read_one) == 0) continue;
      m.fetch_add(v.ports->got, std::uint64_t{1}, Order::relaxed);
      return true;
    }
    return false;
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

TEST(ExploreStaging, OneSlotIsUsedAgain) { expect_no_failure<Staged<1, 1, 3, 1>>(); }
TEST(ExploreStaging, TwoReadersTakeInOrder) { expect_no_failure<Staged<1, 2, 3, 2>>(); }
TEST(ExploreStaging, TwoWritersStageForOneReader) { expect_no_failure<Staged<2, 1, 2, 1>>(); }
TEST(ExploreStaging, APutPastItKeepsTheOrder) { expect_no_failure<Staged<1, 1, 4, 2, Also::puts_past>>(); }
TEST(ExploreStaging, APutPastItKeepsTheOrderOfEachReader) { expect_no_failure<Staged<1, 2, 4, 2, Also::puts_past>>(); }

}  // namespace
