// The end check over two devices: the checker at one home, its delegate at the other, words between them.
#include "monitors/delegate.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

// A question's parts do not touch, for any unit.
static_assert(AskedWord::unit(AskedWord::pack(1, Question::end, no_id)) == no_id);
static_assert(AskedWord::what(AskedWord::pack(0, Question::close, no_id)) == Question::close);
static_assert(AskedWord::number(AskedWord::pack(0, Question::end, no_id)) == 0);
static_assert(AnswerWord::sum(AnswerWord::pack(1, ~std::uint64_t{0} >> 1)) == ~std::uint64_t{0} >> 1);

/// The checker and its delegate, which is asked everything of each unit; and the host.
struct Asking {
  static constexpr std::uint8_t everything = 15;
  static constexpr std::uint8_t finished_and_end = 9;
  void connect() {
    asks.assign(checker.units.size(), everything);
    news.resize(checker.units.size());
    checker.table.delegates = &words;
    checker.table.delegate_count = 1;
    checker.table.asks = asks.data();
    checker.table.host_aborted = &host.aborted;
    delegate.table.own = words;
    delegate.table.news = news.data();
  }
  Control host;
  CheckTable checker;
  CheckTable delegate;
  Word<std::uint64_t> question{0};
  Word<std::uint64_t> answer{0};
  DelegateWords words{{&question}, {&answer}};
  std::vector<std::uint8_t> asks;
  std::vector<UnitNews> news;
};

/// A cycle over devices A and B: `there` is put at A, by a source and by A's stage, and got at B; `back` the other way
/// round. An item comes back larger by one until it is `Last`. `Lanes`: of the checker and of the delegate. `Across`: A
/// is across the bus from its checker, as the host is.
template <unsigned Last, unsigned Lanes, bool Across = false>
struct Circle : Asking {
  Circle() {
    SumTerm finished = back.finished();
    SumTerm created = there.created();
    finished.across = created.across = Across;
    if constexpr (Lanes == 2) {  // the second lane reads it, the first asks
      created.first = &nothing;
      created.count = 2;
      created.stride = static_cast<std::uint32_t>(reinterpret_cast<std::byte*>(&there.ring.words.claimed) -
                                                  reinterpret_cast<std::byte*>(&nothing));
    }
    checker.add({.finished = {finished},
                 .created = {created},
                 .gates = {there.closed_by(1)},
                 .tunnels = {there.ends(), TunnelEnds{}},
                 .readers = {}});
    checker.add_stage(back.reading_stage(), {0});
    delegate.add({.finished = {there.finished()},
                  .created = {back.created()},
                  .gates = {},
                  .tunnels = {TunnelEnds{}, back.ends()},
                  .readers = {}});
    delegate.add_stage(there.reading_stage(), {0});
    connect();
  }
  void feed(ExploreMachine m) {
    there.put(m, 0, 0);
    there.close(m, 0);
  }
  void turn(ExploreMachine m, LocalTunnel& from, LocalTunnel& to) {
    from.read(m, 0, [&](std::uint32_t x) {
      require(x <= Last && !seen[x], "an item came twice, or nobody put it");
      seen[x] = true;
      if (x < Last) to.put(m, 1, x + 1);
      traces.leave(m, x);
    });
    traces.see_all(m);  // T7, over both homes
  }
  /// Whatever a round's result hangs on, for the whole warp.
  std::uint64_t counts(ExploreMachine m) {
    std::uint64_t sum = m.load(host.aborted, MemoryOrder::relaxed) + m.load(there.closed, MemoryOrder::relaxed);
    for (LocalTunnel* t : {&there, &back}) {
      sum += m.load(t->ring.words.claimed, MemoryOrder::relaxed);
      for (OutletPort& port : t->outlets) sum += m.load(port.finished, MemoryOrder::relaxed);
    }
    return m.shuffle(m.lanes(), sum, 0);
  }
  // Both leave, as their monitors do, when the run aborts. A round of the checker's waits within itself, for answers:
  // it begins again where something has changed since it began, not since it waited last (explorer.hpp S2).
  void check_all(ExploreMachine m) {
    for (;;) {
      std::uint64_t const before = counts(m);
      if (check_round(m, checker.table, at_a) != CheckResult::open) break;
      if (m.ballot(m.lanes(), is_aborted(m, host)) != 0) break;
      for (unsigned misses = 0; counts(m) == before; ++misses) m.relax(misses);
    }
    ++gone;
  }
  void answer_all(ExploreMachine m) {
    for (unsigned misses = 0; delegate_round(m, delegate.table) == CheckResult::open; m.relax(misses++)) {
      if (m.ballot(m.lanes(), is_aborted(m, host)) != 0) break;
    }
    ++gone;
  }
  void require_end() const {
    for (bool const s : seen) require(s, "an item was lost");
    require(there.tasks_ended + back.tasks_ended == Last + 1, "a task was lost");
    require(there.stage_ended.bits == 1 && back.stage_ended.bits == 1, "a stage does not know the end");
    require(there.end.ended.bits == 1 && back.end.ended.bits == 1, "a tunnel has no end");
    require(at_a.aborted.bits == 0 && at_b.aborted.bits == 0, "a fault that nobody made");
  }

  Control at_a;
  Control at_b;
  Word<std::uint64_t> nothing{0};  // lies before what follows
  LocalTunnel there{at_a, 2};
  LocalTunnel back{at_b, 2};
  Traces<Last + 1> traces;
  std::array<bool, Last + 1> seen{};
  unsigned gone = 0;
};

template <unsigned Last, unsigned Lanes = 1, bool Across = false>
struct ToTheEnd : Circle<Last, Lanes, Across> {
  static constexpr std::array warps = {1u, 1u, 1u, Lanes, Lanes};
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: return this->feed(m);
      case 1: return this->turn(m, this->there, this->back);
      case 2: return this->turn(m, this->back, this->there);
      case 3: return this->check_all(m);
      default: return this->answer_all(m);
    }
  }
  void check() const {
    require(this->gone == 2 * Lanes, "checker or delegate has not left");
    this->require_end();
  }
};
TEST(ExploreDelegate, AnItemThatIsHandedOnOnceIsNotLost) { expect_no_failure<ToTheEnd<1>>(); }
TEST(ExploreDelegate, AnItemThatComesBackIsNotLost) { expect_no_failure<ToTheEnd<2>>(); }
TEST(ExploreDelegate, AnItemThatComesBackToTheHostIsNotLost) { expect_no_failure<ToTheEnd<2, 1, true>>(); }
TEST(ExploreDelegate, WarpsCheckAndAnswer) { expect_no_failure<ToTheEnd<1, 2>>(); }
TEST(ExploreDelegate, WarpsCheckTheHostAndAnswer) { expect_no_failure<ToTheEnd<2, 2, true>>(); }

/// Somebody at the delegate's home puts for no task, at any time: the item is worked on, or the put is a fault.
struct LatePut : Circle<0, 1> {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: return feed(m);
      case 1: return turn(m, there, back);
      case 2: back.read(m, 0, [&](std::uint32_t x) { late = x == 7; }); return;
      case 3: return check_all(m);
      case 4: return answer_all(m);
      case 5: back.put(m, 1, 7); return;
      default: return tell_faults(m);
    }
  }
  /// What the monitors and the host do: a fault at one home ends the waits at all.
  void tell_faults(ExploreMachine m) {
    for (unsigned misses = 0; !is_aborted(m, at_a) && !is_aborted(m, at_b); m.relax(misses++)) {
      if (m.load(there.stage_ended, MemoryOrder::acquire) != 0 && m.load(back.stage_ended, MemoryOrder::acquire) != 0)
        return;
    }
    for (Control* control : {&host, &at_a, &at_b}) m.store(control->aborted, 1u, MemoryOrder::release);
  }
  void check() const {
    bool const fault = at_a.ready.bits != 0 || at_b.ready.bits != 0;
    require(late || fault, "a put for no task was lost");
    if (!fault) return;
    FaultKind const kind = (at_b.ready.bits != 0 ? at_b : at_a).record.kind;
    require(kind == FaultKind::put_after_end || kind == FaultKind::put_without_task, "another fault");
  }
  bool late = false;
};
TEST(ExploreDelegate, ALatePutAtTheOtherHomeIsWorkedOnOrNamed) { expect_no_failure<LatePut>(); }

/// The host aborts at any time: whoever waits for an answer leaves.
struct Aborts : Circle<1, 1> {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: return feed(m);
      case 1: return check_all(m);
      case 2: return answer_all(m);
      default: record_fault(m, host, FaultKind::failed, 7, no_id, 0);
    }
  }
  void check() const { require(gone == 2, "checker or delegate has not left"); }
};
TEST(ExploreDelegate, AnAbortEndsTheWaitForAnswers) { expect_no_failure<Aborts>(); }

/// Two lines from A to B, and at either an item that is not worked on; at the second one was. The host aborts at any
/// time, both homes hear of it later. An answer that is taken for another's would end the first.
struct GivesUp : Asking {
  static constexpr std::array warps = {1u, 1u, 1u};
  GivesUp() {
    first.ring.words.claimed.bits = 1;
    second.ring.words.claimed.bits = 2;
    second.outlets[0].finished.bits = 1;
    std::uint32_t unit = 0;
    for (LocalTunnel* t : {&first, &second}) {
      checker.add({.finished = {}, .created = {t->created()}, .gates = {}, .tunnels = {TunnelEnds{}}, .readers = {}});
      delegate.add({.finished = {t->finished()}, .created = {}, .gates = {}, .tunnels = {t->ends()}, .readers = {}});
      delegate.add_stage(t->reading_stage(), {unit++});
    }
    connect();
    asks = {finished_and_end, finished_and_end};
  }
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: return check_all(m);
      case 1: return answer_all(m);
      default:
        record_fault(m, host, FaultKind::failed, 7, no_id, 0);
        for (Control* control : {&at_b, &at_a}) m.store(control->aborted, 1u, MemoryOrder::release);
    }
  }
  void check_all(ExploreMachine m) {
    while (!is_aborted(m, at_a)) {
      bool const aborting = is_aborted(m, host);
      require(check_round(m, checker.table, at_a) != CheckResult::ended, "an end with an item left");
      for (unsigned misses = 0; is_aborted(m, host) == aborting && !is_aborted(m, at_a); ++misses) m.relax(misses);
    }
  }
  void answer_all(ExploreMachine m) {
    for (unsigned misses = 0; !is_aborted(m, at_b); m.relax(misses++)) {
      require(delegate_round(m, delegate.table) == CheckResult::open, "an end with an item left");
    }
  }
  void check() const {
    for (LocalTunnel const* t : {&first, &second})
      require(t->end.ended.bits == 0 && t->stage_ended.bits == 0, "an end with an item left");
    require(at_a.ready.bits == 0, "a fault that nobody made");
  }

  Control at_a;
  Control at_b;
  LocalTunnel first{at_b, 2};
  LocalTunnel second{at_b, 2};
};
TEST(ExploreDelegate, AQuestionThatIsGivenUpHasNoAnswer) { expect_no_failure<GivesUp>(); }

/// Two lines from A to B that end one behind the other: nobody waits for the answer to the first one's end at once.
struct EndsTwo : Asking {
  static constexpr std::array warps = {1u, 1u};
  EndsTwo() {
    std::uint32_t unit = 0;
    for (LocalTunnel* t : {&first, &second}) {
      checker.add({.finished = {}, .created = {t->created()}, .gates = {}, .tunnels = {TunnelEnds{}}, .readers = {}});
      delegate.add({.finished = {t->finished()}, .created = {}, .gates = {}, .tunnels = {t->ends()}, .readers = {}});
      delegate.add_stage(t->reading_stage(), {unit++});
    }
    connect();
    asks = {finished_and_end, finished_and_end};
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      require(check_round(m, checker.table, at_a) == CheckResult::ended, "an end was not found at once");
    } else {
      for (unsigned misses = 0; delegate_round(m, delegate.table) == CheckResult::open;) m.relax(misses++);
    }
  }
  void check() const {
    for (LocalTunnel const* t : {&first, &second})
      require(t->end.ended.bits == 1 && t->stage_ended.bits == 1 && t->end.closed.bits == 0, "an end was not told");
  }
  Control at_a;
  LocalTunnel first{at_a, 2};
  LocalTunnel second{at_a, 2};
};
TEST(ExploreDelegate, AnEndIsToldBeforeTheNextQuestion) { expect_no_failure<EndsTwo>(); }

}  // namespace
