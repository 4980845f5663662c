// Claims that warps of a block share, under every schedule: each item once, whole, in its producer's order; nobody waits
// for ever; the end is told when it is one.
#include <initializer_list>

#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// A lane of warp `warp` of a block that shares `group`. Its ring claims as its handle says; what takes long is chance.
struct BlockMachine : ExploreMachine {
  BlockMachine(ExploreMachine m, BlockGroup& words, unsigned number, unsigned count)
      : ExploreMachine(m), group(&words), warp(number), warps(count) {}
  [[nodiscard]] BlockMachine at(unsigned number) const { return {ExploreMachine::at(number), *group, warp, warps}; }
  BlockGroup* group;
  unsigned warp;
  unsigned warps;

  static constexpr bool shares_blocks = true;
  [[nodiscard]] ExploreMachine in_block() const { return *this; }
  template <class T>
  T& block_room() const {
    return *group;
  }
  [[nodiscard]] std::uint32_t cycles() const { return Explorer::here().choose(2) == 0 ? 0 : 80'000; }
  [[nodiscard]] unsigned thread_in_block() const { return 32 * warp + lane(); }
  [[nodiscard]] unsigned block_threads() const { return 32 * warps; }
};

/// A block's words, and a ring that is claimed at as `How` says by who has a control, and alone by who has none.
template <Grouping How>
struct SharedRing : SmallRing {
  explicit SharedRing(std::uint32_t capacity) : SmallRing(capacity) { ring.grouping = How; }

  template <class Machine>
  void put_shared(Machine m, std::uint32_t value, Control& control) {
    for (unsigned misses = 0;; ++misses) {
      Grant const grant = claim_put(m, ring, m.converged(), true, after_misses(misses), &control);
      if (grant.granted) return commit_put(m, ring, grant.ticket, control, WriteTorn{m, value});
      leave_if_aborted(m, control);
      m.relax(misses);
    }
  }
  template <class Machine>
  std::uint32_t get_shared(Machine m, Control& control, Word<std::uint64_t>* tally) {
    for (unsigned misses = 0;; ++misses) {
      Grant const grant = claim_get(m, ring, m.converged(), true, tally, Credit::early, after_misses(misses), &control);
      if (grant.granted) {
        std::uint32_t value = 0;
        finish_get(m, ring, grant.ticket, control, Credit::early, ReadTorn{m, value});
        return value;
      }
      leave_if_aborted(m, control);
      m.relax(misses);
    }
  }
};

/// Lanes of each warp: the block's, then one CPU thread.
template <unsigned Warps, unsigned Lanes>
constexpr auto block_and_thread = [] {
  std::array<unsigned, Warps + 1> lanes{};
  lanes.fill(Lanes);
  lanes[Warps] = 1;
  return lanes;
}();

/// A block puts, a CPU thread gets.
template <Grouping How, unsigned Warps, unsigned Lanes, unsigned Each, unsigned Capacity>
struct BlockPuts {
  static constexpr auto warps = block_and_thread<Warps, Lanes>;
  static constexpr unsigned lanes_in_all = Warps * Lanes;

  void run(unsigned warp, ExploreMachine plain) {
    if (warp == Warps) {
      std::array<std::uint32_t, lanes_in_all> last{};
      for (unsigned i = 0; i < ledger.total; ++i) ledger.got(r.get_shared(plain, control, nullptr), last);
      return;
    }
    BlockMachine const m{plain, group, warp, Warps};
    for (unsigned i = 0; i < Each; ++i) r.put_shared(m, ledger.item(warp * Lanes + m.lane(), i), control);
  }
  void check() const {
    ledger.check();
    r.check_rest(Capacity, ledger.total);
    for (GroupPlace const& place : group.places)
      require(place.holder.bits == 0 && place.here.bits == 0 && place.pending.bits == 0, "a place was left in use");
  }
  BlockGroup group{};
  SharedRing<How> r{Capacity};
  Control control;
  Ledger<lanes_in_all, Each> ledger;
};
TEST(ExploreBlock, ThreeWarpsPutIntoTwoSlots) { expect_no_failure<BlockPuts<Grouping::block, 3, 1, 1, 2>>(); }
TEST(ExploreBlock, ThreeWarpsPutIntoFourSlots) { expect_no_failure<BlockPuts<Grouping::block, 3, 1, 1, 4>>(); }
TEST(ExploreBlock, TwoWarpsPutTwiceIntoTwoSlots) { expect_no_failure<BlockPuts<Grouping::block, 2, 1, 2, 2>>(); }
TEST(ExploreBlock, LanesOfTwoWarpsPutIntoFourSlots) { expect_no_failure<BlockPuts<Grouping::block, 2, 2, 1, 4>>(); }
TEST(ExploreBlock, LanesOfTwoWarpsPutIntoOneSlot) { expect_no_failure<BlockPuts<Grouping::block, 2, 2, 1, 1>>(); }
TEST(ExploreBlockScan, ThreeWarpsPutIntoTwoSlots) { expect_no_failure<BlockPuts<Grouping::block_scan, 3, 1, 1, 2>>(); }
TEST(ExploreBlockScan, ThreeWarpsPutIntoFourSlots) { expect_no_failure<BlockPuts<Grouping::block_scan, 3, 1, 1, 4>>(); }
TEST(ExploreBlockScan, FourWarpsPutIntoFourSlots) { expect_no_failure<BlockPuts<Grouping::block_scan, 4, 1, 1, 4>>(); }
TEST(ExploreBlockScan, TwoWarpsPutTwiceIntoTwoSlots) {
  expect_no_failure<BlockPuts<Grouping::block_scan, 2, 1, 2, 2>>();
}
TEST(ExploreBlockScan, LanesOfTwoWarpsPutIntoFourSlots) {
  expect_no_failure<BlockPuts<Grouping::block_scan, 2, 2, 1, 4>>();
}
TEST(ExploreBlockAutomatic, TwoWarpsPutTwiceIntoTwoSlots) {
  expect_no_failure<BlockPuts<Grouping::automatic, 2, 1, 2, 2>>();
}
TEST(ExploreBlockAutomatic, ThreeWarpsPutIntoFourSlots) {
  expect_no_failure<BlockPuts<Grouping::automatic, 3, 1, 1, 4>>();
}
TEST(ExploreGrouping, LanesThatShareNoClaimPutIntoOneSlot) {
  expect_no_failure<BlockPuts<Grouping::none, 2, 2, 1, 1>>();
}
/// A warp asks for two slots, then for one, while another warp makes claims for both: who takes the first question for the
/// second gives a slot to nobody.
template <Grouping How>
struct AsksForLess {
  static constexpr std::array warps = {2u, 1u, 1u};
  static constexpr unsigned items = 5;
  void put_together(BlockMachine m, bool need, std::uint32_t value) {
    std::uint32_t const lanes = m.lanes();
    for (unsigned misses = 0;; m.relax(misses++)) {
      Grant const grant = claim_put(m, r.ring, lanes, need, after_misses(misses), &control);
      if (grant.granted) commit_put(m, r.ring, grant.ticket, control, WriteTorn{m, value});
      need = need && !grant.granted;
      if (m.ballot(lanes, need) == 0) return;
    }
  }
  void run(unsigned warp, ExploreMachine plain) {
    if (warp == 2) {
      std::array<std::uint32_t, items> last{};
      for (unsigned i = 0; i < items; ++i) ledger.got(r.get_shared(plain, control, nullptr), last);
      return;
    }
    BlockMachine const m{plain, group, warp, 2};
    if (warp == 1) {
      for (unsigned i = 3; i < items; ++i) put_together(m, true, i);
    } else {
      put_together(m, true, m.lane());
      put_together(m, m.lane() == 0, 2);
    }
  }
  void check() const {
    ledger.check();
    r.check_rest(4, items);
  }
  BlockGroup group{};
  SharedRing<How> r{4};
  Control control;
  Ledger<items, 1> ledger;
};
TEST(ExploreBlock, AWarpAsksForTwoAndThenForOne) { expect_no_failure<AsksForLess<Grouping::block>>(); }
TEST(ExploreBlockScan, AWarpAsksForTwoAndThenForOne) { expect_no_failure<AsksForLess<Grouping::block_scan>>(); }

/// A CPU thread puts, a block gets and counts what it got: as one outlet, or as one for each warp.
template <Grouping How, unsigned Warps, unsigned Lanes, unsigned Each, unsigned Capacity, unsigned Outlets = 1>
struct BlockGets {
  static constexpr auto warps = block_and_thread<Warps, Lanes>;
  static constexpr unsigned total = Warps * Lanes * Each;

  void run(unsigned warp, ExploreMachine plain) {
    if (warp == Warps) {
      for (unsigned i = 0; i < total; ++i) r.put_shared(plain, i, control);
      return;
    }
    BlockMachine const m{plain, group, warp, Warps};
    std::array<std::uint32_t, 1> last{};
    for (unsigned i = 0; i < Each; ++i) ledger.got(r.get_shared(m, control, &tallies[warp % Outlets]), last);
  }
  void check() const {
    ledger.check();
    r.check_rest(Capacity, total);
    for (auto const& tally : tallies) require(tally.bits == total / Outlets, "a get was not counted where it was made");
  }
  BlockGroup group{};
  SharedRing<How> r{Capacity};
  Control control;
  std::array<Word<std::uint64_t>, Outlets> tallies{};
  Ledger<1, total> ledger;
};
TEST(ExploreBlock, ThreeWarpsGetFromTwoSlots) { expect_no_failure<BlockGets<Grouping::block, 3, 1, 1, 2>>(); }
TEST(ExploreBlock, TwoOutletsOfOneTunnelCountTheirOwn) {
  expect_no_failure<BlockGets<Grouping::block, 4, 1, 1, 4, 2>>();
}
TEST(ExploreBlock, LanesOfTwoWarpsGetFromTwoSlots) { expect_no_failure<BlockGets<Grouping::block, 2, 2, 1, 2>>(); }
TEST(ExploreBlockScan, ThreeWarpsGetFromTwoSlots) { expect_no_failure<BlockGets<Grouping::block_scan, 3, 1, 1, 2>>(); }
TEST(ExploreBlockScan, TwoOutletsOfOneTunnelCountTheirOwn) {
  expect_no_failure<BlockGets<Grouping::block_scan, 4, 1, 1, 4, 2>>();
}
TEST(ExploreBlockAutomatic, ThreeWarpsGetFromTwoSlots) {
  expect_no_failure<BlockGets<Grouping::automatic, 3, 1, 1, 2>>();
}

/// Each warp of a block puts one and gets one, at one ring or at two in turn: who holds a place for one ring keeps no warp
/// waiting that claims at the other.
template <Grouping How, unsigned Warps, unsigned Rings, unsigned Each>
struct PutsAndGets {
  static constexpr auto warps = [] {
    std::array<unsigned, Warps> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  void run(unsigned warp, ExploreMachine plain) {
    BlockMachine const m{plain, group, warp, Warps};
    for (unsigned i = 0; i < Each; ++i) {
      unsigned const which = (warp + i) % Rings;
      rings[which].put_shared(m, ledger.item(warp, i), control);
      std::array<std::uint32_t, Warps> last{};
      ledger.got(rings[which].get_shared(m, control, nullptr), last);
    }
  }
  void check() const {
    ledger.check();
    std::uint64_t tickets = 0;
    for (auto const& r : rings) {
      r.check_rest(2, r.words.claimed.bits);
      tickets += r.words.claimed.bits;
    }
    require(tickets == ledger.total, "a claim went to another ring");
  }
  BlockGroup group{};
  std::array<SharedRing<How>, Rings> rings = make();
  Control control;
  Ledger<Warps, Each> ledger;

 private:
  static std::array<SharedRing<How>, Rings> make() {
    if constexpr (Rings == 1) {
      return {SharedRing<How>{2}};
    } else {
      return {SharedRing<How>{2}, SharedRing<How>{2}};
    }
  }
};
TEST(ExploreBlock, ThreeWarpsPutAndGet) { expect_no_failure<PutsAndGets<Grouping::block, 3, 1, 1>>(); }
TEST(ExploreBlock, ThreeWarpsPutAndGetAtTwoRings) { expect_no_failure<PutsAndGets<Grouping::block, 3, 2, 1>>(); }
TEST(ExploreBlock, FourWarpsPutAndGetAtTwoRings) { expect_no_failure<PutsAndGets<Grouping::block, 4, 2, 1>>(); }
TEST(ExploreBlockScan, FourWarpsPutAndGetAtTwoRings) {
  expect_no_failure<PutsAndGets<Grouping::block_scan, 4, 2, 1>>();
}
TEST(ExploreBlockAutomatic, ThreeWarpsPutAndGetAtTwoRings) {
  expect_no_failure<PutsAndGets<Grouping::automatic, 3, 2, 1>>();
}

/// A block works on a tunnel that feeds itself: whoever was served may end its task only after its put has counted (T1),
/// and the end is no sooner.
template <Grouping How, unsigned Warps, RingPart Part = RingPart::whole>
struct SelfFedBlock : CheckedTunnel {
  static constexpr auto warps = [] {
    std::array<unsigned, Warps + 2> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  SelfFedBlock() : CheckedTunnel({.capacity = 4, .part = Part}) {
    t.writing.ring.grouping = t.reading.ring.grouping = How;
  }
  void run(unsigned warp, ExploreMachine plain) {
    if (warp == Warps) {
      t.put(plain, 0, 0);
      t.put(plain, 0, 1);
      t.close(plain, 0);
      return;
    }
    if (warp == Warps + 1) return check_to_the_end(plain);
    BlockMachine const m{plain, group, warp, Warps};
    OutletView const in = t.outlet(0);
    for (unsigned misses = 0;;) {
      std::uint32_t x = 0;
      if (detail::get_once(m, in, 1, true, Credit::early, ReadTorn{m, x}, after_misses(misses))) {
        require(in.end->ended.bits == 0, "an end before the last task has begun");
        if (x < 2) detail::put(m, t.inlet(1), WriteTorn{m, x + 2});
        require(in.end->ended.bits == 0, "an end before the last task was ended");
        ++t.tasks_ended;
        detail::end_tasks(m, in, 1, true);
        misses = 0;
      } else if (detail::tunnel_ended(m, in)) {
        return;
      } else {
        m.relax(misses++);
      }
    }
  }
  void check() const { require_end(4); }
  BlockGroup group{};
};
TEST(ExploreBlock, ATunnelThatFeedsItselfEnds) { expect_no_failure<SelfFedBlock<Grouping::block, 2>>(); }
TEST(ExploreBlockScan, ATunnelThatFeedsItselfEnds) { expect_no_failure<SelfFedBlock<Grouping::block_scan, 2>>(); }

/// Two warps of a block put for no task while the check runs: each item is worked on, or it is a fault; never lost (T5).
template <Grouping How>
struct PutsForNoTask : CheckedTunnel {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  PutsForNoTask() : CheckedTunnel({.capacity = 4, .writers = 0}) { t.writing.ring.grouping = How; }
  void run(unsigned warp, ExploreMachine plain) {
    if (warp == 0) return check_to_the_end(plain);
    if (warp == 1) return t.read(plain, 0, [](std::uint32_t) {});
    BlockMachine const m{plain, group, warp - 2, 2};
    detail::put(m, t.inlet(1), WriteTorn{m, warp});
  }
  void check() const {
    if (control.aborted.bits == 0) return require_end(2);
    FaultKind const kind = control.record.kind;
    require(kind == FaultKind::put_without_task || kind == FaultKind::put_after_end, "another fault");
  }
  BlockGroup group{};
};
TEST(ExploreBlock, PutsForNoTaskAreWorkedOnOrRefused) { expect_no_failure<PutsForNoTask<Grouping::block>>(); }

/// Half-rings: a block puts into an outbox whose slots come back by credit (I4). Who is served has acquired what the
/// credit stands for.
template <Grouping How, unsigned Warps, unsigned Each>
struct BlockOutbox {
  static constexpr auto warps = block_and_thread<Warps, 1>;
  BlockOutbox() { out.ring.grouping = How; }
  void run(unsigned warp, ExploreMachine plain) {
    if (warp == Warps) {  // both monitors and the reader in one
      std::array<std::uint32_t, Warps> last{};
      std::uint64_t at = 0;
      for (unsigned misses = 0; at != ledger.total; plain.relax(misses++)) {
        std::uint64_t const to = done_prefix(plain, out.ring, at);
        for (std::uint64_t ticket = at; ticket != to; ++ticket) {
          std::uint32_t x = 0;
          ReadTorn{plain, x}(out.ring.item(ticket));
          ledger.got(x, last);
        }
        if (to == at) continue;
        give_credit(plain, out.ring, to - at);
        at = to;
      }
      return;
    }
    BlockMachine const m{plain, group, warp, Warps};
    for (unsigned i = 0; i < Each; ++i) {
      Grant grant;
      for (unsigned misses = 0;; m.relax(misses++)) {
        grant = claim_put(m, out.ring, 1, true, after_misses(misses), &control);
        if (grant.granted) break;
      }
      commit_put(m, out.ring, grant.ticket, control, WriteTorn{m, ledger.item(warp, i)});
    }
  }
  void check() const { ledger.check(); }
  BlockGroup group{};
  SmallRing out{2, RingPart::outbox};
  Control control;
  Ledger<Warps, Each> ledger;
};
TEST(ExploreBlock, ABlockPutsIntoAnOutbox) { expect_no_failure<BlockOutbox<Grouping::block, 2, 2>>(); }
TEST(ExploreBlockScan, ABlockPutsIntoAnOutbox) { expect_no_failure<BlockOutbox<Grouping::block_scan, 2, 2>>(); }

/// Warps of a block that leave early, or never come: nobody waits for them.
template <Grouping How>
struct WarpLeaves {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine plain) {
    if (warp == 3) {
      std::array<std::uint32_t, 3> last{};
      for (unsigned i = 0; i < 4; ++i) ledger.got(r.get_shared(plain, control, nullptr), last);
      return;
    }
    BlockMachine const m{plain, group, warp, 3};
    for (unsigned i = 0; i < warp * 2 && i < 2; ++i) r.put_shared(m, ledger.item(warp, i), control);
  }
  void check() const { require(r.words.taken.bits == 4, "an item was lost"); }
  BlockGroup group{};
  SharedRing<How> r{2};
  Control control;
  Ledger<3, 2> ledger;
};
TEST(ExploreBlock, AWarpThatLeavesKeepsNobodyWaiting) { expect_no_failure<WarpLeaves<Grouping::block>>(); }

/// Somebody faults at any time while a block puts into a ring that nobody empties: every lane leaves.
template <Grouping How>
struct BlockAborts {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine plain) {
    if (warp == 3) {
      plain.point();
      return record_fault(plain, control, FaultKind::failed, 7, no_id, 0);
    }
    BlockMachine const m{plain, group, warp, 3};
    for (unsigned i = 0;; ++i) {
      require(i < 2, "more puts than slots");
      r.put_shared(m, i, control);
    }
  }
  void check() const { require(control.aborted.bits == 1, "the fault was lost"); }
  BlockGroup group{};
  SharedRing<How> r{1};
  Control control;
};
TEST(ExploreBlock, AnAbortEndsEveryWait) { expect_no_failure<BlockAborts<Grouping::block>>(); }
TEST(ExploreBlockScan, AnAbortEndsEveryWait) { expect_no_failure<BlockAborts<Grouping::block_scan>>(); }

}  // namespace
