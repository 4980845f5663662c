// Offers (inlet/offer.hpp) under every schedule: two threads share an open inlet and offer while a third closes it.
// Each item that was taken is got once, no offer is refused with a fault, and the tunnel ends, not early.
#include "hiway/inlet/offer.hpp"

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
  explicit OfferingMachine(ExploreMachine const& m) : ExploreMachine(m) {}
};

template <std::uint32_t Capacity, unsigned Each>
struct OffersAndAClose {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u};
  OffersAndAClose() {
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
      default: t.read(m, 0, [&](std::uint32_t) { ++got; });
    }
  }
  void offer(ExploreMachine m, unsigned client) {
    InletView const v = shared();
    for (unsigned i = 0; i < Each; ++i) {
      Put const put = detail::offer_once(OfferingMachine(m), v, WriteTorn{m, client * Each + i}, Credits::doubtful);
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
  std::array<unsigned, 2> done{};
  unsigned got = 0;
};

/// The same of puts, while a third thread drains.
template <std::uint32_t Capacity, unsigned Each>
struct PutsAndADrain : OffersAndAClose<Capacity, Each> {
  using Base = OffersAndAClose<Capacity, Each>;
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
    OfferingMachine const o(m);
    for (unsigned i = 0; i < Each; ++i) {
      if (detail::try_put(o, v, detail::together(o, v), true, WriteTorn{m, client * Each + i})) ++this->done[client];
    }
  } catch (Drained const&) {
  }
};

TEST(ExploreOffer, TwoThreadsOfferWhileAThirdCloses) { expect_no_failure<OffersAndAClose<2, 1>>(); }
TEST(ExploreOffer, TwoThreadsOfferTwiceIntoOneSlot) { expect_no_failure<OffersAndAClose<1, 2>>(); }
TEST(ExploreOffer, TwoThreadsPutWhileAThirdDrains) { expect_no_failure<PutsAndADrain<2, 1>>(); }
TEST(ExploreOffer, TwoThreadsPutTwiceWhileAThirdDrains) { expect_no_failure<PutsAndADrain<1, 2>>(); }

}  // namespace
