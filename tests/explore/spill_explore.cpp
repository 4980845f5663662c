// Spill pools behind put under every schedule: nobody waits, nothing is lost, and the end counts what lies in a pool.
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// One slot and a pool of two.
struct Pooled : CheckedTunnel {
  explicit Pooled(std::uint32_t writers, RingPart part = RingPart::whole)
      : CheckedTunnel({.capacity = 1, .pooled = 2, .writers = writers, .part = part}) {}
};

/// Two writers, two readers that look into the ring and then into the pool; room for all.
struct TwoAndTwo : Pooled {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u};
  TwoAndTwo() : Pooled(2) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 2) {
      if (warp == 0) t.put(m, 0, 2);
      t.put(m, warp, warp);
      t.close(m, warp);
    } else if (warp == 2) {
      check_to_the_end(m);
    } else {
      t.read(m, warp - 3, [&](std::uint32_t x) {
        require(x < 3 && !seen[x], "an item came twice, or nobody put it");
        seen[x] = true;
      });
    }
  }
  void check() const {
    for (bool const s : seen) require(s, "an item was lost");
    require_end(3);
  }
  std::array<bool, 3> seen{};
};
TEST(ExploreSpill, RingAndPoolHandEveryItemOver) { expect_no_failure<TwoAndTwo>(); }

/// A stage of two threads feeds itself: an item n makes every item below n. At most three are in the tunnel at a time.
struct SelfFed : Pooled {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  SelfFed() : Pooled(1) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      t.put(m, 0, 2);
      t.close(m, 0);
    } else if (warp == 1) {
      check_to_the_end(m);
    } else {
      t.read(m, warp - 2, [&](std::uint32_t n) {
        while (n-- != 0) t.put(m, 1, n);
      });
    }
  }
  void check() const { require_end(4); }
};
TEST(ExploreSpill, ACycleOfOneSlotAndAPoolEnds) { expect_no_failure<SelfFed>(); }

/// A stage that holds the only slot of an in-order ring while it puts into it: the pool takes what it makes.
struct HeldSlot : Pooled {
  static constexpr std::array warps = {1u, 1u, 1u};
  HeldSlot() : Pooled(1, RingPart::in_order) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      t.put(m, 0, 2);
      t.close(m, 0);
    } else if (warp == 1) {
      check_to_the_end(m);
    } else {
      OutletView const v = t.outlet(0);
      for (unsigned misses = 0; !detail::tunnel_ended(m, v);) {
        bool const got = detail::get_once(m, v, 1, true, Credit::late, [&](std::byte const* slot) {
          std::uint32_t n = 0;
          ReadTorn{m, n}(slot);
          for (std::uint32_t below = n; below-- != 0;) t.put(m, 1, below);
          std::uint32_t still = 0;
          ReadTorn{m, still}(slot);
          require(still == n, "a slot that is held was written");
        });
        if (got) {
          t.end_task(m, 0);
          misses = 0;
        } else {
          m.relax(misses++);
        }
      }
    }
  }
  void check() const { require_end(4); }
};
TEST(ExploreSpill, AHolderOfTheOnlySlotPutsIntoThePool) { expect_no_failure<HeldSlot>(); }

/// Four items, room for three: nobody gets, so the fourth put is a fault; with a reader it is one or none, never a loss.
template <unsigned Readers>
struct Exhausted : Pooled {
  static constexpr auto warps = [] {
    std::array<unsigned, 3 + Readers> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  Exhausted() : Pooled(2) {}
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 2) {
      for (unsigned i = 0; i < 2; ++i) t.put(m, warp, i);
      t.close(m, warp);
    } else if (warp == 2) {
      check_to_the_end(m);
    } else {
      t.read(m, 0, [](std::uint32_t) {});
    }
  }
  void check() const {
    if (Readers != 0 && control.aborted.bits == 0) return require_end(4);
    require(control.aborted.bits == 1 && control.ready.bits == 1, "no fault");
    require(control.record.kind == FaultKind::spill_exhausted, "another fault");
    require(t.tickets() >= 3, "exhausted while there was room");
    require(result == CheckResult::faulted, "an end in spite of a fault");
  }
};
TEST(ExploreSpill, APutIntoAFullPoolIsAFault) { expect_no_failure<Exhausted<0>>(); }
TEST(ExploreSpill, AFullPoolThatIsReadLosesNothing) { expect_no_failure<Exhausted<1>>(); }

/// A tunnel across the bus spills at its writers' home; a monitor drains the pool into the outbox while the
/// check runs.
struct DrainedAcross {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  static constexpr unsigned total = 2;
  DrainedAcross() {
    table.add({.finished = {t.finished(), t.moved()},
               .created = {t.created(), t.spilled()},
               .gates = {t.closed_by(1)},
               .tunnels = {{&t.writers_end, nullptr, nullptr}, {&t.readers_end, nullptr, nullptr}}});
  }
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0:
        for (unsigned i = 0; i < total; ++i) t.put(m, 0, i);
        t.close(m, 0);
        break;
      case 1: result = check_to_the_end(m, table.table, control); break;
      case 2:
        for (unsigned misses = 0; !detail::tunnel_ended(m, t.reading);) {
          bool moved = step(m, t.in);
          moved = step(m, t.out) || moved;
          if (step(m, t.drain, control) || moved) {
            misses = 0;
          } else {
            m.relax(misses++);
          }
        }
        break;
      default:
        t.read(m, 0, [&](std::uint32_t x) {
          require(x < total && !seen[x], "an item came twice, or nobody put it");
          seen[x] = true;
        });
    }
  }
  void check() const {
    for (bool const s : seen) require(s, "an item was lost");
    require(control.aborted.bits == 0 && result == CheckResult::ended, "no end");
    require(t.drained.bits == t.pool.words.claimed.bits, "the drain's count is not what it moved");
    require(t.outbox.words.claimed.bits == total, "a ticket too many");
  }
  Control control;
  CrossingTunnel t{control, control, 1, 2};
  CheckTable table;
  CheckResult result = CheckResult::open;
  std::array<bool, total> seen{};
};
TEST(ExploreSpill, ADrainAcrossTheBusIsCountedByTheCheck) { expect_no_failure<DrainedAcross>(); }

}  // namespace
