// Tunnels with restored order, under every schedule: two warps put results at the tickets of their items, in whatever
// order they finish (inlet/at_ticket.hpp). The reader sees them in order, has credit only for what is there, and the
// end comes once all was read (ring/marks.hpp).
#include <algorithm>

#include "hiway/inlet/at_ticket.hpp"
#include "hiway/outlet/with_ticket.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

void step(ExploreMachine, LocalTunnel&) {}
void step(ExploreMachine m, CrossingTunnel& t) {
  explore::step(m, t.out);
  explore::step(m, t.in);
}
TunnelEnds ends_of(LocalTunnel& t) { return t.ends(); }
TunnelEnds ends_of(CrossingTunnel& t) { return {&t.writers_end, &t.readers_end, nullptr}; }

/// source -> a -> two warps -> b -> reader; b has room for `Capacity`.
template <class Second, unsigned Lanes, unsigned Capacity, unsigned Items>
struct TwoWarps {
  static constexpr std::array warps = {1u, 1u, Lanes, Lanes, 1u};

  TwoWarps() {
    b.restore_order();
    table.add({.finished = {a.finished()}, .created = {a.created()}, .gates = {a.closed_by(1)}, .tunnels = {a.ends()}});
    table.add_stage(StageRecordWords{.ended = &a.stage_ended, .units = {}}, {0});
    table.add(
        {.finished = {b.finished()}, .created = {b.created()}, .gates = {}, .tunnels = {ends_of(b)}, .upstream = {0}});
    table.add_stage(b.reading_stage(), {1});
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      for (unsigned i = 0; i < Items; ++i) a.put(m, 0, i);
      a.close(m, 0);
    } else if (warp == 1) {
      for (unsigned misses = 0; result == CheckResult::open; m.relax(misses++)) {
        result = check_round(m, table.table, control);
        step(m, b);
      }
    } else if (warp < 4) {
      work(m, a.outlet(warp - 2), b.inlet(warp - 2));
    } else {
      read(m);
    }
  }
  /// As the loop of StageRunner (stage_by_ticket.hpp).
  void work(ExploreMachine m, OutletView const& from, InletView const& into) {
    std::uint32_t const group = m.lanes();
    for (unsigned misses = 0;;) {
      Grant const grant = detail::claim_with_ticket(m, from, group, Credit::early, Credits::doubtful);
      std::uint32_t value = 0;
      if (grant.granted) finish_get(m, from.ring, grant, control, ReadTorn{m, value});
      bool need = grant.granted;
      for (unsigned waits = 0; m.ballot(group, need) != 0; m.relax(waits++))
        if (detail::try_put_at(m, into, group, need, grant.ticket, WriteTorn{m, value})) need = false;
      detail::end_tasks(m, from, group, grant.granted);
      misses = m.ballot(group, grant.granted) != 0 ? 0 : misses + 1;
      if (misses != 0 && m.ballot(group, detail::stage_ended(m, from)) != 0) return;
      if (misses != 0) m.relax(misses - 1);
    }
  }
  void read(ExploreMachine m) {
    OutletView const v = b.outlet(0);
    for (unsigned misses = 0; !detail::tunnel_ended(m, v);) {
      Grant const grant = claim_get(m, v.ring, 1, true, &v.ports->got, Credit::early);
      if (!grant.granted) {
        m.relax(misses++);
        continue;
      }
      Ring const& ring = v.ring;
      require(ring.is_half() || ring.turn(grant.ticket).bits == ring.full_turn(grant.ticket),
              "a get has to wait for a task");
      std::uint32_t value = 0;
      finish_get(m, ring, grant.ticket, control, Credit::early, ReadTorn{m, value});
      require(value == next++, "a result is not at the place of its item");
      b.end_task(m, 0);
      misses = 0;
    }
  }
  void check() const {
    require(control.aborted.bits == 0, "a fault without a cause");
    require(result == CheckResult::ended && next == Items, "a result was lost");
    RingWords const& words = *b.writing.ring.words;
    require(words.claimed.bits == Items, "puts are not counted");
    require(b.writing.ring.is_half() || words.free.bits == static_cast<int>(Capacity), "room went astray");
    require(b.reading.ring.words->avail.bits == 0, "credit of gets went astray");
  }

  Control control;
  LocalTunnel a{control, 4};
  Second b = make_second();
  CheckTable table;
  CheckResult result = CheckResult::open;
  std::uint32_t next = 0;

 private:
  Second make_second() {
    if constexpr (std::is_same_v<Second, LocalTunnel>) {
      return Second(control, Capacity);
    } else {
      return Second(control, control, Capacity);
    }
  }
};

TEST(ExploreOrder, TwoWarpsPutIntoOneSlot) { expect_no_failure<TwoWarps<LocalTunnel, 1, 1, 3>>(); }
TEST(ExploreOrder, TwoWarpsPutIntoTwoSlots) { expect_no_failure<TwoWarps<LocalTunnel, 1, 2, 4>>(); }
TEST(ExploreOrder, LanesOfTwoWarpsPutIntoFourSlots) { expect_no_failure<TwoWarps<LocalTunnel, 2, 4, 5>>(); }
TEST(ExploreOrder, TwoWarpsPutIntoOneSlotAcross) { expect_no_failure<TwoWarps<CrossingTunnel, 1, 1, 3>>(); }
TEST(ExploreOrder, LanesOfTwoWarpsPutIntoTwoSlotsAcross) { expect_no_failure<TwoWarps<CrossingTunnel, 2, 2, 4>>(); }

}  // namespace
