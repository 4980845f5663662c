// Offers (inlet/offer.hpp) under every schedule: two threads share an open inlet and offer while a third closes it.
// Each item that was taken is got once, no offer is refused with a fault, and the tunnel ends, not early.
#include "hiway/inlet/offer.hpp"

#include <array>
#include <optional>

#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// A machine that may offer.
struct OfferingMachine : ExploreMachine {
  struct Role : ExploreMachine::Role {
    static constexpr bool offers_items = true;
  };
  explicit OfferingMachine(ExploreMachine const& m, unsigned thread = 0) : ExploreMachine(m), number(thread) {}
  [[nodiscard]] unsigned thread_number() const { return number; }
  unsigned number;
};

/// With one stripe the clients put through the same, with two each through its own. `Slots`: of its staging; 0: none.
template <std::uint32_t Capacity, unsigned Each, unsigned Stripes = 1, std::uint32_t Slots = 0>
struct OffersAndAClose {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u, 1u};
  OffersAndAClose() {
    t.inlets[0].stripes = stripes.data();
    t.inlets[0].stripe_count = Stripes;
    for (unsigned s = 0; Slots != 0 && s < Stripes; ++s) {
      staged[s].emplace(sizeof(Torn), Slots, &taken[s]).reset(shared());
      stripes[s].staging = &*staged[s];
    }
    SumTerm finished = t.finished();
    SumTerm created = t.created();
    finished.across = created.across = true;  // loads may find an old count, read-modify-writes at home do not
    table.add({.finished = {finished}, .created = {created}, .gates = {t.closed_by(1)}, .tunnels = {t.ends()}});
  }

  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0:
      case 1: offer(m, warp); break;
      case 2: detail::close(OfferingMachine(m), shared()); break;
      case 3: result = explore::check_to_the_end(m, table.table, control); break;
      case 4: tend(m); break;
      default: t.read(m, 0, [&](std::uint32_t) { ++got; });
    }
  }
  /// The monitor.
  void tend(ExploreMachine m) {
    for (unsigned misses = 0; Slots != 0 && m.load(t.closed, MemoryOrder::relaxed) == 0; m.relax(misses++)) {
      for (unsigned s = 0; s < Stripes; ++s) (void)detail::move_staged(m, *staged[s]);
      (void)detail::tend_stripes(m, shared());
    }
  }
  void offer(ExploreMachine m, unsigned client) {
    InletView const v = shared();
    for (unsigned i = 0; i < Each; ++i) {
      Put const put =
          detail::offer_once(OfferingMachine(m, client), v, WriteTorn{m, client * Each + i}, Credits::doubtful);
      require(put != Put::aborted, "an offer aborted");
      if (put == Put::closed) return;
      if (put == Put::done) ++done[client];
    }
  }
  [[nodiscard]] InletView shared() {
    InletView v = t.inlet(0);
    v.open = true;
    return v;
  }
  void check() const {
    require(got == done[0] + done[1], "an item was lost, or came twice");
    require(t.closed.bits == 1, "the inlet is not counted once as closed");
    require(result == CheckResult::ended && control.aborted.bits == 0, "no end");
    require(t.tickets() == got, "a ticket without an item");
    t.check_rest();
  }
  Control control;
  LocalTunnel t{control, Capacity};
  CheckTable table;
  CheckResult result = CheckResult::open;
  std::array<InletStripe, 2> stripes{};
  std::array<Word<std::uint64_t>, 2> taken{};
  std::array<std::optional<Staging>, 2> staged;
  std::array<unsigned, 2> done{};
  unsigned got = 0;
};

/// The same of puts, while a third thread drains.
template <std::uint32_t Capacity, unsigned Each, unsigned Stripes = 1, std::uint32_t Slots = 0>
struct PutsAndADrain : OffersAndAClose<Capacity, Each, Stripes, Slots> {
  using Base = OffersAndAClose<Capacity, Each, Stripes, Slots>;
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0:
      case 1: put(m, warp); break;
      case 2: detail::drain_inlet(OfferingMachine(m), this->shared()); break;
      default: Base::run(warp, m);
    }
  }
  void put(ExploreMachine m, unsigned client) try {
    InletView const v = this->shared();
    OfferingMachine const o(m, client);
    for (unsigned i = 0; i < Each; ++i) {
      if (detail::try_put(o, v, detail::together(o, v), true, WriteTorn{m, client * Each + i})) ++this->done[client];
    }
  } catch (Drained const&) {
  }
};

TEST(ExploreOffer, TwoThreadsOfferWhileAThirdCloses) { expect_no_failure<OffersAndAClose<2, 1>>(); }
TEST(ExploreOffer, TwoThreadsOfferTwiceIntoOneSlot) { expect_no_failure<OffersAndAClose<1, 2>>(); }
TEST(ExploreOffer, TwoThreadsOfferThroughTwoStripes) { expect_no_failure<OffersAndAClose<2, 1, 2>>(); }
TEST(ExploreOffer, TwoThreadsStageWhileAThirdCloses) { expect_no_failure<OffersAndAClose<2, 2, 1, 2>>(); }
TEST(ExploreOffer, TwoThreadsStageThroughTwoStripes) { expect_no_failure<OffersAndAClose<2, 1, 2, 1>>(); }
TEST(ExploreOffer, TwoThreadsPutWhileAThirdDrains) { expect_no_failure<PutsAndADrain<2, 1>>(); }
TEST(ExploreOffer, TwoThreadsPutTwiceWhileAThirdDrains) { expect_no_failure<PutsAndADrain<1, 2>>(); }
TEST(ExploreOffer, TwoThreadsPutThroughTwoStripesWhileAThirdDrains) { expect_no_failure<PutsAndADrain<2, 1, 2>>(); }
TEST(ExploreOffer, TwoThreadsStageWhileAThirdDrains) { expect_no_failure<PutsAndADrain<1, 2, 1, 1>>(); }

}  // namespace
