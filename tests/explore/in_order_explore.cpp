// A ring whose credit is given in the order of its slots: a granted put never waits for a holder (ring.hpp, I5).
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Two holders of slots put into the same ring before they leave them.
struct HoldersPut {
  static constexpr std::array warps = {1u, 1u};
  HoldersPut() {
    for (std::uint32_t i = 0; i < 2; ++i) {  // full at the start
      r.items[i] = {i, ~i};
      r.turns[i].bits = 1;
    }
    r.words.free.bits = 0;
    r.words.avail.bits = 2;
    r.words.claimed.bits = 2;
  }
  void run(unsigned warp, ExploreMachine m) {
    Run const held = claim_get_run(m, r.ring, 1, nullptr, Credit::late);
    require(held.count == 1, "an item is missing");
    (void)begin_get(m, r.ring, held.first, control);
    if (Run const own = claim_put_run(m, r.ring, 1); own.count != 0)
      commit_put(m, r.ring, own.first, control, WriteTorn{m, warp});
    end_get(m, r.ring, held.first, Credit::late);
  }
  void check() const {
    require(r.words.free.bits + r.words.avail.bits == 2, "credit went astray");
    require(r.words.left.bits == 2, "a slot that was left is not counted");
  }
  SmallRing r{2, RingPart::in_order};
  Control control;
};
TEST(ExploreRing, AHolderOfASlotPutsIntoItsOwnRing) { expect_no_failure<HoldersPut>(); }

}  // namespace
