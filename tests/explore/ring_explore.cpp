// The ring and its halves under every schedule: each item once, whole, in its producer's order; nobody waits for ever.
#include "hiway/relay.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Producers and consumers at one home, each a CPU thread.
template <unsigned Capacity, unsigned Producers, unsigned Consumers, unsigned Each, Credit When,
          RingPart Part = RingPart::whole>
struct WholeRing {
  static constexpr auto warps = [] {
    std::array<unsigned, Producers + Consumers> lanes{};
    lanes.fill(1);
    return lanes;
  }();

  void run(unsigned warp, ExploreMachine m) {
    if (warp < Producers) {
      for (unsigned i = 0; i < Each; ++i) r.put(m, ledger.item(warp, i), control);
      return;
    }
    std::array<std::uint32_t, Producers> last{};
    get_until(m, got, ledger.total, [&] {
      std::uint32_t x = 0;
      if (!r.try_get(m, x, When, control)) return 0u;
      ledger.got(x, last);
      return 1u;
    });
  }
  void check() const {
    ledger.check();
    r.check_rest(Capacity, ledger.total);
  }

  SmallRing r{Capacity, Part};
  Control control;
  Word<std::uint32_t> got{0};
  Ledger<Producers, Each> ledger;
};

TEST(ExploreRing, OneSlotHandsEveryItemOver) { expect_no_failure<WholeRing<1, 2, 2, 2, Credit::early>>(); }
TEST(ExploreRing, TwoSlotsHandEveryItemOver) { expect_no_failure<WholeRing<2, 2, 2, 2, Credit::early>>(); }
TEST(ExploreRing, ThreeSlotsOfFourHandEveryItemOver) { expect_no_failure<WholeRing<3, 3, 1, 2, Credit::early>>(); }
TEST(ExploreRing, ThreeProducersAndTwoConsumersShareOneSlot) {
  expect_no_failure<WholeRing<1, 3, 2, 1, Credit::early>>();
}
TEST(ExploreRing, LateCreditOfOneSlotHandsEveryItemOver) { expect_no_failure<WholeRing<1, 2, 2, 2, Credit::late>>(); }
TEST(ExploreRing, LateCreditOfTwoSlotsHandsEveryItemOver) { expect_no_failure<WholeRing<2, 3, 2, 1, Credit::late>>(); }
TEST(ExploreRing, CreditInOrderOfOneSlotHandsEveryItemOver) {
  expect_no_failure<WholeRing<1, 2, 2, 2, Credit::late, RingPart::in_order>>();
}
TEST(ExploreRing, CreditInOrderOfTwoSlotsHandsEveryItemOver) {
  expect_no_failure<WholeRing<2, 2, 2, 2, Credit::late, RingPart::in_order>>();
}
TEST(ExploreRing, CreditInOrderOfThreeSlotsOfFourHandsEveryItemOver) {
  expect_no_failure<WholeRing<3, 2, 3, 3, Credit::late, RingPart::in_order>>();
}

TEST(ExplorePlanted, ARingWhoseReleasesAreRelaxedIsFound) {
  expect_found<Weakened<WholeRing<2, 2, 2, 2, Credit::early>, Weaken::releases>>();
}
TEST(ExplorePlanted, ARingWhoseAcquiresAreRelaxedIsFound) {
  expect_found<Weakened<WholeRing<2, 2, 2, 2, Credit::early>, Weaken::acquires>>();
}

}  // namespace
