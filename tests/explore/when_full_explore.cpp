// Puts into a full tunnel that drop, under every schedule: each item is got once or dropped once, and the end counts
// what was dropped (inlet/no_room.hpp D1 to D3).
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Calls of `put`, each with another item, and what came of them.
template <unsigned Items>
struct Fates {
  void got(std::uint32_t x) {
    require(x < Items && !seen[x], "an item came twice, or nothing put it");
    seen[x] = true;
    ++count;
  }
  void require_all(std::uint64_t dropped) const {
    require(count + dropped == Items, "an item is neither got nor dropped");
  }
  std::array<bool, Items> seen{};
  unsigned count = 0;
};

/// Where the checker stands. From across it may load old counts.
enum class Checker : std::uint8_t { at_home, across };

/// A tunnel of one slot, whose puts do not wait. What is dropped of the oldest counts as finished.
struct Dropping {
  explicit Dropping(WhenFull when_full, unsigned writers, Checker checker = Checker::at_home)
      : oldest(when_full == WhenFull::drop_oldest) {
    t.writing.when_full = when_full;
    t.writing.stage = 0;
    auto const seen = [&](auto entry) { return checker == Checker::across ? across(entry) : entry; };
    SumTerm const dropped = oldest ? SumTerm{&t.ring.words.dropped, 1, 8, false} : SumTerm{};
    table.add({.finished = {seen(t.finished()), seen(dropped)},
               .created = {seen(t.created())},
               .gates = {seen(t.closed_by(writers))},
               .tunnels = {t.ends()}});
  }
  template <unsigned Items>
  void require_end(Fates<Items> const& fates) const {
    require(control.aborted.bits == 0, "a fault that nothing made");
    require(result == CheckResult::ended, "no end");
    fates.require_all(t.ring.words.dropped.bits);
    require(t.tickets() == (oldest ? Items : fates.count), "another number of items was created");
    t.check_rest();
  }
  Control control;
  LocalTunnel t{control, 1};
  CheckTable table;
  CheckResult result = CheckResult::open;
  bool oldest;
};

/// Two writers of two items each, and a reader.
template <WhenFull What>
struct TwoWriters : Dropping {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  TwoWriters() : Dropping(What, 2) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 2) {
      for (unsigned i = 0; i < 2; ++i) t.put(m, warp, 2 * warp + i);
      t.close(m, warp);
    } else if (warp == 2) {
      result = check_to_the_end(m, table.table, control);
    } else {
      std::array<int, 2> last{-1, -1};
      t.read(m, 0, [&](std::uint32_t x) {
        fates.got(x);
        require(last[x / 2] < static_cast<int>(x), "a writer's items came in another order");
        last[x / 2] = static_cast<int>(x);
      });
    }
  }
  void check() const { require_end(fates); }
  Fates<4> fates;
};
TEST(ExploreWhenFull, EachItemIsGotOrIsTheNewestThatFoundNoRoom) {
  expect_no_failure<TwoWriters<WhenFull::drop_newest>>();
}
TEST(ExploreWhenFull, EachItemIsGotOrMadeRoomForANewerOne) { expect_no_failure<TwoWriters<WhenFull::drop_oldest>>(); }

/// A warp of three puts together, and two readers get.
template <WhenFull What>
struct AWarp : Dropping {
  static constexpr std::array warps = {3u, 1u, 1u, 1u};
  AWarp() : Dropping(What, 1) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      detail::put_together(m.at(putting), t.inlet(0), m.lanes(), true, WriteTorn{m, m.lane()});
      t.close(m, 0);
    } else if (warp == 1) {
      result = check_to_the_end(m, table.table, control);
    } else {
      t.read(m, warp - 2, [&](std::uint32_t x) { fates.got(x); });
    }
  }
  void check() const { require_end(fates); }
  Fates<3> fates;
};
TEST(ExploreWhenFull, LanesThatFindNoRoomDropTogether) {
  expect_no_failure<AWarp<WhenFull::drop_newest>>();
  expect_no_failure<AWarp<WhenFull::drop_oldest>>();
}

/// Nothing gets: the oldest, or the newest, is left, and then got.
template <WhenFull What>
struct Unread : Dropping {
  static constexpr std::array warps = {1u};
  Unread() : Dropping(What, 1) {}
  void run(unsigned, ExploreMachine m) {
    for (unsigned i = 0; i < 3; ++i) t.put(m, 0, i);
    require(t.ring.words.dropped.bits == 2, "another number was dropped");
    std::uint32_t x = 9;
    require(t.try_get(m, 0, x) && x == (oldest ? 2u : 0u), "the wrong item is left");
    require(!t.try_get(m, 0, x), "more is left");
  }
  void check() const {}
};
TEST(ExploreWhenFull, WhatIsLeftIsTheOldestOrTheNewest) {
  expect_no_failure<Unread<WhenFull::drop_newest>>();
  expect_no_failure<Unread<WhenFull::drop_oldest>>();
}

/// A stage of two threads feeds itself through one slot: an item n makes every item below n. An end before the last
/// task has ended is found by read().
template <WhenFull What, Checker At = Checker::at_home>
struct SelfFed : Dropping {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  SelfFed() : Dropping(What, 1, At) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      put_one(m, 0, 2);
      t.close(m, 0);
    } else if (warp == 1) {
      result = check_to_the_end(m, table.table, control);
    } else {
      t.read(m, warp - 2, [&](std::uint32_t n) {
        ++got;
        while (n-- != 0) put_one(m, 1, n);
      });
    }
  }
  void put_one(ExploreMachine m, unsigned writer, std::uint32_t n) {
    ++puts;
    t.put(m.with(Atomics::of_cpu), writer, n);
  }
  void check() const {
    require(control.aborted.bits == 0 && result == CheckResult::ended, "no end");
    require(got + t.ring.words.dropped.bits == puts, "an item is neither got nor dropped");
    t.check_rest();
  }
  unsigned puts = 0;
  unsigned got = 0;
};
TEST(ExploreWhenFull, ACycleOfOneSlotDropsAndEnds) {
  expect_no_failure<SelfFed<WhenFull::drop_newest>>();
  expect_no_failure<SelfFed<WhenFull::drop_oldest>>();
}
TEST(ExploreWhenFull, WhatIsDroppedInACycleIsCreatedForACheckFromAcross) {
  expect_no_failure<SelfFed<WhenFull::drop_newest, Checker::across>>();
  expect_no_failure<SelfFed<WhenFull::drop_oldest, Checker::across>>();
}

/// A CPU thread's put across the bus: the slot is free, and it need only hear of that.
struct FreeAcross {
  static constexpr std::array warps = {1u};
  FreeAcross() {
    t.writing.when_full = WhenFull::drop_newest;
    t.writing.relays = &relays;
    relays = {.tells = t.out.tells, .hears = t.out.hears};
  }
  void run(unsigned, ExploreMachine m) {
    t.put(m, 0, 0);
    step(m, t.in);
    step(m, t.out);
    step(m, t.in);
    std::uint32_t x = 9;
    require(t.try_get(m, 0, x) && x == 0, "no item");
    step(m, t.in);  // tells of the free slot
    t.put(m, 0, 1);
    require(t.outbox.words.dropped.bits == 0, "dropped beside a free slot");
    t.put(m, 0, 2);
    require(t.outbox.words.dropped.bits == 1, "not dropped, though there is no room");
  }
  void check() const { require(t.outbox.words.claimed.bits == 2, "another number of items was put"); }
  Control control;
  CrossingTunnel t{control, control, 1};
  Relays relays;
};
TEST(ExploreWhenFull, AcrossTheBusAPutHearsOfRoomBeforeItDrops) { expect_no_failure<FreeAcross>(); }

/// A span that finds room for a part.
struct SpanOfThree : Dropping {
  static constexpr std::array warps = {1u};
  SpanOfThree() : Dropping(WhenFull::drop_newest, 1) {}
  void run(unsigned, ExploreMachine m) {
    detail::put_span(m.at(putting), t.inlet(0), 3, [&](Several const& some) {
      for (unsigned k = 0; k < some.count; ++k) WriteTorn{m, static_cast<std::uint32_t>(some.item(k))}(some.slot(k));
    });
  }
  void check() const {
    require(t.tickets() == 1 && t.ring.items[0].value == 0, "not the first item is put");
    require(t.ring.words.dropped.bits == 2, "the rest is not dropped");
  }
};
TEST(ExploreWhenFull, ASpanDropsTheRest) { expect_no_failure<SpanOfThree>(); }

}  // namespace
