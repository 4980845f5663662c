// The explorer itself is tested by bugs planted here: each must be found, and its seed must replay the same schedule.
#include <vector>

#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

// ---- one slot, one word: a ring in small. Never the library's code.

enum class Way : std::uint8_t { sound, publishes_before_writing, frees_before_reading };

template <Way How>
struct OneSlot {
  static constexpr std::array warps = {1u, 1u};
  static constexpr std::uint32_t items = 3;

  void run(unsigned warp, ExploreMachine m) {
    for (std::uint32_t i = 0; i < items; ++i) {
      std::uint32_t const mine = warp;  // 0: empty, the producer's; 1: full, the consumer's
      for (unsigned misses = 0; m.load(full, MemoryOrder::acquire) != mine; ++misses) m.relax(misses);
      auto* const at = reinterpret_cast<std::byte*>(&slot);
      if (warp == 0) {
        if (How == Way::publishes_before_writing) m.store(full, 1u, MemoryOrder::release);
        WriteTorn{m, i}(at);
        if (How != Way::publishes_before_writing) m.store(full, 1u, MemoryOrder::release);
      } else {
        std::uint32_t x = 0;
        if (How == Way::frees_before_reading) m.store(full, 0u, MemoryOrder::release);
        ReadTorn{m, x}(at);
        require(x == i, "a wrong item");
        if (How != Way::frees_before_reading) m.store(full, 0u, MemoryOrder::release);
      }
    }
  }
  void check() const { require(full.bits == 0, "not empty at the end"); }

  Word<std::uint32_t> full{0};
  Torn slot{77, ~77u};
};

TEST(ExplorePlanted, TheSoundRingPasses) { expect_no_failure<OneSlot<Way::sound>>(); }
TEST(ExplorePlanted, APublishBeforeTheWriteIsFoundByEveryStrategy) {
  expect_found<OneSlot<Way::publishes_before_writing>>();
}
TEST(ExplorePlanted, AFreeBeforeTheReadIsFoundByEveryStrategy) { expect_found<OneSlot<Way::frees_before_reading>>(); }

/// Each waits for what the other does after its own wait.
struct CrossedWaits {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    for (unsigned misses = 0; m.load(words[warp], MemoryOrder::acquire) == 0; ++misses) m.relax(misses);
    m.store(words[1 - warp], 1u, MemoryOrder::release);
  }
  void check() const {}
  std::array<Word<std::uint32_t>, 2> words{};
};
TEST(ExplorePlanted, AWaitForEverIsFoundByEveryStrategy) { expect_found<CrossedWaits>({enumerates, walks, ranks}, 1); }

// ---- a bug that needs two switches at the right places

/// What is read first is overtaken before the other is read.
struct ReadsInTheWrongOrder {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      for (unsigned i = 0; i < 3; ++i) {
        m.fetch_add(created, 1u, MemoryOrder::release);
        m.fetch_add(finished, 1u, MemoryOrder::release);
      }
    } else {
      std::uint32_t const c = m.load(created, MemoryOrder::acquire);
      std::uint32_t const f = m.load(finished, MemoryOrder::acquire);
      require(f <= c, "more finished than created");
    }
  }
  void check() const {}
  Word<std::uint32_t> created{0};
  Word<std::uint32_t> finished{0};
};
TEST(ExplorePlanted, ReadsInTheWrongOrderAreFound) { expect_found<ReadsInTheWrongOrder>(); }

// ---- lanes

/// Lane 1 has left when lane 0 waits for it.
struct LaneIsMissing {
  static constexpr std::array warps = {2u};
  void run(unsigned, ExploreMachine m) {
    if (m.lane() == 0) m.sync_warp(m.lanes());
  }
  void check() const {}
};
TEST(ExplorePlanted, AWarpOperationWithoutALaneWaitsForEver) { expect_found<LaneIsMissing>({enumerates}, 1); }

/// Counts the groups that chance makes of three lanes.
struct Groups {
  static constexpr std::array warps = {3u};
  static inline std::array<unsigned, 8> seen{};
  void run(unsigned, ExploreMachine m) {
    std::uint32_t const group = m.converged();
    require((group >> m.lane() & 1u) != 0, "a lane is not in its own group");
    require(m.ballot(group, true) == group, "lanes of a group disagree");
    ++seen[group];
  }
  void check() const {}
};
TEST(ExploreLanes, ConvergeInEverySubset) {
  Groups::seen = {};
  expect_no_failure<Groups>();
  if (std::getenv("HIWAY_SEED") != nullptr) return;
  for (unsigned group = 1; group < 8; ++group) EXPECT_NE(Groups::seen[group], 0u) << "group " << group;
}

// ---- the enumeration

/// Two fibers of two steps each, and which orders they ran in.
struct TwoSteps {
  static constexpr std::array warps = {1u, 1u};
  static inline std::vector<std::string> orders{};
  void run(unsigned warp, ExploreMachine m) {
    for (unsigned i = 0; i < 2; ++i) {
      m.point();
      order[at++] = warp == 0 ? 'a' : 'b';
    }
  }
  void check() const { orders.emplace_back(order.begin(), order.end()); }
  std::array<char, 4> order{};
  unsigned at = 0;
};
TEST(ExploreDelays, EnumerateEveryOrderThatFewDelaysMake) {
  TwoSteps::orders.clear();
  Found const found = search<TwoSteps>(1000, enumerates);
  EXPECT_FALSE(found.failed);
  EXPECT_TRUE(found.all_enumerated);
  std::sort(TwoSteps::orders.begin(), TwoSteps::orders.end());
  auto const last = std::unique(TwoSteps::orders.begin(), TwoSteps::orders.end());
  std::vector<std::string> const distinct(TwoSteps::orders.begin(), last);
  // All but baba, which takes three delays.
  EXPECT_EQ(distinct, (std::vector<std::string>{"aabb", "abab", "abba", "baab", "bbaa"}));
}

TEST(ExploreSeeds, AnUnreadableSeedIsRefused) {
  EXPECT_THROW((void)strategy_of("lottery:3"), std::invalid_argument);
  EXPECT_THROW((void)strategy_of("random:"), std::invalid_argument);
}
TEST(ExploreSeeds, EveryStrategyPrintsWhatMakesItAgain) {
  for (char const* const seed : {"random:17", "pct:5:300", "delays:", "delays:3+1,40+2"})
    EXPECT_EQ(strategy_of(seed)->seed(), seed);
}

}  // namespace
