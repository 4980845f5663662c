// The evolutionary program: its random stream, Hetero-Mark's creatures, and that each method makes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "evolutionary_program/methods.hpp"

namespace evolutionary_program {
namespace {

TEST(RandomStream, SkipsAsItGoes) {
  for (std::uint64_t const count : {0, 1, 2, 3, 501, 1000, 513024}) {
    RandomStream walked{7};
    for (std::uint64_t i = 0; i < count; ++i) (void)walked.next();
    RandomStream jumped{7};
    jumped.skip(count);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(jumped.next(), walked.next()) << count;
  }
}
TEST(RandomStream, HasItsBitsFaster) {
  RandomStream numbers{12345};
  RandomStream bits{12345};
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(bits.next_bit(), numbers.next() % 2) << i;
}
TEST(RandomStream, MakesTheCoefficients) {
  Coefficients const c = make_coefficients();
  EXPECT_EQ(c[0], 0.22198432740847782);
  EXPECT_EQ(std::accumulate(c.begin(), c.end(), 0.0), 251.64248042443867);
}
TEST(RandomStream, IsWhereACreatureIsCrossed) {
  Problem const problem{.population = 40, .generations = 3};
  RandomStream walked{1};
  for (std::uint32_t generation = 0; generation < 2; ++generation) {
    for (std::uint32_t island = 0; island < islands; ++island) {
      for (std::uint32_t c = 0; c < problem.of_island(); ++c) {
        RandomStream jumped = stream_of(problem, generation, island, c);
        for (std::uint32_t i = 0; i < numbers_a_cross; ++i) ASSERT_EQ(jumped.next(), walked.next());
      }
    }
  }
}

TEST(EvolutionReference, MakesHeteroMarksCreatures) {
  Summary const first = run_reference({2048, 1}, {}).front().summary;
  EXPECT_EQ(first.island_hash[0], 0xe202cc62ce3cbe73U);
  EXPECT_EQ(first.island_hash[1], 0xe202cc62ce3cbe73U);
  EXPECT_EQ(first.best, 0.36923217605762748);
  Summary const second = run_reference({2048, 2}, {}).front().summary;
  EXPECT_EQ(second.island_hash[0], 0x059b898b304ad543U);
  EXPECT_EQ(second.island_hash[1], 0x704531d388b9c6b3U);
}

TEST(EvolutionMethods, MakeTheSameCreatures) {
  for (Problem const& problem :
       {Problem{20, 1}, Problem{20, 7}, Problem{62, 3}, Problem{300, 2}, Problem{62, 3, false}}) {
    Summary const oracle = run_reference(problem, {}).front().summary;
    for (auto* const method : {run_hiway, run_baseline}) {
      for (Measurement const& run : method(problem, {.device = "simt", .repeat = 2})) EXPECT_EQ(run.summary, oracle);
    }
    EXPECT_EQ(run_baseline(problem, {.device = "simt", .pinned = true}).front().summary, oracle);
  }
}
TEST(EvolutionMethods, CarryEachCreatureThroughEveryStage) {
  Measurement const run = run_hiway({40, 3}, {.device = "simt"}).front();
  for (hiway::TunnelReport const& tunnel : run.tunnels) {
    bool const has_new_ones = tunnel.name == "crossed" || tunnel.name == "mutated";
    EXPECT_EQ(tunnel.items, tunnel.name == "lacking" ? 40U : has_new_ones ? 160U : 120U) << tunnel.name;
  }
}

}  // namespace
}  // namespace evolutionary_program
