// Spans under every schedule: lanes whose numbers differ share a claim, teams copy a run side by side, through rings
// that are smaller than a span.
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Writes the values from `first` on, the span's.
struct WriteSeveral {
  ExploreMachine m;
  std::uint32_t first;
  void operator()(Several const& some) const {
    for (unsigned k = 0; k < some.count; ++k)
      WriteTorn{m, first + static_cast<std::uint32_t>(some.item(k))}(some.slot(k));
  }
};
/// Reads values into a span.
struct ReadSeveral {
  ExploreMachine m;
  std::uint32_t* values;
  void operator()(Several const& some) const {
    for (unsigned k = 0; k < some.count; ++k) ReadTorn{m, values[some.item(k)]}(some.slot(k));
  }
};

/// What each lane of a warp puts, or asks for, in one call; 0 also.
template <unsigned... Counts>
struct Each {
  static constexpr std::array<unsigned, sizeof...(Counts)> counts{Counts...};
  static constexpr unsigned lanes = sizeof...(Counts);
  static constexpr unsigned all = (Counts + ...);
};

/// The getters' and putters' book: items are numbered through, lane by lane.
template <class Puts, unsigned Calls>
struct Book {
  static constexpr unsigned total = Calls * Puts::all;
  static unsigned first_of(unsigned lane) {
    unsigned first = 0;
    for (unsigned l = 0; l < lane; ++l) first += Calls * Puts::counts.at(l);
    return first;
  }
  static unsigned lane_of(unsigned item) {
    unsigned lane = 0;
    while (item >= first_of(lane) + Calls * Puts::counts.at(lane)) ++lane;
    return lane;
  }
  using Last = std::array<std::uint32_t, Puts::lanes>;
  void got(std::uint32_t item, Last& last) {
    require(item < total, "an item that nobody put");
    require(!seen[item], "an item came twice");
    seen[item] = true;
    unsigned const lane = lane_of(item);
    require(item >= last[lane], "items of one lane changed their order");
    last[lane] = item + 1;
  }
  void check() const {
    for (bool const s : seen) require(s, "an item was lost");
  }
  std::array<bool, total> seen{};
};

/// A warp puts, a warp gets, each lane its own number a call.
template <class Puts, unsigned Calls, class Gets, std::uint32_t Capacity, std::uint32_t Pooled = 0,
          RingPart Part = RingPart::whole>
struct LaneSpans : CheckedTunnel {
  static constexpr std::array warps = {Puts::lanes, 1u, Gets::lanes};
  static constexpr bool keeps_order = Pooled == 0;

  LaneSpans() : CheckedTunnel({.capacity = Capacity, .pooled = Pooled, .part = Part}) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      unsigned const n = Puts::counts.at(m.lane());
      for (unsigned i = 0; i < Calls; ++i)
        detail::put_span(m.at(putting), t.inlet(0), n, WriteSeveral{m, book.first_of(m.lane()) + i * n});
      t.close(m, 0);
    } else if (warp == 1) {
      check_to_the_end(m);
    } else {
      read(m, Gets::counts.at(m.lane()));
    }
  }
  void read(ExploreMachine m, unsigned n) {
    OutletView const v = t.outlet(0);
    typename Book<Puts, Calls>::Last last{};
    for (unsigned misses = 0;;) {
      std::array<std::uint32_t, 4> values{};
      unsigned const got = detail::get_span(m.at(getting), v, n, after_misses(misses), ReadSeveral{m, values.data()});
      require(got <= n, "more than was asked for");
      for (unsigned i = 0; i < got; ++i) {
        if (!keeps_order) last = {};
        book.got(values.at(i), last);
      }
      if (got != 0) {
        require(t.end.ended.bits == 0, "an end before the last task was ended");
        t.tasks_ended += got;
        ExploreMachine const e = m.at(ending);
        detail::end_several_tasks(e, v, detail::together(e, v), got);
        misses = 0;
      } else if (detail::tunnel_ended(m, v)) {
        return;
      } else {
        m.relax(misses++);
      }
    }
  }
  void check() const {
    book.check();
    require_end(book.total);
  }
  Book<Puts, Calls> book;
};
TEST(ExploreSpans, LanesPutMoreThanTheRingHolds) { expect_no_failure<LaneSpans<Each<2, 3>, 1, Each<1>, 2>>(); }
TEST(ExploreSpans, LanesPutSpansIntoOneSlot) { expect_no_failure<LaneSpans<Each<1, 2>, 1, Each<2>, 1>>(); }
TEST(ExploreSpans, LanesOfDifferentCountsGetFromFourSlots) {
  expect_no_failure<LaneSpans<Each<3>, 2, Each<1, 3>, 4>>();
}
TEST(ExploreSpans, LanesOfDifferentCountsPutAndGet) { expect_no_failure<LaneSpans<Each<1, 2>, 2, Each<2, 1>, 3>>(); }
TEST(ExploreSpans, ALaneThatPutsNothingKeepsNobodyWaiting) {
  expect_no_failure<LaneSpans<Each<0, 3>, 1, Each<2>, 2>>();
}
TEST(ExploreSpans, SpansGoPartlyIntoThePool) { expect_no_failure<LaneSpans<Each<2, 2>, 1, Each<1, 2>, 2, 4>>(); }
TEST(ExploreSpans, SpansLeaveARingInOrder) {
  expect_no_failure<LaneSpans<Each<2, 1>, 2, Each<2, 1>, 3, 0, RingPart::in_order>>();
}

/// The same through slots that hold their turns.
template <class World>
struct InTaggedSlots : World {
  InTaggedSlots() {
    for (Ring* ring : {&this->t.writing.ring, &this->t.reading.ring}) lay_tagged(*ring, slots);
  }
  std::array<TaggedSlot, 4> slots{};
};
TEST(ExploreSpans, LanesPutSpansIntoASlotThatHoldsItsTurn) {
  expect_no_failure<InTaggedSlots<LaneSpans<Each<1, 2>, 1, Each<2>, 1>>>();
}
TEST(ExploreSpans, LanesOfDifferentCountsUseSlotsThatHoldTheirTurns) {
  expect_no_failure<InTaggedSlots<LaneSpans<Each<3>, 2, Each<1, 3>, 4>>>();
}

/// Several warps of one lane each: runs of both sides that overlap each other in any way (ring.hpp I7).
template <unsigned Puts, unsigned Gets, std::uint32_t Capacity>
struct RunsMeet : CheckedTunnel {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u};
  RunsMeet() : CheckedTunnel({.capacity = Capacity, .writers = 2}) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 2) {
      for (unsigned i = 0; i < 2; ++i) {
        detail::put_span(m.at(putting), t.inlet(warp), Puts, WriteSeveral{m, 0});
        m.point();
      }
      t.close(m, warp);
    } else if (warp == 2) {
      check_to_the_end(m);
    } else {
      OutletView const v = t.outlet(warp - 3);
      for (unsigned misses = 0; !detail::tunnel_ended(m, v);) {
        std::array<std::uint32_t, 4> values{};
        unsigned const got = detail::get_span(m, v, Gets, after_misses(misses), ReadSeveral{m, values.data()});
        if (got == 0) {
          m.relax(misses++);
        } else {
          detail::end_several_tasks(m, v, 1, got);
          misses = 0;
        }
        t.tasks_ended += got;
      }
    }
  }
  void check() const { require_end(4 * Puts); }
};
TEST(ExploreSpans, RunsOfTwoMeetInTwoSlots) { expect_no_failure<RunsMeet<2, 2, 2>>(); }
TEST(ExploreSpans, RunsOfThreeAndTwoMeetInFourSlots) { expect_no_failure<RunsMeet<3, 2, 4>>(); }

// ---- half-rings

/// Across the bus, direct, with chunks of two slots: a warp's lanes put and a warp's lanes get; or a team on either
/// side.
template <class Puts, class Gets, std::uint32_t Capacity, bool Teams>
struct SpansAcross {
  static constexpr std::array warps = {Puts::lanes, 1u, Gets::lanes};
  static constexpr unsigned total = Teams ? Puts::counts[0] : Puts::all;

  SpansAcross() {
    for (Ring* r : {&t.outbox.ring, &t.inbox.ring, &t.writing.ring, &t.reading.ring, &t.out.tells.ring,
                    &t.out.hears.ring, &t.in.tells.ring, &t.in.hears.ring})
      r->chunk_shift = Capacity > 1 ? 1 : 0;
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      if constexpr (Teams) {
        detail::put_span_by_team(WarpTeam<ExploreMachine>{m}, t.inlet(0), total, WriteSeveral{m, 0});
      } else {
        detail::put_span(m.at(putting), t.inlet(0), Puts::counts.at(m.lane()),
                         WriteSeveral{m, Book<Puts, 1>::first_of(m.lane())});
      }
    } else if (warp == 1) {
      for (unsigned misses = 0; t.out.hears.to.bits != total;) {
        bool const in = step(m, t.in);
        if (step(m, t.out) || in) {
          misses = 0;
        } else {
          m.relax(misses++);
        }
      }
    } else {
      read(m);
    }
  }
  void read(ExploreMachine m) {
    OutletView const v = t.outlet(0);
    for (unsigned misses = 0;;) {
      if (m.ballot(m.lanes(), m.load(got_in_all, MemoryOrder::relaxed) == total) != 0) return;
      std::array<std::uint32_t, 4> own{};
      unsigned n = 0;
      if constexpr (Teams) {
        n = detail::get_span_by_team(WarpTeam<ExploreMachine>{m}, v, Gets::counts[0], ReadSeveral{m, room.data()})
                .run.count;
        for (unsigned i = 0; i < n; ++i) own.at(i) = room.at(i);  // every lane sees what all have read
        m.sync_warp(m.lanes());
      } else {
        n = detail::get_span(m.at(getting), v, Gets::counts.at(m.lane()), after_misses(misses),
                             ReadSeveral{m, own.data()});
      }
      for (unsigned i = 0; i < n && (!Teams || m.lane() == 0); ++i) {
        require(own.at(i) < total && !seen.at(own.at(i)), "another item, or one twice");
        seen.at(own.at(i)) = true;
        m.fetch_add(got_in_all, 1u, MemoryOrder::relaxed);
      }
      m.sync_warp(m.lanes());
      misses = n != 0 ? 0 : misses + 1;
      if (n == 0) m.relax(misses);
    }
  }
  void check() const {
    for (bool const s : seen) require(s, "an item was lost");
    require(t.published.bits == total && t.retired.bits == total, "a prefix stopped");
    require(t.outbox.words.free.bits == static_cast<std::int32_t>(Capacity), "credit of puts went astray");
    require(t.inbox.words.avail.bits == 0 && t.outlets[0].got.bits == total, "credit of gets went astray");
  }
  Control control;
  CrossingTunnel t{control, control, Capacity};
  std::array<std::uint32_t, 4> room{};
  std::array<bool, total> seen{};
  Word<std::uint32_t> got_in_all{0};
};
TEST(ExploreSpans, LanesPutSpansAcrossTheBus) { expect_no_failure<SpansAcross<Each<1, 3>, Each<2>, 2, false>>(); }
TEST(ExploreSpans, LanesGetSpansAcrossTheBus) { expect_no_failure<SpansAcross<Each<3>, Each<2, 1>, 4, false>>(); }
TEST(ExploreSpans, ATeamsSpanCrossesTheBus) { expect_no_failure<SpansAcross<Each<5, 5>, Each<3, 3>, 4, true>>(); }
TEST(ExploreSpans, ATeamsSpanCrossesTheBusInOneSlot) {
  expect_no_failure<SpansAcross<Each<2, 2>, Each<2, 2>, 1, true>>();
}

// ---- teams

/// A team puts spans that lie in memory of all its lanes, and writes the next there at once; another gets them into
/// such.
template <template <class> class TeamOf, unsigned Puts, unsigned Gets, std::uint32_t Capacity, std::uint32_t Pooled = 0,
          RingPart Part = RingPart::whole>
struct TeamSpans : CheckedTunnel {
  static constexpr std::array warps = {2u, 1u, 2u};
  using Team = TeamOf<ExploreMachine>;
  static constexpr unsigned calls = 2;
  static constexpr unsigned total = calls * Puts;

  TeamSpans() : CheckedTunnel({.capacity = Capacity, .pooled = Pooled, .part = Part}) {}
  void run(unsigned warp, ExploreMachine m) {
    Team const team{m};
    if (warp == 0) {
      for (unsigned i = 0; i < calls; ++i) {
        for (unsigned k = team.rank(); k < Puts; k += team.size()) {
          m.writes(&source[k]);  // a race with a sibling that still reads the last span
          source[k] = i * Puts + k;
        }
        team.sync();
        detail::put_span_by_team(team, t.inlet(0), Puts, [&](Several const& some) {
          for (unsigned k = 0; k < some.count; ++k) {
            m.reads(&source.at(some.item(k)));
            WriteTorn{m, source.at(some.item(k))}(some.slot(k));
          }
        });
      }
      t.close(m, 0);
    } else if (warp == 1) {
      check_to_the_end(m);
    } else {
      read(team);
    }
  }
  void read(Team team) {
    auto const m = team.m;
    OutletView const v = t.outlet(0);
    std::uint32_t next = 0;
    for (;; m.relax(1)) {
      auto const claimed = detail::get_span_by_team(team, v, Gets, [&](Several const& some) {
        for (unsigned k = 0; k < some.count; ++k) {
          m.writes(&target.at(some.item(k)));
          ReadTorn{m, target.at(some.item(k))}(some.slot(k));
        }
      });
      if (claimed.ended) return;
      for (unsigned i = 0; i < claimed.run.count; ++i) {  // each lane looks at all
        m.reads(&target[i]);
        std::uint32_t const x = target[i];
        require(x < total, "an item that nobody put");
        require(Pooled != 0 || x == next, "items changed their order");
        ++next;
        ++lanes_on.at(x);
      }
      if (claimed.run.count == 0) continue;
      m.point();
      require(t.end.ended.bits == 0, "an end before the last task was ended");
      if (team.rank() == 0) t.tasks_ended += claimed.run.count;
      detail::end_task_together(team, v, claimed.run.count);
    }
  }
  void check() const {
    require_end(total);
    for (unsigned const lanes : lanes_on) require(lanes == 2, "an item was not seen by all lanes once");
  }
  std::array<std::uint32_t, Puts> source{};
  std::array<std::uint32_t, Gets> target{};
  std::array<unsigned, total> lanes_on{};
};
TEST(ExploreTeamSpans, AWarpsSpanGoesThroughASmallerRing) { expect_no_failure<TeamSpans<WarpTeam, 3, 3, 2>>(); }
TEST(ExploreTeamSpans, AWarpsSpanGoesThroughOneSlot) { expect_no_failure<TeamSpans<WarpTeam, 2, 2, 1>>(); }
TEST(ExploreTeamSpans, ABlocksSpanGoesThroughASmallerRing) { expect_no_failure<TeamSpans<BlockTeam, 5, 4, 4>>(); }
TEST(ExploreTeamSpans, AWarpsSpanGoesThroughSlotsThatHoldTheirTurns) {
  expect_no_failure<InTaggedSlots<TeamSpans<WarpTeam, 3, 3, 2>>>();
}
TEST(ExploreTeamSpans, ASpanGoesPartlyIntoThePool) { expect_no_failure<TeamSpans<WarpTeam, 3, 2, 2, 4>>(); }
TEST(ExploreTeamSpans, ASpanLeavesARingInOrder) {
  expect_no_failure<TeamSpans<BlockTeam, 3, 2, 2, 0, RingPart::in_order>>();
}

// ---- refused

/// Who has closed puts a span: alone, or as the first lane of a team; nothing of it is seen.
template <bool Team, RingPart Part>
struct RefusedSpan {
  static constexpr std::array warps = {1u};
  void run(unsigned, ExploreMachine m) {
    t.close(m, 0);
    if constexpr (Team) {
      detail::put_span_by_team(WarpTeam<ExploreMachine>{m}, t.inlet(0), 2, WriteSeveral{m, 0});
    } else {
      detail::put_span(m, t.inlet(0), 2, WriteSeveral{m, 0});
    }
    throw Failure{"a put that must be refused returned"};
  }
  void check() const {
    require(control.record.kind == FaultKind::put_after_close, "another fault");
    for (auto const& turn : t.ring.turns) require(turn.bits == 0, "a refused put is visible");
    for (auto const& count : t.ring.done) require(count.bits == 0, "a refused put is counted");
  }
  Control control;
  LocalTunnel t{control, 2, 0, Part};
};
TEST(ExploreSpans, AfterTheCloseALanesIsRefused) { expect_no_failure<RefusedSpan<false, RingPart::whole>>(); }
TEST(ExploreSpans, AfterTheCloseALanesIsRefusedAcrossTheBus) {
  expect_no_failure<RefusedSpan<false, RingPart::outbox>>();
}
TEST(ExploreSpans, AfterTheCloseATeamsIsRefused) { expect_no_failure<RefusedSpan<true, RingPart::whole>>(); }

}  // namespace
