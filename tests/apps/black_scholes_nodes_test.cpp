// Black-Scholes pipelines: the node functions, called as the topologies connect them, give the reference's outputs.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>

#include "black_scholes/methods.hpp"
#include "black_scholes/stages.hpp"

namespace black_scholes {
namespace {

Problem const pipeline{.items = 400, .iterations = 3, .rate = 0.25, .topology = Topology::diff_type, .seed = 5};
Problem const four_way{.items = 400, .iterations = 3, .rate = 0.25, .topology = Topology::four_same, .seed = 5};

/// What comes out when each option of a problem goes through `walk(option, outputs)`.
template <class Walk>
Options outputs_of(Problem const& problem, Walk const& walk) {
  Options outputs;
  for (std::uint64_t i = 0; i < problem.items; ++i) walk(Generate{problem.seed}(i), outputs);
  return outputs;
}
/// Through filters, until one drops the option.
void chain(Option option, Options& outputs, auto const&... filters) {
  bool const passes = ([&] {
    Maybe<Option> const next = filters(option);
    option = next.value;
    return next.ok;
  }() && ...);
  if (passes) outputs.push_back(option);
}
void expect_reference(Problem const& problem, Options const& outputs) {
  Options oracle;
  (void)run_reference(problem, {}, oracle);
  ASSERT_GT(oracle.size(), 50U);
  EXPECT_TRUE(difference(outputs, oracle).is_none());
}

TEST(BlackScholesNodes, OfFiveTypes) {
  Pricing const p = pipeline.pricing();
  expect_reference(pipeline, outputs_of(pipeline, [&](Option const& option, Options& outputs) {
                     chain(option, outputs, PriceAt<0>{p}, PriceAt<1>{p}, PriceAt<2>{p}, PriceAt<3>{p}, PriceAt<4>{p});
                   }));
}
TEST(BlackScholesNodes, OfOneType) {
  Pricing const p = pipeline.pricing();
  expect_reference(pipeline, outputs_of(pipeline, [&](Option const& option, Options& outputs) {
                     chain(option, outputs, Price{p, 0}, Price{p, 1}, Price{p, 2}, Price{p, 3}, Price{p, 4});
                   }));
}
TEST(BlackScholesNodes, OfOneThatComesBackToItself) {
  PriceAgain const node{pipeline.pricing()};
  expect_reference(pipeline, outputs_of(pipeline, [&](Option option, Options& outputs) {
                     while (true) {
                       Emit<Option> again;
                       Emit<Option> done;
                       node(option, again, done);
                       EXPECT_FALSE(again.ok && done.ok);
                       if (done.ok) outputs.push_back(done.value);
                       if (!again.ok) return;
                       option = again.value;
                     }
                   }));
}
TEST(BlackScholesNodes, Merged) {
  expect_reference(pipeline, outputs_of(pipeline, [](Option const& option, Options& outputs) {
                     chain(option, outputs, PriceAll{pipeline.pricing()});
                   }));
}

/// The only channel that was put into.
std::size_t taken(std::initializer_list<Emit<Option>> channels) {
  std::size_t at = channels.size();
  std::size_t number = 0;
  for (Emit<Option> const& channel : channels) {
    if (channel.ok) {
      EXPECT_EQ(at, channels.size()) << "two channels";
      at = number;
    }
    ++number;
  }
  return at;
}
TEST(BlackScholesNodes, SplitInFourAsByTwos) {
  Pricing const p = four_way.pricing();
  std::array<int, ways> counts{};
  Options same;
  Options different;
  for (std::uint64_t i = 0; i < four_way.items; ++i) {
    Option const option = Generate{four_way.seed}(i);
    std::array<Emit<Option>, ways> way;
    SplitInFour{}(option, way[0], way[1], way[2], way[3]);
    std::size_t const at = taken({way[0], way[1], way[2], way[3]});
    ASSERT_LT(at, ways);
    ++counts[at];
    auto const bit = [&](std::uint32_t which) {
      Emit<Option> zero;
      Emit<Option> one;
      SplitInTwo{which}(option, zero, one);
      return taken({zero, one});
    };
    ASSERT_EQ(2 * bit(1) + bit(0), at);
    chain(way[at].value, same, Price{p, static_cast<std::uint32_t>(at)});
    if (at == 0) chain(way[0].value, different, PriceAt<0>{p});
    if (at == 1) chain(way[1].value, different, PriceAt<1>{p});
    if (at == 2) chain(way[2].value, different, PriceAt<2>{p});
    if (at == 3) chain(way[3].value, different, PriceAt<3>{p});
  }
  EXPECT_EQ(counts, (std::array<int, ways>{100, 100, 100, 100}));
  expect_reference(four_way, same);
  expect_reference(four_way, different);
}

}  // namespace
}  // namespace black_scholes
