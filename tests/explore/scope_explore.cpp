// Values of scopes (scope/word.hpp) under every schedule: lanes count themselves, put, and end while others do; host
// tasks share and give back; letters cross. The scope ends once, after all its tasks, and the thread that ends it sees
// all that they have written.
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hiway/scope/alike.hpp"
#include "hiway/scope/task.hpp"
#include "hiway/stencil/scopes.hpp"
#include "tests/explore/one_scope.hpp"
#include "tests/explore/search.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// The only counted task ends while another one counts itself and its item.
template <std::uint64_t Own>
struct CountsItselfAtAnEnd : OneScope<3, 3, 1> {
  CountsItselfAtAnEnd() : OneScope(Own + 1, 1, 1) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 3) return read_mail(m, 0);
    if (warp == 0) {
      begin_task(m, Own);
      put_on(m, ScopeRoad::here, item);
      end_task(m, 0);
    } else if (warp == 1) {
      begin_task(m, 0);
      end_task(m, 1);
    } else {
      work_on(m, 2, item);
    }
    leave(m);
  }
  Word<std::uint64_t> item{0};
};
TEST(ExploreScope, ATaskCountsItselfWhileTheLastOneEnds) { expect_no_failure<CountsItselfAtAnEnd<1>>(); }
TEST(ExploreScope, ATaskLeavesAllThatItHasInThePot) { expect_no_failure<CountsItselfAtAnEnd<3>>(); }

/// Three generations at the device, and an item of the first to the host. A child may end before its parent.
struct Generations : OneScope<4, 3, 2> {
  Generations() : OneScope(3, 0, 0) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 3) return read_mail(m, 0);
    if (warp == 4) return work_at_host(m, 1, 3, to_host);
    if (warp == 0) {
      begin_task(m, 3);
      put_on(m, ScopeRoad::here, child);
      put_on(m, ScopeRoad::to_host, to_host);  // out of the pot
      end_task(m, 0);
    } else if (warp == 1) {
      detail::begin_scope_task(m, at_device(ScopeRoad::here), get(m, child));
      put_on(m, ScopeRoad::here, grandchild);
      end_task(m, 1);
    } else {
      work_on(m, 2, grandchild);
    }
    leave(m);
  }
  Word<std::uint64_t> child{0};
  Word<std::uint64_t> grandchild{0};
  Word<std::uint64_t> to_host{0};
};
TEST(ExploreScope, AChildMayEndBeforeItsParent) { expect_no_failure<Generations>(); }

/// What the host has sent brings a value that the pot takes whole: the recursion mails one letter.
struct OneLetter : OneScope<2, 2, 1> {
  OneLetter() : OneScope(detail::value_to_device, 0, 0) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 2) return read_mail(m, 0);
    if (warp == 0) {
      begin_task(m, detail::value_to_device);
      put_on(m, ScopeRoad::here, item);
      end_task(m, 0);
    } else {
      work_on(m, 1, item);
    }
    leave(m);
  }
  void check() const {
    OneScope::check();
    require(device.mail.tickets.bits == 1, "a letter too many");
  }
  Word<std::uint64_t> item{0};
};
TEST(ExploreScope, ARecursionMailsOneLetter) { expect_no_failure<OneLetter>(); }

/// Counts that the task of a pot that has lent `lent` has after its first item.
std::uint64_t counts_lent_by_a_pot_with(std::uint64_t lent) {
  return detail::counts_to_have(7 * detail::one_of_pot + lent);
}
TEST(ExploreScope, APotThatHasLentManyLendsOne) {
  EXPECT_EQ(counts_lent_by_a_pot_with(1), detail::counts_at_once);
  EXPECT_EQ(counts_lent_by_a_pot_with(detail::pot_has_lent_many), 2u);
}

/// Counts that each of `n` items alike has then.
std::uint64_t counts_alike_of(std::uint64_t lent, std::uint64_t n) {
  ScopePot pots[1];
  pots[0].pot.bits = 7 * detail::one_of_pot + lent;
  ScopeTable table;
  table.pots = pots;
  LaneScope task{detail::counted_word(0, 1), &table, 0};
  std::uint64_t const word = detail::share_alike_at_device(ThreadMachine{}, task, n);
  EXPECT_EQ(pots[0].pot.bits, 7 * detail::one_of_pot + lent + n * detail::scope_counts(word));
  return detail::scope_counts(word);
}
TEST(ExploreScope, ItemsAlikeHaveOneCountWhereThereIsLittleRoom) {
  EXPECT_EQ(counts_alike_of(1, 100), detail::counts_at_once / 2);
  EXPECT_EQ(counts_alike_of(detail::pot_has_lent_many - 100, 100), 1u);
  EXPECT_EQ(counts_alike_of(1, detail::pot_has_lent_many), 1u);
}

/// Results: of a counted task at its device and to the host, of one that has a value.
struct Results : OneScope<5, 3, 2> {
  Results() : OneScope(5, 0, 0) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 3) return read_mail(m, 0);
    if (warp == 4) return work_at_host(m, 1, 4, to_host);
    if (warp == 0) {
      begin_task(m, 5);
      result_on(m, 0, ScopeRoad::here, first);
    } else if (warp == 1) {
      detail::begin_scope_task(m, at_device(ScopeRoad::here), get(m, first));
      put_on(m, ScopeRoad::here, second);
      end_task(m, 1);
    } else {
      detail::begin_scope_task(m, at_device(ScopeRoad::here), get(m, second));
      result_on(m, 2, ScopeRoad::here, third);
      detail::begin_scope_task(m, at_device(ScopeRoad::here), get(m, third));
      result_on(m, 3, ScopeRoad::to_host, to_host);
    }
    leave(m);
  }
  Word<std::uint64_t> first{0};
  Word<std::uint64_t> second{0};
  Word<std::uint64_t> third{0};
  Word<std::uint64_t> to_host{0};
};
TEST(ExploreScope, AResultHasAllOfItsTask) { expect_no_failure<Results>(); }

/// Items that found no room are taken back, by a task that counts itself then and by one that is counted, while the
/// latter's result stays at the device.
struct TakesBack : OneScope<3, 3, 1> {
  TakesBack() : OneScope(2 + 8, 8, 1) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 3) return read_mail(m, 0);
    if (warp == 2) {
      work_on(m, 2, result);
      return leave(m);
    }
    begin_task(m, warp == 0 ? 2 : 0);
    for (ScopeRoad const road : {ScopeRoad::to_host, ScopeRoad::here, ScopeRoad::to_device})
      detail::take_scope_back(m, detail::share_scope(m, at_device(road)));
    if (warp == 0) {
      end_task(m, 0);
    } else {
      result_on(m, 1, ScopeRoad::here, result);
    }
    leave(m);
  }
  Word<std::uint64_t> result{0};
};
TEST(ExploreScope, WhatWasNotPutIsTakenBack) { expect_no_failure<TakesBack>(); }

/// Two items of one task have the same word. They may end before it.
template <std::uint64_t Own>
struct Alike : OneScope<3, 3, 1> {
  Alike() : OneScope(Own == 0 ? 1 : Own, Own == 0 ? 1 : 0, Own == 0 ? 1 : 0) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 3) return read_mail(m, 0);
    if (warp == 0) {
      begin_task(m, Own);
      std::uint64_t const word = detail::share_scope_alike(m, 2);
      put(m, first, word);
      put(m, second, word);
      end_task(m, 0);
    } else {
      work_on(m, warp, warp == 1 ? first : second);
    }
    leave(m);
  }
  Word<std::uint64_t> first{0};
  Word<std::uint64_t> second{0};
};
TEST(ExploreScope, ItemsAlikeAreCountedBeforeTheyAreSeen) { expect_no_failure<Alike<0>>(); }
TEST(ExploreScope, ItemsAlikeCountTheirTaskToo) { expect_no_failure<Alike<2>>(); }

/// The places of a strip (stencil/scopes.hpp): the first one puts an item, the second hands its part on, the last one
/// has what is left. `Counts`: those of the strip.
template <std::uint64_t Counts>
struct Places : OneScope<3, 3, 1> {
  Places() : OneScope(1, 1, Counts) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 3) return read_mail(m, 0);
    if (warp != 0) {
      work_on(m, warp, warp == 1 ? first : second);
      return leave(m);
    }
    InletView const into = at_device(ScopeRoad::here);
    OutletView strips;
    strips.end = into.end;
    std::uint64_t rest = detail::counted_word(place, Counts);
    for (unsigned i = 0; i != 3; ++i) {
      detail::begin_place(m, strips, into, rest, i == 2);
      if (i == 0) put(m, first, detail::share_scope(m, into));
      if (i == 1) put(m, second, detail::share_rest(m, into));
      if (i == 2) traces.leave(m, 0);
      detail::end_place(m, strips, rest, i == 2);
      require(m.scope().word == 0, "a lane has the scope of a place that has ended");
    }
    leave(m);
  }
  Word<std::uint64_t> first{0};
  Word<std::uint64_t> second{0};
};
TEST(ExploreScope, PlacesOfAStripShareWhatItHas) {
  expect_no_failure<Places<1>>();
  expect_no_failure<Places<8>>();
}

/// What places that put much have left, and the rest of their strip, fit a word.
struct ManyCounts : OneScope<1, 1, 1> {
  ManyCounts() : OneScope(1, 1, detail::most_counts) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) return read_mail(m, 0);
    InletView const into = at_device(ScopeRoad::here);
    OutletView strips;
    strips.end = into.end;
    std::uint64_t rest = detail::counted_word(place, detail::most_counts);
    std::vector<std::uint64_t> items;
    for (unsigned i = 0; i != 4; ++i) {
      detail::begin_place(m, strips, into, rest, i == 3);
      while (detail::scope_counts(m.scope().word) > 1) items.push_back(detail::share_scope(m, into));
      detail::take_scope_back(m, detail::share_scope(m, into));  // of an item that found no room
      require(detail::scope_counts(m.scope().word) == detail::counts_at_once, "a task is lent another number");
      detail::end_place(m, strips, rest, i == 3);
      require(detail::scope_place(rest) == place, "the counts run into the place");
    }
    for (std::size_t i = 0; i != items.size(); ++i) {
      detail::begin_scope_task(m, into, items[i]);
      if (i + 1 == items.size()) traces.leave(m, 0);
      detail::end_scope_task(m, into);
    }
    leave(m);
  }
};
TEST(ExploreScope, PlacesThatPutMuchHaveRoomForTheirCounts) { expect_no_failure<ManyCounts>(); }

/// A task with a value of 1 puts to the host: it counts itself, and the item's value is the pot's.
struct KeepsOne : OneScope<3, 2, 2> {
  KeepsOne() : OneScope(3, 2, 1) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 2) return read_mail(m, 0);
    if (warp == 3) return work_at_host(m, 1, 2, to_host);
    if (warp == 0) {
      begin_task(m, 1);
      put_on(m, ScopeRoad::to_host, to_host);
    } else {
      begin_task(m, 0);
      while (m.load(to_host, MemoryOrder::relaxed) == 0) m.relax(0);
    }
    end_task(m, warp);
    leave(m);
  }
  Word<std::uint64_t> to_host{0};
};
TEST(ExploreScope, ATaskKeepsOneWhilePutting) { expect_no_failure<KeepsOne>(); }

/// A task that counts itself has left its last value in the pot: it may not take that.
struct Exhausted : OneScope<2, 2, 1> {
  Exhausted() : OneScope(1, 0, 0) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 2) return read_mail(m, 0);
    if (warp == 1) return work_on(m, 1, item);
    begin_task(m, 1);
    put_on(m, ScopeRoad::here, item);
    put_on(m, ScopeRoad::to_host, item);
    throw Failure{"a put without a value returned"};
  }
  void check() const { require(control.record.kind == FaultKind::scope_exhausted, "another fault"); }
  Word<std::uint64_t> item{0};
};
TEST(ExploreScope, ThePotKeepsOneWhileItCounts) { expect_no_failure<Exhausted>(); }

/// A task fails its scope, and its result goes to the host, where it may end before the letter is read.
template <std::uint64_t Own>
struct Fails : OneScope<3, 2, 2> {
  Fails() : OneScope(Own + 3, 3, 1) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 2) return read_mail(m, 0);
    if (warp == 3) return work_at_host(m, 1, 2, to_host);
    begin_task(m, warp == 0 ? Own : 0);
    if (warp == 0) {
      detail::fail_scope_of_task(m, "no");
      result_on(m, 0, ScopeRoad::to_host, to_host);
    } else {
      while (m.load(to_host, MemoryOrder::relaxed) == 0) m.relax(0);
      end_task(m, 1);
    }
    leave(m);
  }
  void check() const {
    OneScope::check();
    require(failed_before_the_end, "the scope has ended before it has failed");
  }
  Word<std::uint64_t> to_host{0};
};
TEST(ExploreScope, AFailureComesBeforeTheEnd) { expect_no_failure<Fails<2>>(); }
TEST(ExploreScope, AFailureOfACountedTaskComesBeforeTheEnd) { expect_no_failure<Fails<1>>(); }

/// A host task shares with another one, and the scope is closed meanwhile.
template <std::uint64_t Own>
struct HostTasks : OneScope<3, 0, 3> {
  HostTasks() : OneScope(Own + 1, 0, 0) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      begin_host_task(m, 0, detail::scope_word(place, Own));
      InletView const next = at_host(0, ScopeRoad::to_host);
      put(m, first, detail::share_scope(HostMachine(m), next));
      detail::take_scope_back(HostMachine(m), detail::share_scope(HostMachine(m), next));
      end_host_task(m, 0, 0);
    } else if (warp == 1) {
      begin_host_task(m, 1, get(m, first));
      traces.leave(m, 1);
      begin_host_task(m, 1, detail::hand_scope_on(HostMachine(m), at_host(1, ScopeRoad::to_host)));
      end_host_task(m, 1, 2);
    } else {
      give_back(m, 2, 1);
    }
  }
  Word<std::uint64_t> first{0};
};
TEST(ExploreScope, HostTasksShareWhatTheyHave) { expect_no_failure<HostTasks<4>>(); }
TEST(ExploreScope, HostTasksAddWhatTheyLack) { expect_no_failure<HostTasks<1>>(); }

/// A host task puts to the device, or its result goes there. What the device mails may come before the task has ended.
struct FromHostToDevice : OneScope<4, 2, 2> {
  FromHostToDevice() : OneScope(2, 0, 0) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 2) return read_mail(m, 0);
    if (warp == 3) {
      begin_host_task(m, 1, detail::scope_word(place, 1));
      put(m, first, detail::share_scope(HostMachine(m), at_host(1, ScopeRoad::to_device)));
      end_host_task(m, 1, 0);
      begin_host_task(m, 1, detail::scope_word(place, 1));
      traces.leave(m, 1);
      put(m, second, detail::hand_scope_on(HostMachine(m), at_host(1, ScopeRoad::to_device)));
      detail::end_scope_task(HostMachine(m), at_host(1, ScopeRoad::here));
      return;
    }
    std::uint64_t const item = get(m, warp == 0 ? first : second);
    require(detail::scope_value(item) >= detail::value_to_device, "an item to a device has too small a value");
    detail::begin_scope_task(m, at_device(ScopeRoad::here), item);
    end_task(m, 2 + warp);
    leave(m);
  }
  Word<std::uint64_t> first{0};
  Word<std::uint64_t> second{0};
};
TEST(ExploreScope, WhatGoesToADeviceIsAddedFirst) { expect_no_failure<FromHostToDevice>(); }

/// Lanes send letters through `Slots` slots.
template <std::uint32_t Slots, unsigned Lanes, unsigned Each>
struct Letters {
  static constexpr auto warps = [] {
    std::array<unsigned, Lanes + 1> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  void run(unsigned warp, ExploreMachine m) {
    if (warp == Lanes) return read(m);
    for (unsigned i = 0; i < Each; ++i) {
      m.writes(&written[warp * Each + i]);
      detail::mail_value(m, mail, control, warp, std::uint64_t{1} << 40 | i);
    }
  }
  void read(ExploreMachine m) {
    std::uint64_t all = 0;
    auto const step = [&] {
      std::uint64_t ticket = all;
      std::uint64_t const n = detail::read_letters(
          m, mail, all, [](std::uint32_t) {},
          [&](std::uint32_t lane, std::uint64_t value, char const*) {
            m.reads(mail.letter(ticket++).item);
            std::uint32_t const i = next.at(lane)++;
            require(value == (std::uint64_t{1} << 40 | i), "letters of one lane have changed their order, or are torn");
            m.reads(&written[lane * Each + i]);
          });
      all += n;
      return n != 0;
    };
    step_until(m, step, [&] { return all == Lanes * Each; });
  }
  void check() const {
    for (std::uint32_t const n : next) require(n == Each, "a letter was lost");
    require(room.read.bits == Lanes * Each, "a letter was read twice");
  }
  Control control;
  MailOf<Slots> mail;
  MailRoom<MailOf<Slots>, Slots> room{mail};
  std::array<std::uint32_t, Lanes> next{};
  std::array<char, Lanes * Each> written{};
};
TEST(ExploreScope, LettersOfALaneComeInOrder) { expect_no_failure<Letters<4, 2, 2>>(); }
TEST(ExploreScope, LettersWaitForRoom) { expect_no_failure<Letters<1, 2, 2>>(); }
TEST(ExploreScope, LettersOfManyLanesWaitForRoom) { expect_no_failure<Letters<2, 3, 2>>(); }

/// A lane that waits for room leaves when the run aborts.
struct NoRoom {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) return m.store(control.aborted, 1u, MemoryOrder::relaxed);
    for (unsigned i = 0; i < 2; ++i) detail::mail_value(m, mail, control, 0, 1);
    throw Failure{"a letter without room was written"};
  }
  void check() const {}
  Control control;
  MailOf<1> mail;
  MailRoom<MailOf<1>, 1> room{mail};
};
TEST(ExploreScope, ALaneThatWaitsForRoomLeavesAnAbortedRun) { expect_no_failure<NoRoom>(); }

}  // namespace
