// Rings whose items are worked on in their slot (ring.hpp I5), under every schedule: a put that was granted waits for
// no holder, and credit is given once for every slot, in whatever order they are left.
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// When each of the getters gives its slot's credit.
enum class Mix : std::uint8_t { all_late, one_early };

/// `Holders` work on an item in its slot for as long as they like; `Producers` put meanwhile.
template <RingPart Part, unsigned Capacity, unsigned Producers, unsigned Holders, unsigned Each, Mix When>
struct Held {
  static constexpr auto warps = [] {
    std::array<unsigned, Producers + Holders> lanes{};
    lanes.fill(1);
    return lanes;
  }();

  void run(unsigned warp, ExploreMachine m) {
    if (warp < Producers) {
      for (unsigned i = 0; i < Each; ++i) put(m, ledger.item(warp, i));
      return;
    }
    Credit const credit = When == Mix::one_early && warp == Producers ? Credit::early : Credit::late;
    std::array<std::uint32_t, Producers> last{};
    get_until(m, got, ledger.total, [&] {
      Grant const grant = claim_get(m, r.ring, m.converged(), true, nullptr, credit);
      if (!grant.granted) return 0u;
      finish_get(m, r.ring, grant.ticket, control, credit, [&](std::byte const* slot) {
        std::uint32_t x = 0;
        ReadTorn{m, x}(slot);
        ledger.got(x, last);
        std::uint32_t still = 0;
        ReadTorn{m, still}(slot);
        require(still == x, "a slot that is held was written");
      });
      return 1u;
    });
  }
  void put(ExploreMachine m, std::uint32_t value) {
    for (unsigned misses = 0;; m.relax(misses++)) {
      Grant const grant = claim_put(m, r.ring, 1, true);
      if (!grant.granted) continue;
      if (Part == RingPart::in_order) {
        require(r.ring.turn(grant.ticket).bits == r.ring.free_turn(grant.ticket),
                "a put was granted a slot that is held");
      }
      return commit_put(m, r.ring, grant.ticket, control, WriteTorn{m, value});
    }
  }
  void check() const {
    ledger.check();
    r.check_rest(Capacity, ledger.total);
    if (Part == RingPart::in_order) require(r.words.left.bits == ledger.total, "a slot that was left is not counted");
  }

  SmallRing r{Capacity, Part};
  Control control;
  Word<std::uint32_t> got{0};
  Ledger<Producers, Each> ledger;
};

TEST(ExploreInOrder, TwoHoldersLeaveTwoSlotsInAnyOrder) {
  expect_no_failure<Held<RingPart::in_order, 2, 1, 2, 4, Mix::all_late>>();
}
TEST(ExploreInOrder, ThreeHoldersLeaveThreeSlotsOfFourInAnyOrder) {
  expect_no_failure<Held<RingPart::in_order, 3, 1, 3, 4, Mix::all_late>>();
}
TEST(ExploreInOrder, TwoProducersShareASlotThatIsHeld) {
  expect_no_failure<Held<RingPart::in_order, 1, 2, 2, 2, Mix::all_late>>();
}
TEST(ExploreInOrder, AnEarlyGetGivesItsCreditInOrderToo) {
  expect_no_failure<Held<RingPart::in_order, 2, 1, 2, 4, Mix::one_early>>();
}
TEST(ExploreInOrder, EarlyAndLateGetsShareAWholeRing) {
  expect_no_failure<Held<RingPart::whole, 2, 2, 2, 2, Mix::one_early>>();
}

/// Two holders put into the ring that they hold slots of, while there is room: an item n makes every item below n, and
/// keeps its slot meanwhile. Without order a put could be granted the slot that its own stage holds, and wait for ever.
struct PutsWhileHolding {
  static constexpr std::array warps = {1u, 1u};
  static constexpr unsigned total = 4;

  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) r.put(m, 2, control);
    for (unsigned misses = 0; m.load(done, MemoryOrder::relaxed) != total;) {
      Grant const grant = claim_get(m, r.ring, m.converged(), true, nullptr, Credit::late);
      if (!grant.granted) {
        m.relax(misses++);
        continue;
      }
      finish_get(m, r.ring, grant.ticket, control, Credit::late, [&](std::byte const* slot) {
        std::uint32_t n = 0;
        ReadTorn{m, n}(slot);
        for (std::uint32_t below = n; below-- != 0;) {
          if (!r.try_put(m, below, control))
            m.fetch_add(done, below == 1 ? 2u : 1u, MemoryOrder::relaxed);  // all it would make
        }
        std::uint32_t still = 0;
        ReadTorn{m, still}(slot);
        require(still == n, "a slot that is held was written");
      });
      m.fetch_add(done, 1u, MemoryOrder::relaxed);
      misses = 0;
    }
  }
  void check() const { r.check_rest(2, r.words.claimed.bits); }

  SmallRing r{2, RingPart::in_order};
  Control control;
  Word<std::uint32_t> done{0};
};
TEST(ExploreInOrder, AHolderPutsIntoItsOwnRingAndWaitsForNobody) { expect_no_failure<PutsWhileHolding>(); }

}  // namespace
