// bs: prices that a table has, each method against the oracle, and how CPU and GPU share tiles.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bs/methods.hpp"
#include "bs/stages.hpp"
#include "tests/apps/files.hpp"

namespace bs {
namespace {

constexpr double tolerance = 1e-4;
Job const job{.device = "simt", .repeat = 2};
arrays::Carrying const carrying{.feeders = 2, .takers = 2, .batch = 2};

Prices oracle_of(Numbers const& numbers) {
  Prices oracle;
  run_reference(numbers, {}, oracle);
  return oracle;
}

// 0: everything at its upper limit, 1: at its lower one. The normal distribution at d1 and d2 is a table's: at the
// upper limits d1 = 0.55 / 0.1 / sqrt(10) = 1.73925 and d2 = 1.42302, at the lower ones 1.005 and 0.995.
TEST(Bs, PricesByHand) {
  Prices const oracle = oracle_of({0, 1});
  EXPECT_NEAR(oracle.calls[0], 100 * 0.959004 - 60.653066 * 0.922635, 2e-3);
  EXPECT_NEAR(oracle.puts[0], 60.653066 * (1 - 0.922635) - 100 * (1 - 0.959004), 2e-3);
  EXPECT_NEAR(oracle.calls[1], 10 * 0.842552 - 9.900498 * 0.840132, 2e-4);
  EXPECT_NEAR(oracle.puts[1], 9.900498 * (1 - 0.840132) - 10 * (1 - 0.842552), 2e-4);
}

// What a call costs more than a put is the price less the discounted strike.
TEST(Bs, KeepsThePutCallParity) {
  Numbers const numbers = make_numbers({.options = 1000});
  Prices const oracle = oracle_of(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double const x = numbers[i];
    double const price = 100 - 90 * x;
    EXPECT_NEAR(oracle.calls[i] - oracle.puts[i], price * (1 - std::exp(-(0.05 - 0.04 * x) * (10 - 9 * x))), 2e-5);
  }
}

// Tiles are of 4,096 options.
TEST(Bs, IsRightByEachMethodHoweverTilesAreShared) {
  for (std::uint64_t const options : {1, 4096, 4097, 50'000}) {
    Numbers const numbers = make_numbers({.options = options});
    Prices const oracle = oracle_of(numbers);
    for (Sharing const sharing : {Sharing{.cpu_threads = 0}, Sharing{.cpu_threads = 2, .chunk = 3}}) {
      std::uint64_t const tiles = (options + tile_options - 1) / tile_options;
      Prices prices;
      auto const check = [&](std::vector<Measurement> const& runs) {
        EXPECT_LE(difference(prices, oracle), tolerance) << options;
        for (Measurement const& run : runs) {
          EXPECT_EQ(run.items, options);
          EXPECT_LE(run.summary.cpu_tiles, sharing.cpu_threads == 0 ? 0 : tiles);
          EXPECT_NEAR(run.summary.calls, summarize(oracle, 0).calls, tolerance * static_cast<double>(options));
        }
      };
      check(run_hiway(numbers, sharing, carrying, job, prices));
      check(run_baseline(numbers, sharing, job, prices));
      check(run_baseline(numbers, sharing, {.device = "simt", .pinned = true}, prices));
    }
  }
}

TEST(Bs, IsPricedByTheCpuFromTheBack) {
  Numbers const numbers = make_numbers({.options = 3 * tile_options + 5});
  Prices prices;
  prices.resize(numbers.size());
  Options options{numbers, prices.calls, prices.puts};
  EXPECT_EQ(options.tiles(), 4U);
  options.begin(options.tiles());
  EXPECT_EQ(options.turns().front(1).count, 1U);
  options.price_from_back();
  EXPECT_EQ(options.cpu_tiles(), 3U);
  Prices const oracle = oracle_of(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_NEAR(prices.calls[i], i < tile_options ? 0 : oracle.calls[i], tolerance) << i;
    ASSERT_NEAR(prices.puts[i], i < tile_options ? 0 : oracle.puts[i], tolerance) << i;
  }
}

TEST(Bs, NoticesPricesThatAreOff) {
  Prices const oracle = oracle_of({0.25F, 0.5F});
  Prices off = oracle;
  EXPECT_EQ(difference(off, oracle), 0);
  off.puts[1] += 0.5F;
  EXPECT_NEAR(difference(off, oracle), 0.5, 1e-5);
  off.calls[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_GT(difference(off, oracle), 1e30);
  off = oracle;
  off.calls.pop_back();
  EXPECT_GT(difference(off, oracle), 1e30);
}

TEST(BsInput, IsOfTheSeedAndHasLimits) {
  EXPECT_EQ(make_numbers({.seed = 3}), make_numbers({.seed = 3}));
  EXPECT_NE(make_numbers({.seed = 3}), make_numbers({.seed = 4}));
  for (float const number : make_numbers({})) ASSERT_TRUE(number >= 0 && number < 1) << number;
  EXPECT_EQ(complaint([] { (void)make_numbers({.options = 0}); }), "--options must be 1 to 268435456: 0");
  EXPECT_EQ(complaint([] { (void)make_numbers({.options = 268435457}); }),
            "--options must be 1 to 268435456: 268435457");
}

}  // namespace
}  // namespace bs
