// Hands (outlet/hand.hpp) under every schedule: each item once, whether its hand's owner gets it or another reader
// takes it; a tunnel's only reader gets each writer's in order; an end that is neither early nor missed.
#include "hiway/outlet/hand.hpp"

#include <array>
#include <optional>
#include <utility>

#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// What a reader does in the task of the first item.
enum class First : std::uint8_t { nothing, awaits_the_second, aborts };

/// One writer, the check, and `Readers` whose hands hold `Most` items.
template <unsigned Readers, unsigned Each, First Does = First::nothing, unsigned Most = 2>
struct Hands {
  static constexpr auto warps = [] {
    std::array<unsigned, 2 + Readers> lanes{};
    lanes.fill(1);
    return lanes;
  }();

  Hands() : tunnel({.capacity = Most}) {
    for (unsigned r = 0; r < Readers; ++r) {
      Hand& hand = hands[r].emplace(sizeof(Torn), Most);
      if (Readers > 1) hand.share(r == 0 ? nullptr : &*hands[r - 1], t.outlets[r].got);
      hand.reset();
      while (hand.length() < Most) hand.claimed(hand.length());
    }
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      for (unsigned i = 0; i < Each && !is_aborted(m, tunnel.control); ++i) t.put(m, 0, ledger.item(0, i));
      t.close(m, 0);
    } else if (warp == 1) {
      tunnel.check_to_the_end(m);
    } else {
      read(m, warp - 2);
    }
  }

  void read(ExploreMachine m, unsigned reader) {
    OutletView const v = t.outlet(reader);
    std::array<std::uint32_t, 1> last{};
    for (unsigned misses = 0; !is_aborted(m, tunnel.control);) {
      std::uint32_t x = 0;
      if (get(m, v, reader, x)) {
        if (Readers > 1) last = {};  // of several readers one may get earlier items that another has held
        ledger.got(x, last);
        work(m, x);
        require(t.end.ended.bits == 0, "an end before the last task was ended");
        t.end_task(m, reader);
        misses = 0;
      } else if (m.load(t.end.ended, MemoryOrder::acquire) != 0) {
        return;
      } else {
        m.relax(misses++);
      }
    }
  }
  void work(ExploreMachine m, std::uint32_t item) {
    if (item != 0 || Does == First::nothing) return;
    if (Does == First::aborts) return m.store(tunnel.control.aborted, 1u, MemoryOrder::release);
    for (unsigned misses = 0; !ledger.seen[1]; ++misses) m.relax(misses);
  }
  bool get(ExploreMachine m, OutletView const& v, unsigned reader, std::uint32_t& x) {
    Hand& hand = *hands[reader];
    if (Hand::Items const item = hand.next(m); item.count != 0) {
      ReadTorn{m, x}(item.first);
      return true;
    }
    if (hand.may_fill(m) ? fill(m, v, hand, x) : t.try_get(m, reader, x)) return true;
    if (!hand.is_shared()) return false;
    auto const read_one = [&](std::byte const* item, std::uint32_t, std::uint32_t) { ReadTorn{m, x}(item); };
    // Two looks, which are not made at every step: a wait of the explorer ends only when another lane writes.
    unsigned steps = 0;
    while (hand.take_from_others(m, 1, read_one) == 0) {
      if (++steps == 2 * Hand::between_looks) return false;
    }
    m.fetch_add(v.ports->got, std::uint64_t{1}, MemoryOrder::relaxed);
    return true;
  }
  bool fill(ExploreMachine m, OutletView const& v, Hand& hand, std::uint32_t& x) {
    Run const run = claim_get_run(m, v.ring, hand.length(), &v.ports->got, Credit::early);
    if (run.count == 0) return false;
    finish_get_run(m, v.ring, run, tunnel.control, [&](std::byte const* slot, std::uint32_t i, std::uint32_t n) {
      for (std::uint32_t k = 0; k < n; ++k) {
        std::uint32_t item = 0;
        ReadTorn{m, item}(slot + k * sizeof(Torn));
        WriteTorn{m, item}(hand.room() + (i + k) * sizeof(Torn));
      }
    });
    hand.fill(m, run.count);
    ReadTorn{m, x}(hand.room());
    return true;
  }

  void check() const {
    if (Does == First::aborts) return;
    tunnel.require_end(Each);
    ledger.check();
    std::uint64_t got = 0;
    for (OutletPort const& port : t.outlets) got += port.got.bits;
    require(got == Each, "gets are counted more than once");
  }

  CheckedTunnel tunnel;
  LocalTunnel& t = tunnel.t;
  std::array<std::optional<Hand>, Readers> hands;
  Ledger<1, Each> ledger;
};

/// A hand's items without a tunnel: their owner fills `Runs` runs of three, and `Others` take from them.
template <unsigned Others, unsigned Runs, bool Opens = true>
struct RunsOfThree {
  static constexpr auto warps = [] {
    std::array<unsigned, 1 + Others> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  static constexpr unsigned longest = 3;

  RunsOfThree() { items.reset(Opens); }
  void run(unsigned warp, ExploreMachine m) { warp == 0 ? own(m) : take(m); }

  void own(ExploreMachine m) {
    for (unsigned r = 0; r < Runs; ++r) {
      for (unsigned misses = 0; !items.may_fill(m); ++misses) m.relax(misses);
      for (unsigned i = 0; i < longest; ++i) WriteTorn{m, longest * r + i}(items.room() + i * sizeof(Torn));
      items.fill(m, longest);
      note(m, items.room());
      // One run by one call, the next by several.
      if (r % 2 == 0) items.take_each(m, [&](std::byte const* item) { note(m, item); });
      for (ItemsInRow row = items.take(m, 2); row.count != 0; row = items.take(m, 1)) {
        for (unsigned i = 0; i < row.count; ++i) note(m, row.first + i * sizeof(Torn));
      }
    }
    m.store(over, 1u, MemoryOrder::release);
  }
  void take(ExploreMachine m) {
    for (unsigned misses = 0; m.load(over, MemoryOrder::acquire) == 0;) {
      ItemsInRow const row = items.take_from_owner(m, 1);
      if (row.count == 0) {
        m.relax(misses++);
        continue;
      }
      misses = 0;
      note(m, row.first);
      items.read(m);
    }
  }
  void note(ExploreMachine m, std::byte const* item) {
    std::uint32_t x = 0;
    ReadTorn{m, x}(item);
    require(x < seen.size() && !std::exchange(seen[x], true), "an item was taken twice");
  }

  void check() const {
    for (bool const one : seen) require(one, "an item was lost");
  }

  HeldItems items{sizeof(Torn), longest};
  Word<std::uint32_t> over{0};
  std::array<bool, Runs * longest> seen{};
};

TEST(ExploreHeldItems, OwnerAndAnotherTakeEachOnce) { expect_no_failure<RunsOfThree<1, 2>>(); }
TEST(ExploreHeldItems, OwnerAndTwoOthersTakeEachOnce) { expect_no_failure<RunsOfThree<2, 2>>(); }
TEST(ExploreHeldItems, WithoutFencesOfAllThreadsRunsAreNeverOpen) { expect_no_failure<RunsOfThree<2, 2, false>>(); }

TEST(ExploreHand, TheOnlyReaderGetsItemsInOrder) { expect_no_failure<Hands<1, 4>>(); }
TEST(ExploreHand, TwoReadersTakeEachItemOnce) { expect_no_failure<Hands<2, 3>>(); }
TEST(ExploreHand, AHandIsFilledAgainAfterAnotherTookFromIt) { expect_no_failure<Hands<2, 5>>(); }
TEST(ExploreHand, ALongerRunIsTakenOnce) { expect_no_failure<Hands<2, 5, First::nothing, 4>>(); }
TEST(ExploreHand, ABodyMayWaitForAnItemInItsOwnHand) { expect_no_failure<Hands<2, 3, First::awaits_the_second>>(); }
TEST(ExploreHand, AnAbortLeavesNobodyWaiting) { expect_no_failure<Hands<2, 4, First::aborts>>(); }

}  // namespace
