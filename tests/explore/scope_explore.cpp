// Values of scopes (scope/word.hpp) under every schedule: lanes count themselves, put, and end while others do; host
// tasks share and give back; letters cross. The scope ends once, after all its tasks, and the thread that ends it sees
// all that they have written.
#include <array>
#include <cstdint>
#include <cstring>

#include "hiway/scope/task.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// A CPU thread's machine.
struct HostMachine : ExploreMachine {
  struct Role : ExploreMachine::Role {
    static constexpr bool counts_scopes = true;
  };
  explicit HostMachine(ExploreMachine const& m) : ExploreMachine(m) {}
};

/// Room for a few letters.
template <class Mail, std::size_t Slots>
struct MailRoom {
  explicit MailRoom(Mail& mail) {
    mail.letters = slots.data();
    mail.texts = texts.data();
    mail.read = &read;
  }
  std::array<TaggedSlot, Slots> slots{};
  std::array<ScopeText, Slots> texts{};
  Word<std::uint64_t> read{0};
};

/// One scope of `Tasks` tasks, at the host and at one device of `Lanes` lanes, which come first. Each thread of the
/// host has a table of its own, so that it knows whether it is the one that ends the scope.
template <unsigned Tasks, unsigned Lanes, unsigned Threads>
struct OneScope {
  static constexpr std::uint32_t place = 1;
  static constexpr auto warps = [] {
    std::array<unsigned, Lanes + Threads> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  struct Ends final : ScopeEnds {
    void end_scope(std::uint32_t at) noexcept override { ended += at == place ? 1 : 100; }
    void fail_scope(std::uint32_t, char const*) noexcept override {}
    void note_task(std::uint32_t, std::uint32_t) noexcept override {}
    unsigned ended = 0;
  };

  OneScope(std::uint64_t outstanding, std::uint64_t in_pot, std::uint64_t counted) {
    counts[place].outstanding.bits = outstanding;
    pots[place].pot.bits = in_pot * detail::one_of_pot + counted;
    for (unsigned t = 0; t < Threads; ++t) {
      host[t].counts = counts.data();
      host[t].ends = &ends[t];
    }
    device.pots = pots.data();
    device.control = &control;
  }

  [[nodiscard]] InletView inlet(ScopeTable& home, std::array<EndWords, 3>& roads, ScopeRoad road) {
    EndWords& end = roads[static_cast<std::size_t>(road)];
    end.scopes = &home;
    end.scope_road = road;
    InletView v;
    v.end = &end;
    v.control = &control;
    return v;
  }
  [[nodiscard]] InletView at_device(ScopeRoad road) { return inlet(device, device_roads, road); }
  [[nodiscard]] InletView at_host(unsigned thread, ScopeRoad road) {
    return inlet(host[thread], host_roads[thread], road);
  }

  /// A ring of one item.
  static void put(ExploreMachine m, Word<std::uint64_t>& ring, std::uint64_t item) {
    m.store(ring, item, MemoryOrder::release);
  }
  [[nodiscard]] std::uint64_t get(ExploreMachine m, Word<std::uint64_t>& ring) {
    for (unsigned misses = 0;; m.relax(misses++)) {
      if (std::uint64_t const item = m.load(ring, MemoryOrder::acquire); item != 0) return item;
      leave_if_aborted(m, control);
    }
  }

  void begin_task(ExploreMachine m, std::uint64_t value) {
    std::uint64_t const word = value == 0 ? detail::counted_word(place, 1) : detail::scope_word(place, value);
    detail::begin_scope_task(m, at_device(ScopeRoad::here), word);
  }
  /// The lane puts an item.
  void put_on(ExploreMachine m, ScopeRoad road, Word<std::uint64_t>& ring) {
    put(m, ring, detail::share_scope(m, at_device(road)));
  }
  void result_on(ExploreMachine m, unsigned task, ScopeRoad road, Word<std::uint64_t>& ring) {
    traces.leave(m, task);
    put(m, ring, detail::hand_scope_on(m, at_device(road)));
    detail::end_scope_task(m, at_device(ScopeRoad::here));  // of a task that has handed all on
  }
  void end_task(ExploreMachine m, unsigned task) {
    traces.leave(m, task);
    detail::end_scope_task(m, at_device(ScopeRoad::here));
    require(m.scope().word == 0, "a lane has the scope of a task that has ended");
  }
  void work_on(ExploreMachine m, unsigned task, Word<std::uint64_t>& ring) {
    detail::begin_scope_task(m, at_device(ScopeRoad::here), get(m, ring));
    end_task(m, task);
  }
  /// The lane is through.
  void leave(ExploreMachine m) { m.fetch_add(gone, 1u, MemoryOrder::release); }

  // At the host: `thread` is the caller's number.

  void begin_host_task(ExploreMachine m, unsigned thread, std::uint64_t word) {
    detail::begin_scope_task(HostMachine(m), at_host(thread, ScopeRoad::here), word);
  }
  void end_host_task(ExploreMachine m, unsigned thread, unsigned task) {
    traces.leave(m, task);
    detail::end_scope_task(HostMachine(m), at_host(thread, ScopeRoad::here));
    look_at_the_end(m, thread);
  }
  void work_at_host(ExploreMachine m, unsigned thread, unsigned task, Word<std::uint64_t>& ring) {
    begin_host_task(m, thread, get(m, ring));
    end_host_task(m, thread, task);
  }
  void give_back(ExploreMachine m, unsigned thread, std::uint64_t value) {
    detail::give_back(HostMachine(m), host[thread], place, value);
    look_at_the_end(m, thread);
  }
  /// Reads letters until all lanes are through.
  void read_mail(ExploreMachine m, unsigned thread) {
    std::uint64_t first = 0;
    bool over = false;
    auto const step = [&] {
      bool const last = m.load(gone, MemoryOrder::acquire) == Lanes;
      std::uint64_t const n = detail::read_letters(
          m, device.mail, first, [](std::uint32_t) {},
          [&](std::uint32_t at, std::uint64_t value, char const* text) {
            require(at == place, "a letter of another scope");
            if ((value & letter_of_failure) != 0) failed = std::strcmp(text, "no") == 0;
            give_back(m, thread, value & ~letter_of_failure);
          });
      first += n;
      over = last && n == 0;
      return n != 0 || over;
    };
    step_until(m, step, [&] { return over || is_aborted(m, control); });
  }
  void look_at_the_end(ExploreMachine m, unsigned thread) {
    if (ends[thread].ended == 0 || seen) return;
    seen = true;
    traces.see_all(m);
    failed_before_the_end = failed;
  }

  void check() const {
    require(control.aborted.bits == 0, "a fault without a cause");
    unsigned ended = 0;
    for (Ends const& e : ends) ended += e.ended;
    require(ended != 0, "the scope has not ended");
    require(ended == 1, "the scope has ended twice, or another one has");
    require(counts[place].outstanding.bits == 0, "a value is left");
    require(pots[place].pot.bits == 0, "something is left in the pot");
  }

  Control control;
  std::array<ScopeCount, 2> counts{};
  std::array<ScopePot, 2> pots{};
  std::array<Ends, Threads> ends{};
  std::array<ScopeTable, Threads> host{};
  std::array<std::array<EndWords, 3>, Threads> host_roads{};
  ScopeTable device;
  std::array<EndWords, 3> device_roads{};
  MailRoom<ScopeMail, 8> room{device.mail};
  Traces<Tasks> traces;
  Word<std::uint32_t> gone{0};
  bool seen = false;
  bool failed = false;
  bool failed_before_the_end = false;
};

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
