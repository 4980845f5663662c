// A tunnel across the bus: two half-rings, the relays' steps, the drain of a spill pool and the transfer line.
#include <memory>
#include <span>
#include <vector>

#include "hiway/termination.hpp"
#include "monitors/drain.hpp"
#include "monitors/transfer.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Outbox and inbox of one tunnel with the monitors' words between them; `producers` CPU threads, one consumer.
template <unsigned Capacity, unsigned Producers, unsigned Each, unsigned ChunkShift = 0>
struct Across {
  static constexpr unsigned total = Producers * Each;

  explicit Across(Torn* shared_items) : inbox(Capacity, RingPart::inbox, shared_items, ChunkShift) {
    out = {.tells = {outbox.ring, {&published}}, .hears = {outbox.ring, {&retired}}};
    in = {.tells = {inbox.ring, {&retired}}, .hears = {inbox.ring, {&published}}};
  }
  void put_all(ExploreMachine m, unsigned producer) {
    for (unsigned i = 0; i < Each; ++i) outbox.put(m, ledger.item(producer, i), control);
  }
  void get_all(ExploreMachine m) {
    get_all(m, [] { return false; });
  }
  /// `help()` behind each miss.
  template <class Help>
  void get_all(ExploreMachine m, Help&& help) {
    std::array<std::uint32_t, Producers> last{};
    auto const get = [&] {
      std::uint32_t x = 0;
      if (!inbox.try_get(m, x, Credit::early, control)) return 0u;
      ledger.got(x, last);
      return 1u;
    };
    get_until(m, got, total, get, help);
  }
  /// Direct: one array of items.
  void lay_items(Torn* items) {
    for (Ring* ring : {&outbox.ring, &inbox.ring, &out.tells.ring, &out.hears.ring, &in.tells.ring, &in.hears.ring})
      ring->items = reinterpret_cast<std::byte*>(items);
  }
  void check() const {
    ledger.check();
    require(published.bits == total && retired.bits == total, "a prefix stopped");
    require(outbox.words.free.bits == static_cast<std::int32_t>(Capacity), "credit of puts went astray");
    require(inbox.words.avail.bits == 0 && inbox.words.taken.bits == total, "credit of gets went astray");
  }

  SmallRing outbox{Capacity, RingPart::outbox, nullptr, ChunkShift};
  SmallRing inbox;
  Control control;
  Word<std::uint64_t> published{0};
  Word<std::uint64_t> arrived{0};
  Word<std::uint64_t> retired{0};
  Word<std::uint32_t> got{0};
  Relays out;
  Relays in;
  Ledger<Producers, Each> ledger;
};

/// Direct: one array of items. One monitor runs both relays, or each has its own.
template <unsigned Capacity, unsigned Producers, unsigned Each, unsigned Monitors = 2, unsigned ChunkShift = 0,
          unsigned Consumers = 1>
struct Direct {
  static constexpr unsigned first_monitor = Producers + Consumers;
  static constexpr auto warps = [] {
    std::array<unsigned, first_monitor + Monitors> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  void run(unsigned warp, ExploreMachine m) {
    if (warp < Producers) return t.put_all(m, warp);
    if (warp < first_monitor) return t.get_all(m);
    bool const runs_in = Monitors == 1 || warp == first_monitor;
    bool const runs_out = Monitors == 1 || warp == first_monitor + 1;
    step_until(
        m,
        [&] {
          bool const in = runs_in && step(m, t.in);
          bool const out = runs_out && step(m, t.out);
          return in || out;
        },
        [&] { return (runs_out ? t.out.hears : t.in.tells).to.bits == t.total; });
  }
  void check() const { t.check(); }
  std::array<Torn, 4> items{};
  Across<Capacity, Producers, Each, ChunkShift> t{nullptr};
  Direct() { t.lay_items(items.data()); }
};

TEST(ExploreRelay, OneSlotCrossesTheBus) { expect_no_failure<Direct<1, 2, 2>>(); }
TEST(ExploreRelay, TwoSlotsCrossTheBus) { expect_no_failure<Direct<2, 2, 2>>(); }
TEST(ExploreRelay, OneMonitorRelaysBothWays) { expect_no_failure<Direct<2, 1, 3, 1>>(); }
// A consumer may take credit for one item and the ticket of another (I4).
TEST(ExploreRelay, TwoConsumersGetWhatCrosses) { expect_no_failure<Direct<2, 1, 2, 2, 0, 2>>(); }
// Chunks of two slots: a chunk a lap, and two.
TEST(ExploreRelay, AChunkOfTwoSlotsCrossesTheBus) { expect_no_failure<Direct<2, 2, 2, 2, 1>>(); }
TEST(ExploreRelay, AChunkOfTwoSlotsIsReadByTwo) { expect_no_failure<Direct<2, 1, 3, 2, 1, 2>>(); }
TEST(ExploreRelay, ThreeProducersFillChunks) { expect_no_failure<Direct<3, 3, 1, 1, 1>>(); }

/// Direct; at the host whoever puts, or finds nothing to get, does the relays' steps, too (M3).
template <bool HostPuts, unsigned Puts, unsigned Gets, unsigned Each>
struct Helped {
  static constexpr unsigned total = Puts * Each;
  static constexpr auto warps = [] {
    std::array<unsigned, Puts + Gets + 2> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  Helped() { t.lay_items(items.data()); }
  void run(unsigned warp, ExploreMachine m) {
    if (warp < Puts) {
      for (unsigned i = 0; i < Each; ++i) {
        for (unsigned misses = 0; !t.outbox.try_put(m, t.ledger.item(warp, i), t.control); ++misses) {
          if (!HostPuts || !hear_if_free(m, t.out.hears)) m.relax(misses);
        }
        if (HostPuts) tell_if_free(m, t.out.tells);
      }
    } else if (warp < Puts + Gets) {
      t.get_all(m, [&] {
        if (HostPuts) return false;
        tell_if_free(m, t.in.tells);
        return hear_if_free(m, t.in.hears);
      });
    } else if (warp == Puts + Gets) {
      step_until(
          m, [&] { return HostPuts ? step_if_free(m, t.out) : step_if_free(m, t.in); },
          [&] { return over(m, HostPuts ? t.out : t.in); });
    } else {
      step_until(
          m, [&] { return HostPuts ? step(m, t.in) : step(m, t.out); },
          [&] { return over(m, HostPuts ? t.in : t.out); });
    }
  }
  static bool over(ExploreMachine m, Relays& r) {
    return m.load(r.tells.to, MemoryOrder::relaxed) == total && m.load(r.hears.to, MemoryOrder::relaxed) == total;
  }
  void check() const { t.check(); }
  std::array<Torn, 4> items{};
  Across<2, Puts, Each> t{nullptr};
};
TEST(ExploreRelay, WritersOfTheHostHelpItsMonitor) { expect_no_failure<Helped<true, 2, 1, 2>>(); }
TEST(ExploreRelay, ReadersOfTheHostHelpItsMonitor) { expect_no_failure<Helped<false, 1, 2, 3>>(); }

/// Direct, put by the lanes of a warp: one of them takes the credit for all, and counts for all of a chunk.
template <unsigned Lanes, unsigned Capacity, unsigned Each, unsigned ChunkShift>
struct DirectFromAWarp {
  static constexpr unsigned total = Lanes * Each;
  static constexpr std::array warps = {Lanes, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: t.put_all(m, m.lane()); break;
      case 1: t.get_all(m); break;
      case 2:
        step_until(
            m, [&] { return step(m, t.out); }, [&] { return t.out.hears.to.bits == total; });
        break;
      default:
        step_until(
            m, [&] { return step(m, t.in); }, [&] { return t.in.tells.to.bits == total; });
    }
  }
  void check() const { t.check(); }
  std::array<Torn, 4> items{};
  Across<Capacity, Lanes, Each, ChunkShift> t{nullptr};
  DirectFromAWarp() { t.lay_items(items.data()); }
};
TEST(ExploreRelay, AWarpsItemsCrossTheBus) { expect_no_failure<DirectFromAWarp<2, 2, 2, 0>>(); }
TEST(ExploreRelay, AWarpsItemsOfAChunkCrossTheBus) { expect_no_failure<DirectFromAWarp<2, 2, 2, 1>>(); }
TEST(ExploreRelay, AWarpsItemsOfTwoChunksCrossTheBus) { expect_no_failure<DirectFromAWarp<3, 4, 1, 1>>(); }

TEST(ExplorePlanted, RelaysWhoseReleasesAreRelaxedAreFound) {
  expect_found<Weakened<Direct<2, 2, 2>, Weaken::releases>>();
}
TEST(ExplorePlanted, RelaysWhoseAcquiresAreRelaxedAreFound) {
  expect_found<Weakened<Direct<2, 2, 2>, Weaken::acquires>>();
}
TEST(ExplorePlanted, AWarpsPutsWithoutSyncWarpAreFound) {
  expect_found<Weakened<DirectFromAWarp<2, 2, 2, 1>, Weaken::warp_syncs>>();
}

/// A spill pool whose items a drain moves into the outbox; here the consumer gets from the outbox as from a whole ring.
/// The end check counts both, from across.
struct Drained {
  static constexpr std::array warps = {1u, 1u, 2u, 1u, 1u};
  static constexpr unsigned total = 4;
  Drained() {
    table.units = &unit;
    table.unit_count = 1;
    table.terms = terms.data();
    table.gates = &gate;
    table.tunnels = &ends;
    table.host_across = true;
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 2) {
      for (unsigned i = 0; i < 2; ++i) {
        for (unsigned misses = 0;; ++misses) {
          if (ring.try_put(m, ledger.item(warp, i), control) || pool.try_put(m, ledger.item(warp, i), control)) break;
          m.relax(misses);
        }
      }
      m.fetch_add(closed, 1u, MemoryOrder::acq_rel);
    } else if (warp == 2) {
      step_until(
          m, [&] { return step(m, drain, control); },
          [&] { return m.ballot(m.lanes(), m.load(got, MemoryOrder::relaxed) == total) != 0; });
    } else if (warp == 3) {
      for (unsigned misses = 0; m.load(got, MemoryOrder::relaxed) != total;) {
        std::uint32_t x = 0;
        if (ring.try_get(m, x, Credit::early, control)) {
          require(x < total && !seen[x], "an item came twice, or nobody put it");
          require(end.ended.bits == 0, "an end before the last task");
          seen[x] = true;  // spilled items lose their order
          m.fetch_add(got, std::uint64_t{1}, MemoryOrder::acq_rel);
          misses = 0;
        } else {
          m.relax(misses++);
        }
      }
    } else {
      for (unsigned misses = 0; check_round(m, table, control) != CheckResult::ended; ++misses) {
        require(control.aborted.bits == 0, "a fault that nobody made");
        m.relax(misses);
      }
    }
  }
  void check() const {
    for (bool const s : seen) require(s, "an item was lost");
    require(drained.bits == pool.words.claimed.bits, "the drain's count is not what it moved");
    ring.check_rest(1, total);
    pool.check_rest(2, drained.bits);
  }
  SmallRing ring{1};
  SmallRing pool{2};
  Control control;
  Word<std::uint64_t> got{0};
  Word<std::uint64_t> drained{0};
  Word<std::uint32_t> closed{0};
  Drain drain{.pool = pool.ring, .outbox = ring.ring, .drained = &drained};
  EndWords end;
  std::array<SumTerm, 4> terms{SumTerm{&drained, 1, 0, true}, SumTerm{&got, 1, 0, true},
                               SumTerm{&ring.words.claimed, 1, 0, true}, SumTerm{&pool.words.claimed, 1, 0, true}};
  CountGate gate{&closed, 2, true};
  TunnelEnds ends{&end, nullptr, nullptr};
  UnitRecord unit{
      .finished = {0, 2}, .created = {2, 4}, .gates = {0, 1}, .upstream = {}, .readers = {}, .tunnels = {0, 1}};
  TerminationTable table;
  Ledger<2, 2> ledger;
  std::array<bool, total> seen{};
};
TEST(ExploreRelay, ADrainMovesEveryItemAndCountsIt) { expect_no_failure<Drained>(); }

// ---- the transfer line, on a copy engine that is a fiber of its own: the strategy chooses when what it has done is
// seen

/// Copies half an item at a time; then sets the submission's words. Its orders: a submission sees what its submitter
/// saw, words follow the copies before them, and who sees a submission completed sees its copies.
class EngineStream final : public CopyStream {
 public:
  std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) override {
    require(submissions_.size() - done_.bits < most_under_way, "too many submissions are under way");
    submissions_.push_back({{copies.begin(), copies.end()}, {words.begin(), words.end()}});
    ExploreMachine{}.store(submitted_, std::uint64_t{submissions_.size()}, MemoryOrder::release);
    return submissions_.size();
  }
  std::uint64_t completed() override { return ExploreMachine{}.load(done_, MemoryOrder::acquire); }

  /// The engine's next submission, if there is one.
  bool work(ExploreMachine m) {
    if (done_.bits == m.load(submitted_, MemoryOrder::acquire)) return false;
    Submission const s = submissions_[static_cast<std::size_t>(done_.bits)];
    constexpr std::size_t piece = sizeof(Torn) / 2;
    for (Copy const& c : s.copies) {
      for (std::size_t at = 0; at < c.bytes; at += piece) {
        m.point();
        std::byte const* const source = static_cast<std::byte const*>(c.source) + at;
        std::byte* const target = static_cast<std::byte*>(c.target) + at;
        if (at % sizeof(Torn) == 0) {
          m.reads(source);
          m.writes(target);
        }
        std::memcpy(target, source, piece);
      }
    }
    for (WordCopy const& w : s.words) m.store(*w.word, w.value, MemoryOrder::release);
    m.fetch_add(done_, std::uint64_t{1}, MemoryOrder::release);
    return true;
  }

 private:
  struct Submission {
    std::vector<Copy> copies;
    std::vector<WordCopy> words;
  };
  std::vector<Submission> submissions_;
  Word<std::uint64_t> submitted_{0};
  Word<std::uint64_t> done_{0};
};

/// Movement::dma: outbox, line, engine, inbox. No batch leaves by age: what the clock says decides nothing.
template <BusDirection Way, unsigned Batch>
struct Dma {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u};
  static constexpr unsigned total = 4;
  Dma() {
    t.in.hears.link = {&t.arrived};
    TransferLine::Route route;
    route.from_items = t.outbox.ring.items;
    route.to_items = t.inbox.ring.items;
    route.outbox = t.outbox.ring;
    route.published = &t.published;
    route.arrived = &t.arrived;
    route.closing = &closing;
    route.capacity_items = 2;
    route.batch_items = Batch;
    route.flush_after = std::chrono::hours(1);
    auto owned = std::make_unique<EngineStream>();
    engine = owned.get();
    line = std::make_unique<TransferLine>(Way, std::vector<TransferLine::Route>{route}, std::move(owned));
  }
  void run(unsigned warp, ExploreMachine m) {
    auto const everything_is_home = [&] { return m.load(t.retired, MemoryOrder::relaxed) == total; };
    switch (warp) {
      case 0: t.put_all(m, 0); break;
      case 1: t.get_all(m); break;
      case 2:
        step_until(
            m,
            [&] {
              bool const in = step(m, t.in);
              return step(m, t.out) || in;
            },
            [&] { return t.out.hears.to.bits == total; });
        break;
      case 3:
        step_until(
            m, [&] { return line->step(m); }, everything_is_home);
        break;
      default:
        step_until(
            m, [&] { return engine->work(m); }, everything_is_home);
    }
  }
  void check() const { t.check(); }

  Across<2, 1, total> t{nullptr};
  Word<std::uint32_t> closing{0};
  EngineStream* engine = nullptr;
  std::unique_ptr<TransferLine> line;
};
TEST(ExploreTransfer, BatchesToTheDeviceArriveWhole) { expect_no_failure<Dma<BusDirection::to_device, 1>>(); }
TEST(ExploreTransfer, BatchesFromTheDeviceArriveWhole) { expect_no_failure<Dma<BusDirection::from_device, 1>>(); }
TEST(ExploreTransfer, BatchesOfTwoArriveWhole) { expect_no_failure<Dma<BusDirection::to_device, 2>>(); }

}  // namespace
