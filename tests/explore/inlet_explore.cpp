// Puts that are refused or can never be served, closes, and lanes that put into different tunnels.
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Puts once, alone; the put must be refused with a fault.
template <FaultKind Expected>
struct RefusedPut {
  static constexpr std::array warps = {1u};
  void run(unsigned, ExploreMachine m) {
    InletView v = a.inlet(0);
    prepare(m, v);
    detail::put(m, v, WriteTorn{m, 7});
    throw Failure{"a put that must be refused returned"};
  }
  void prepare(ExploreMachine m, InletView& v) {
    switch (Expected) {
      case FaultKind::put_after_close: detail::close(m, v); break;
      case FaultKind::put_after_end:  // of an outbox whose credit is not home: no ticket for anybody
        a.end.closed.bits = 1;
        a.ring.words.free.bits = 0;
        break;
      case FaultKind::tunnel_full:
        a.ring.words.free.bits = 0;
        v.when_full = WhenFull::fail;
        break;
      default: a.ring.words.free.bits = 0; v.spill = &pool.ring;
    }
  }
  void check() const {
    require(control.record.kind == Expected, "another fault");
    require(a.ring.turns[0].bits == 0, "a refused put is visible");
  }
  Control control;
  LocalTunnel a{control, 1};
  SmallRing pool{1, RingPart::inbox};  // no credit: it is full
};
TEST(ExploreInlet, APutAfterTheCloseIsRefused) { expect_no_failure<RefusedPut<FaultKind::put_after_close>>(); }
TEST(ExploreInlet, APutThatFindsNoRoomAfterTheEndIsRefused) {
  expect_no_failure<RefusedPut<FaultKind::put_after_end>>();
}
TEST(ExploreInlet, APutThatFindsNoRoomInTheSpillPoolIsRefused) {
  expect_no_failure<RefusedPut<FaultKind::spill_exhausted>>();
}
TEST(ExploreInlet, APutThatFindsNoRoomIsRefusedWhereItIsToFail) {
  expect_no_failure<RefusedPut<FaultKind::tunnel_full>>();
}

/// A lane that closes again does not close for its sibling.
struct ClosesTwice {
  static constexpr std::array warps = {2u};
  void run(unsigned, ExploreMachine m) {
    InletView const v = a.inlet(0);
    if (m.lane() == 0) {
      detail::close(m, v);
      detail::close(m, v);
      bool const closed = m.load(a.closed, MemoryOrder::acquire) != 0;
      require(!closed || m.load(sibling_closes, MemoryOrder::relaxed) != 0, "closed while a lane may put");
    } else {
      m.store(sibling_closes, 1u, MemoryOrder::relaxed);
      detail::close(m, v);
    }
  }
  void check() const { require(a.closed.bits == 1, "the block was not counted once"); }
  Control control;
  LocalTunnel a{control, 1};
  Word<std::uint32_t> sibling_closes{0};
};
TEST(ExploreInlet, ALaneThatClosesTwiceClosesForItselfOnly) { expect_no_failure<ClosesTwice>(); }

/// Lanes that stand at the same put of different tunnels share no claim.
struct EachItsOwn {
  static constexpr std::array warps = {3u};
  void run(unsigned, ExploreMachine m) {
    LocalTunnel& mine = m.lane() == 1 ? b : a;
    mine.put(m, 0, m.lane());
  }
  void check() const {
    require(a.ring.words.claimed.bits == 2 && b.ring.words.claimed.bits == 1, "an item is in another tunnel");
    require(b.ring.items[0].value == 1, "another item");
  }
  Control control;
  LocalTunnel a{control, 2};
  LocalTunnel b{control, 2};
};
TEST(ExploreGrouping, LanesThatPutIntoDifferentTunnelsShareNoClaim) { expect_no_failure<EachItsOwn>(); }

}  // namespace
