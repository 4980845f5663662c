// What the lanes of a monitor find side by side: the committed run ends at the first slot that is not committed.
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Of four tickets, one is claimed and not committed.
template <unsigned Hole>
struct OneHole {
  static constexpr std::array warps = {3u};
  OneHole() {
    for (unsigned ticket = 0; ticket < 4; ++ticket)
      outbox.turns[ticket].bits = ticket == Hole ? outbox.ring.free_turn(ticket) : outbox.ring.full_turn(ticket);
  }
  void run(unsigned, ExploreMachine m) {
    require(committed_prefix(m, outbox.ring, 0) == Hole, "the prefix does not end at its hole");
  }
  void check() const {}
  SmallRing outbox{4, RingPart::outbox};
};
TEST(ExplorePrefix, EndsAtAHoleOfTheFirstLane) { expect_no_failure<OneHole<0>>(); }
TEST(ExplorePrefix, EndsAtAHoleOfALaterLane) { expect_no_failure<OneHole<1>>(); }
TEST(ExplorePrefix, EndsAtAHoleOfTheNextRound) { expect_no_failure<OneHole<3>>(); }
TEST(ExplorePrefix, IsAWholeLapWithoutAHole) { expect_no_failure<OneHole<4>>(); }

}  // namespace
