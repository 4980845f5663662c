// Tagged half-rings under every schedule: who gets looks at the items' own tags; relays tell of what was read.
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// A tunnel across the bus whose items carry tags, as the pipeline lays it; with a drained pool unless `pool_items` is
/// 0.
struct TaggedTunnel : CrossingTunnel {
  TaggedTunnel(Control& writers_home, Control& readers_home, std::uint32_t capacity, std::uint32_t pool_items)
      : CrossingTunnel(writers_home, readers_home, capacity, pool_items), pooled(pool_items != 0) {
    for (Ring* ring : {&writing.ring, &reading.ring, &out.tells.ring, &out.hears.ring, &in.tells.ring, &in.hears.ring,
                       &drain.outbox}) {
      ring->tagged = true;
      ring->items = reinterpret_cast<std::byte*>(slots.data());
      ring->item_bytes = sizeof(TaggedSlot);
      ring->chunk_shift = capacity == 1 ? 0 : 1;
    }
    out.tells.link = in.hears.link = {};
  }
  /// The monitor of one home, until all of `items` were read and their credit has come.
  void monitor_inbox(ExploreMachine m, unsigned items) {
    step_until(
        m, [&] { return hiway::explore::step(m, in); },
        [&] { return m.load(in.tells.to, MemoryOrder::relaxed) == items; });
  }
  void monitor_outbox(ExploreMachine m, unsigned items, Control& control) {
    auto const both = [&] {
      bool const came = pooled && hiway::step(m, drain, control);
      return hiway::explore::step(m, out) || came;
    };
    step_until(m, both, [&] { return m.load(out.hears.to, MemoryOrder::relaxed) == items; });
  }
  std::array<TaggedSlot, 4> slots{};
  bool pooled;
};

/// How items are put: by an item whose size is known, which goes with its tag; by one that is written in its slot.
enum class Way : std::uint8_t { together, in_place };

/// `Puts` warps of `Lanes` lanes put `Each` items a lane, `Gets` warps of `Lanes` lanes get them; one monitor a home.
template <std::uint32_t Capacity, unsigned Puts, unsigned Gets, unsigned Lanes, unsigned Each, Way way = Way::together,
          std::uint32_t Pooled = 0>
struct Tagged {
  static constexpr unsigned total = Puts * Lanes * Each;
  static constexpr unsigned monitors = Puts + Gets;
  static constexpr auto warps = [] {
    std::array<unsigned, monitors + 2> lanes{};
    lanes.fill(Lanes);
    lanes[monitors] = lanes[monitors + 1] = 1;
    return lanes;
  }();
  void run(unsigned warp, ExploreMachine m) {
    if (warp < Puts) return put_all(m, warp);
    if (warp < monitors) return get_all(m, warp - Puts);
    if (warp == monitors) return t.monitor_inbox(m, total);
    t.monitor_outbox(m, total, control);
  }
  void put_all(ExploreMachine m, unsigned warp) {
    unsigned const putter = warp * Lanes + m.lane();
    for (unsigned i = 0; i < Each; ++i) {
      std::uint32_t const item = ledger.item(putter, i);
      if (way == Way::together) {
        t.put(m, warp, item);
      } else {
        detail::put(m.at(putting), t.inlet(warp), [&](std::byte* slot) { WriteTorn{m, item}(slot); });
      }
    }
  }
  void get_all(ExploreMachine m, unsigned reader) {
    typename decltype(ledger)::Last last{};
    ExploreMachine const g = m.at(getting);
    OutletView const v = t.outlet(reader);
    std::uint32_t next = 0;
    get_until(m, got, total, [&] {
      std::uint32_t x = 0;
      if (!detail::get_once(g, v, detail::together(g, v), true, Credit::early, ReadTorn{m, x}, Credits::doubtful,
                            detail::LookIn::all, next))
        return 0u;
      if (Pooled != 0) last = {};
      ledger.got(x, last);
      return 1u;
    });
  }
  void check() const {
    ledger.check();
    require(control.aborted.bits == 0, "a fault that nobody made");
    require(t.inbox.words.taken.bits == total, "tickets of gets went astray");
    require(t.retired.bits == total, "the prefix stopped");
    require(t.outbox.words.given.bits == Capacity + total, "room for puts went astray");
    require(t.outbox.words.claimed.bits == total, "tickets of puts went astray");
    std::uint64_t counted = 0;
    for (OutletPort const& port : t.outlets) counted += port.got.bits;
    require(counted == total, "gets were not counted");
  }

  Control control;
  TaggedTunnel t{control, control, Capacity, Pooled};
  Word<std::uint32_t> got{0};
  Ledger<Puts * Lanes, Each> ledger;
};

TEST(ExploreTags, OneItemAtATimeCrosses) { expect_no_failure<Tagged<1, 1, 1, 1, 3>>(); }
TEST(ExploreTags, TwoWritersFillTwoSlots) { expect_no_failure<Tagged<2, 2, 1, 1, 2>>(); }
TEST(ExploreTags, TwoReadersTakeFromOneSlot) { expect_no_failure<Tagged<1, 1, 2, 1, 3>>(); }
TEST(ExploreTags, TwoReadersTakeFromThree) { expect_no_failure<Tagged<3, 1, 2, 1, 4>>(); }
TEST(ExploreTags, LanesLookSideBySide) { expect_no_failure<Tagged<3, 1, 1, 2, 2>>(); }
TEST(ExploreTags, WarpsLookSideBySide) { expect_no_failure<Tagged<2, 1, 2, 2, 1>>(); }
/// The only warp that reads takes tickets without a CAS, with all of its lanes; by itself a lane needs one.
template <std::uint32_t Capacity, unsigned Lanes, unsigned Each>
struct TaggedAlone : Tagged<Capacity, 1, 1, Lanes, Each> {
  TaggedAlone() { this->t.reading.alone = true; }
};
TEST(ExploreTags, OneWarpReadsAlone) { expect_no_failure<TaggedAlone<2, 1, 3>>(); }
TEST(ExploreTags, LanesOfTheOnlyWarpReadTogetherOrOneByOne) { expect_no_failure<TaggedAlone<3, 2, 2>>(); }
TEST(ExploreTags, ItemsWrittenInPlaceCross) { expect_no_failure<Tagged<2, 2, 1, 1, 2, Way::in_place>>(); }
TEST(ExploreTags, WhatSpilledIsDrainedWithTags) { expect_no_failure<Tagged<1, 2, 1, 1, 2, Way::together, 4>>(); }

/// A reader of runs, as a span or a team's first lane takes them, and writers of runs.
template <std::uint32_t Capacity, unsigned Gets, unsigned Items>
struct TaggedRuns {
  static constexpr auto warps = [] {
    std::array<unsigned, 2 + Gets + 2> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 2) {
      for (unsigned done = 0; done != Items;) {
        Run const run = claim_put_run(m, t.writing.ring, Items - done);
        commit_put_run(m, t.writing.ring, run, control, [&](std::byte* slot, std::uint32_t i, std::uint32_t n) {
          require(n == 1, "slots of tags are no array of items");
          WriteTorn{m, ledger.item(warp, done + i)}(slot);
        });
        done += run.count;
        if (run.count == 0) m.relax(0);
      }
    } else if (warp < 2 + Gets) {
      typename decltype(ledger)::Last last{};
      get_until(m, got, 2 * Items, [&] {
        Run const run = claim_get_run(m, t.reading.ring, 2, nullptr, Credit::early);
        finish_get_run(m, t.reading.ring, run, control, [&](std::byte const* slot, std::uint32_t, std::uint32_t) {
          std::uint32_t x = 0;
          ReadTorn{m, x}(slot);
          ledger.got(x, last);
        });
        return run.count;
      });
    } else if (warp == 2 + Gets) {
      t.monitor_inbox(m, 2 * Items);
    } else {
      t.monitor_outbox(m, 2 * Items, control);
    }
  }
  void check() const { ledger.check(); }

  Control control;
  TaggedTunnel t{control, control, Capacity, 0};
  Word<std::uint32_t> got{0};
  Ledger<2, Items> ledger;
};
TEST(ExploreTags, RunsCross) { expect_no_failure<TaggedRuns<2, 1, 2>>(); }
TEST(ExploreTags, TwoReadersTakeRuns) { expect_no_failure<TaggedRuns<3, 2, 2>>(); }

/// One writer has its ticket before there is room, so that more tickets are out than may be used; the other one tries
/// for runs meanwhile.
struct TicketsAheadOfRoom {
  static constexpr unsigned each = 2;
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      for (unsigned i = 0; i < each; ++i) t.put(m, 0, ledger.item(0, i));
    } else if (warp == 1) {
      for (unsigned done = 0; done != each;) {
        Run const run = claim_put_run(m, t.writing.ring, each - done);
        require(run.count <= 1, "a try has more than there is room for");
        commit_put_run(m, t.writing.ring, run, control, [&](std::byte* slot, std::uint32_t i, std::uint32_t) {
          WriteTorn{m, ledger.item(1, done + i)}(slot);
        });
        done += run.count;
        if (run.count == 0) m.relax(0);
      }
    } else if (warp == 2) {
      decltype(ledger)::Last last{};
      get_until(m, got, 2 * each, [&] {
        std::uint32_t x = 0;
        if (!t.try_get(m, 0, x)) return 0u;
        ledger.got(x, last);
        return 1u;
      });
    } else if (warp == 3) {
      t.monitor_inbox(m, 2 * each);
    } else {
      t.monitor_outbox(m, 2 * each, control);
    }
  }
  void check() const { ledger.check(); }

  Control control;
  TaggedTunnel t{control, control, 1, 0};
  Word<std::uint32_t> got{0};
  Ledger<2, each> ledger;
};
TEST(ExploreTags, ATryTakesNoTicketBehindThoseThatWaitForRoom) { expect_no_failure<TicketsAheadOfRoom>(); }

/// Lanes of a warp put spans, a warp of the other home gets spans.
struct TaggedSpans {
  static constexpr unsigned each = 3;
  static constexpr std::array warps = {2u, 2u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      unsigned const lane = m.lane();
      detail::put_span(m.at(putting), t.inlet(0), each, [&](Several const& some) {
        for (unsigned k = 0; k < some.count; ++k)
          WriteTorn{m, ledger.item(lane, static_cast<unsigned>(some.item(k)))}(some.slot(k));
      });
    } else if (warp == 1) {
      decltype(ledger)::Last last{};
      auto const read = [&](Several const& some) {
        for (unsigned k = 0; k < some.count; ++k) {
          std::uint32_t x = 0;
          ReadTorn{m, x}(some.slot(k));
          ledger.got(x, last);
        }
      };
      get_until(m, got, 2 * each,
                [&] { return detail::get_span(m.at(getting), t.outlet(0), 2, Credits::doubtful, read); });
    } else if (warp == 2) {
      t.monitor_inbox(m, 2 * each);
    } else {
      t.monitor_outbox(m, 2 * each, control);
    }
  }
  void check() const { ledger.check(); }

  Control control;
  TaggedTunnel t{control, control, 3, 0};
  Word<std::uint32_t> got{0};
  Ledger<2, each> ledger;
};
TEST(ExploreTags, SpansOfLanesCross) { expect_no_failure<TaggedSpans>(); }

/// A whole ring whose turns lie in its slots.
template <std::uint32_t Capacity, unsigned Puts, unsigned Gets, unsigned Lanes, unsigned Each, Way way = Way::together>
struct TaggedWhole {
  static constexpr unsigned total = Puts * Lanes * Each;
  static constexpr auto warps = [] {
    std::array<unsigned, Puts + Gets> lanes{};
    lanes.fill(Lanes);
    return lanes;
  }();
  TaggedWhole() { lay_tagged(r.ring, slots); }
  void run(unsigned warp, ExploreMachine m) {
    if (warp < Puts) return put_all(m, warp * Lanes + m.lane());
    typename decltype(ledger)::Last last{};
    get_until(m, got, total, [&] {
      Grant const grant = claim_get(m, r.ring, m.converged(), true, nullptr, Credit::early);
      if (!grant.granted) return 0u;
      std::uint32_t x = 0;
      finish_get(m, r.ring, grant, control, ReadTorn{m, x});
      ledger.got(x, last);
      return 1u;
    });
  }
  void put_all(ExploreMachine m, unsigned putter) {
    for (unsigned i = 0; i < Each;) {
      Grant const grant = claim_put(m, r.ring, m.converged(), true);
      if (!grant.granted) {
        m.relax(0);
        continue;
      }
      WriteTorn const write{m, ledger.item(putter, i++)};
      if (way == Way::together) {
        commit_put(m, r.ring, grant, control, write, [] {});
      } else {
        commit_put(
            m, r.ring, grant, control, [&](std::byte* slot) { write(slot); }, [] {});
      }
    }
  }
  void check() const {
    ledger.check();
    r.check_rest(Capacity, total);
  }

  Control control;
  SmallRing r{Capacity};
  std::array<TaggedSlot, 4> slots{};
  Word<std::uint32_t> got{0};
  Ledger<Puts * Lanes, Each> ledger;
};
/// Who has claimed the item of a put that fails leaves with it.
struct FailedPut : TaggedWhole<1, 1, 1, 1, 1> {
  void run(unsigned warp, ExploreMachine m) {
    Grant grant;
    step_until(
        m,
        [&] {
          leave_if_aborted(m, control);
          grant = warp == 0 ? claim_put(m, r.ring, 1, true) : claim_get(m, r.ring, 1, true, nullptr, Credit::early);
          return false;
        },
        [&] { return grant.granted; });
    std::uint32_t x = 0;
    if (warp == 1) {
      finish_get(m, r.ring, grant, control, ReadTorn{m, x});
    } else {
      commit_put(m, r.ring, grant, control, WriteTorn{m, 1},
                 [&] { raise(m, control, FaultKind::put_after_end, 0, 0, grant.ticket); });
    }
    throw Failure{"a failed put, or a get of its item, returned"};
  }
  void check() const { require(slots[0].tag.bits == 0, "a failed put is visible"); }
};
TEST(ExploreTags, WhoWaitsForAFailedPutLeaves) { expect_no_failure<FailedPut>(); }
TEST(ExploreTags, AWholeRingOfOneSlotHandsItemsOver) { expect_no_failure<TaggedWhole<1, 2, 1, 1, 2>>(); }
TEST(ExploreTags, AWholeRingOfTwoSlotsHandsItemsOver) { expect_no_failure<TaggedWhole<2, 2, 2, 1, 2>>(); }
TEST(ExploreTags, LanesHandItemsOverInAWholeRing) { expect_no_failure<TaggedWhole<3, 1, 1, 2, 2>>(); }
TEST(ExploreTags, ItemsWrittenInPlaceAreReadWithTheirTurns) {
  expect_no_failure<TaggedWhole<2, 2, 1, 1, 2, Way::in_place>>();
}
TEST(ExplorePlanted, AWholeRingWithTagsWhoseReleasesAreRelaxedIsFound) {
  expect_found<Weakened<TaggedWhole<1, 2, 1, 1, 2>, Weaken::releases>>();
}
TEST(ExplorePlanted, AWholeRingWithTagsWhoseAcquiresAreRelaxedIsFound) {
  expect_found<Weakened<TaggedWhole<1, 2, 1, 1, 2>, Weaken::acquires>>();
}

/// A put that comes after the end is refused, though its item may be seen by then.
template <Way way>
struct RefusedTag {
  static constexpr std::array warps = {1u};
  RefusedTag() { t.writers_end.closed.bits = 1; }
  void run(unsigned, ExploreMachine m) {
    if (way == Way::together) {
      t.put(m, 0, 1);
    } else {
      detail::put(m.at(putting), t.inlet(0), [&](std::byte* slot) { WriteTorn{m, 1}(slot); });
    }
    throw Failure{"a put after the end returned"};
  }
  void check() const {
    require(control.record.kind == FaultKind::put_after_end, "another fault");
    if (way == Way::in_place) require(t.slots[0].tag.bits == 0, "a put that is looked at first is visible");
  }
  Control control;
  TaggedTunnel t{control, control, 1, 0};
};
TEST(ExploreTags, ALatePutFailsTheRun) { expect_no_failure<RefusedTag<Way::together>>(); }
TEST(ExploreTags, ALatePutInPlaceIsNotSeen) { expect_no_failure<RefusedTag<Way::in_place>>(); }

/// The end comes while a lane puts for whose warp another one draws the tickets, and then goes: a put whose ticket the
/// check has not seen is refused.
struct LatePutOfALaneThatDoesNotLead {
  static constexpr std::array warps = {2u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      detail::put_together(m.at(putting), t.inlet(0), m.lanes(), m.lane() == 1, WriteTorn{m, 1});
    } else {  // the check: closed, then created again
      m.store(t.writers_end.closed, 1u, MemoryOrder::relaxed);
      created = m.fetch_add(t.outbox.words.claimed, std::uint64_t{0}, MemoryOrder::acq_rel);
    }
  }
  void check() const {
    require(created == 1 || control.record.kind == FaultKind::put_after_end, "a put is neither seen nor refused");
  }
  Control control;
  TaggedTunnel t{control, control, 1, 0};
  std::uint64_t created = 0;
};
TEST(ExploreTags, ALatePutOfALaneThatDoesNotLeadIsRefused) { expect_no_failure<LatePutOfALaneThatDoesNotLead>(); }

}  // namespace
