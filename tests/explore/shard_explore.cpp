// A tunnel of several rings under every schedule: each item once, each writer's in their order, nothing stays behind in a
// shard that nobody calls his own, and the end counts them all.
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Two shards, side by side in memory as a pipeline places them.
template <std::uint32_t Slots, unsigned Writers, unsigned Readers, unsigned Each, RingPart Part = RingPart::whole>
struct Sharded {
  static constexpr auto warps = [] {
    std::array<unsigned, Writers + 1 + Readers> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  static_assert(std::has_single_bit(Slots));

  Sharded() {
    for (RingWords& w : words) w.free.bits = Slots;
    Ring ring;
    ring.items = reinterpret_cast<std::byte*>(items.data());
    ring.turns = turns.data();
    ring.words = words.data();
    ring.slots_mask = Slots - 1;
    ring.lap_shift = static_cast<std::uint32_t>(std::countr_zero(Slots));
    ring.item_bytes = sizeof(Torn);
    ring.part = Part;
    ring.shards = 2;
    t.writing.ring = t.reading.ring = ring;
    t.writing.control = t.reading.control = &control;
    t.writing.end = t.reading.end = &end;
    table.add({.finished = {t.finished()},
               .created = {t.created()},
               .gates = {t.closed_by(Writers)},
               .tunnels = {{&end, nullptr, nullptr}}});
  }
  /// Writer `w` is at home in shard w, reader r in shard r.
  void run(unsigned warp, ExploreMachine m) {
    if (warp < Writers) {
      for (unsigned i = 0; i < Each; ++i) t.put(m, warp, ledger.item(warp, i));
      t.close(m, warp);
    } else if (warp == Writers) {
      result = explore::check_to_the_end(m, table.table, control);
    } else {
      read(m, warp - Writers - 1);
    }
  }
  virtual void read(ExploreMachine m, unsigned reader) {
    std::array<std::uint32_t, Writers> last{};
    t.read(m, reader, [&](std::uint32_t x) { ledger.got(x, last); });
  }
  void check() const {
    require(result == CheckResult::ended && control.aborted.bits == 0, "no end");
    ledger.check();
    for (RingWords const& w : words) {
      require(w.claimed.bits == w.taken.bits, "an item stays in its shard");
      require(w.free.bits == Slots && w.avail.bits == 0, "credit went astray");
    }
    if (Writers == 2) require(words[0].claimed.bits == Each && words[1].claimed.bits == Each, "a put left its home");
  }
  virtual ~Sharded() = default;

  std::array<Torn, 2 * Slots> items{};
  std::array<Word<std::uint32_t>, 2 * Slots> turns{};
  std::array<RingWords, 2> words;
  Ports t;
  Control control;
  EndWords end;
  CheckTable table;
  CheckResult result = CheckResult::open;
  Ledger<Writers, Each> ledger;
};

TEST(ExploreShards, TwoWritersAndTwoReadersShareTwoSlots) { expect_no_failure<Sharded<1, 2, 2, 2>>(); }
TEST(ExploreShards, OneReaderEmptiesBothInOrder) { expect_no_failure<Sharded<2, 2, 1, 2>>(); }
TEST(ExploreShards, TwoReadersEmptyOne) { expect_no_failure<Sharded<2, 1, 2, 3>>(); }
TEST(ExploreShards, CreditInOrder) { expect_no_failure<Sharded<1, 2, 2, 2, RingPart::in_order>>(); }

/// The same, read by teams.
struct ByTeams : Sharded<1, 2, 2, 2> {
  void read(ExploreMachine m, unsigned reader) override {
    WarpTeam<ExploreMachine> const team{m};
    OutletView const v = t.outlet(reader);
    std::array<std::uint32_t, 2> last{};
    auto const work = [&](std::byte const* slot) {
      std::uint32_t x = 0;
      ReadTorn{m, x}(slot);
      ledger.got(x, last);
    };
    while (detail::await_together(team, v, work)) detail::end_task_together(team, v);
  }
};
TEST(ExploreShards, TeamsReadBoth) { expect_no_failure<ByTeams>(); }

TEST(ExplorePlanted, ShardsWhoseReleasesAreRelaxedAreFound) {
  expect_found<Weakened<Sharded<1, 2, 2, 2>, Weaken::releases>>();
}

}  // namespace
