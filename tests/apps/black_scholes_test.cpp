// Black-Scholes pipelines: prices, what stages drop, how outputs are compared, and that each method lets the same options pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "black_scholes/methods.hpp"

namespace black_scholes {
namespace {

TEST(Prices, AreThoseOfTextbooks) {
  Prices const hull = prices_of(42, 40, 0.5F, 0.1F, 0.2F);  // Hull, Options, Futures, and Other Derivatives
  EXPECT_NEAR(hull.call, 4.76, 0.005);
  EXPECT_NEAR(hull.put, 0.81, 0.005);
}
TEST(Prices, OfCallAndPutDifferByTheDiscountedStrike) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Option const o = make_option(3, i);
    Prices const p = prices_of(o.price, o.strike, o.years, o.riskless, o.volatility);
    ASSERT_NEAR(p.call - p.put, o.price - o.strike * std::exp(-o.riskless * o.years), 1e-4F) << i;
  }
}

TEST(Options, LieInTheSamplesBounds) {
  float most = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Option const o = make_option(1, i);
    EXPECT_EQ(o.number, i);
    ASSERT_TRUE(o.price >= 5 && o.price < 30 && o.strike >= 1 && o.strike < 100 && o.years >= 0.25F && o.years < 10);
    most = std::max(most, o.strike);
  }
  EXPECT_GT(most, 90);
  EXPECT_NE(make_option(1, 5).price, make_option(2, 5).price) << "the seed changes nothing";
}

Option priced(std::uint32_t iterations, std::uint64_t number) {
  Option option = make_option(1, number);
  (void)Pricing{iterations, 0}.pass(option, 0);
  return option;
}
TEST(Stage, PricesAsOftenAsItIsTold) {
  int moved = 0;
  int moved_again = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    Option const once = priced(1, i);
    Prices const expected = prices_of(once.price, once.strike, once.years, once.riskless, once.volatility);
    ASSERT_EQ(once.call, expected.call);
    ASSERT_EQ(once.put, expected.put);
    Option const twice = priced(2, i);
    moved += twice.call != once.call || twice.put != once.put ? 1 : 0;
    moved_again += priced(3, i).put != twice.put ? 1 : 0;
  }
  EXPECT_EQ(moved, 100);
  EXPECT_GT(moved_again, 0);
}
TEST(Stage, GoesOnFromThePricesOfTheOneBefore) {
  Option twice = make_option(1, 9);
  (void)Pricing{1, 0}.pass_all(twice, 0, 2);
  EXPECT_EQ(twice.call, priced(2, 9).call);
}
TEST(Stage, StaysFiniteHoweverOften) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    Option const often = priced(20000, i);
    ASSERT_NEAR(often.call, priced(10, i).call, 1e-4F) << i;
    ASSERT_NEAR(often.put, priced(10, i).put, 1e-4F) << i;
  }
}
TEST(Stage, DropsByNumberAndStage) {
  constexpr std::uint64_t count = 100000;
  for (double const rate : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    Pricing const pricing = Problem{.rate = rate}.pricing();
    std::vector<double> dropped(2);
    double both = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      bool const first = pricing.drops(i, 0);
      bool const second = pricing.drops(i, 1);
      dropped[0] += first ? 1 : 0;
      dropped[1] += second ? 1 : 0;
      both += first && second ? 1 : 0;
    }
    double const off = rate == 0 || rate == 1 ? 0 : 0.01;
    EXPECT_NEAR(dropped[0] / count, rate, off);
    EXPECT_NEAR(dropped[1] / count, rate, off);
    EXPECT_NEAR(both / count, rate * rate, off) << "a stage drops what the one before dropped";
  }
}
TEST(Stage, LeavesATrailOfItsPlace) {
  auto const trail = [](std::vector<std::uint32_t> const& passed) {
    Option option = make_option(1, 4);
    for (std::uint32_t const stage : passed) Pricing::leave_trail(option, stage);
    return option.trail;
  };
  EXPECT_NE(trail({0, 1}), trail({1, 0}));
  EXPECT_NE(trail({0, 1}), trail({1}));
  EXPECT_NE(trail({0, 1}), trail({0, 1, 1}));
}

Options reference_of(Problem const& problem) {
  Options outputs;
  (void)run_reference(problem, {}, outputs);
  return outputs;
}

TEST(Difference, IsFoundWhereverOneIs) {
  Options const oracle = reference_of({.items = 50, .rate = 0.25});
  ASSERT_GT(oracle.size(), 5U);
  Options other{oracle.rbegin(), oracle.rend()};
  EXPECT_TRUE(difference(other, oracle).is_none()) << "in another order";
  EXPECT_EQ(summarize(other), summarize(oracle));
  auto const finds = [&](auto&& change) {
    Options changed = other;
    change(changed);
    return !difference(changed, oracle).is_none();
  };
  EXPECT_TRUE(finds([](Options& o) { o.pop_back(); }));
  EXPECT_TRUE(finds([](Options& o) { o.push_back(o.front()); }));
  EXPECT_TRUE(finds([](Options& o) { o[0] = o[1]; }));
  EXPECT_TRUE(finds([](Options& o) { ++o[2].trail; }));
  EXPECT_TRUE(finds([](Options& o) { --o[2].stage; }));
  EXPECT_TRUE(finds([](Options& o) { std::ranges::max_element(o, {}, &Option::call)->call *= 1.001F; }));
  EXPECT_TRUE(finds([](Options& o) { std::ranges::min_element(o, {}, &Option::put)->put += 0.001F; }));
  EXPECT_TRUE(finds([](Options& o) { o[3].put = std::numeric_limits<float>::quiet_NaN(); }));
  EXPECT_FALSE(finds([](Options& o) { o[3].call *= 1.00001F; }));
  Options twice = other;
  twice[0] = twice[1];
  EXPECT_NE(summarize(twice), summarize(oracle));
}

TEST(BlackScholesMethods, LetTheSameOptionsPass) {
  for (Topology const topology : {Topology::diff_type, Topology::same_type, Topology::self_loop, Topology::merged,
                                  Topology::four_same, Topology::four_diff, Topology::four_staged}) {
    for (auto const& [items, rate] : std::vector<std::pair<std::uint64_t, double>>{
             {0, 0.5}, {1, 0.0}, {31, 0.25}, {32, 0.5}, {33, 0.75}, {1009, 0.5}, {1009, 0.0}, {1009, 1.0}}) {
      Problem const problem{.items = items, .iterations = 2, .rate = rate, .topology = topology};
      Options const oracle = reference_of(problem);
      Options outputs;
      Job job{.device = "simt", .repeat = 2};
      job.ran = [&] { EXPECT_TRUE(difference(outputs, oracle).is_none()) << items << " items, rate " << rate; };
      for (Measurement const& run : run_baseline(problem, job, outputs)) EXPECT_EQ(run.summary, summarize(oracle));
      for (Replica const replica : {Replica::warp, Replica::block}) {
        for (bool const counters : {false, true}) {
          for (Measurement const& run : run_hiway(problem, {.replica = replica, .counters = counters}, job, outputs))
            EXPECT_EQ(run.summary, summarize(oracle));
        }
      }
      if (topology != Topology::diff_type) continue;
      for (Measurement const& run : run_hiway(problem, {.feed = Feed::tunnel}, job, outputs))
        EXPECT_EQ(run.summary, summarize(oracle));
    }
  }
}
TEST(BlackScholesMethods, HaveTheOutputsOfTheirKindOfTopology) {
  auto const outputs = [](Topology topology) {
    return reference_of({.items = 500, .iterations = 1, .topology = topology});
  };
  Options const pipeline = outputs(Topology::diff_type);
  Options const four_way = outputs(Topology::four_same);
  for (Option const& option : pipeline) EXPECT_EQ(option.stage, stages);
  for (Option const& option : four_way) EXPECT_EQ(option.stage, option.number % 4 + 1);
  EXPECT_NEAR(static_cast<double>(pipeline.size()), 500.0 / 32, 12);
  EXPECT_NEAR(static_cast<double>(four_way.size()), 500.0 / 2, 40);
}
TEST(BlackScholesReference, StopsWhereNothingChanges) {
  // As often as it is told, by the stages' code, which does not stop.
  for (std::uint32_t const iterations : {1U, 2U, 3U, 5U, 50U}) {
    Problem const problem{.items = 300, .iterations = iterations, .rate = 0, .topology = Topology::merged};
    Options outputs;
    for (std::uint64_t i = 0; i < problem.items; ++i) {
      Option option = make_option(problem.seed, i);
      ASSERT_TRUE(problem.pricing().pass_all(option, 0, stages));
      outputs.push_back(option);
    }
    Difference const all = difference(outputs, reference_of(problem));
    EXPECT_TRUE(all.is_none()) << iterations << ": " << all.of_prices;
    EXPECT_LT(all.of_prices, Difference::tolerance / 10) << iterations;
  }
}

}  // namespace
}  // namespace black_scholes
