// PageRank: rounds by hand, matrices that are made and from files, and that each method finds the ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "pagerank/methods.hpp"
#include "tests/apps/files.hpp"

namespace pagerank {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

/// Of the methods that run on the device, in several forms.
std::vector<Measurement> all_runs(Problem const& problem) {
  Job const job{.device = "simt", .repeat = 2};
  std::vector<Measurement> all;
  for (std::uint32_t const lanes : {0U, 1U, 4U, 32U}) {
    for (Options const& options : {Options{.lanes = lanes}, Options{.blocks = 3, .threads = 32, .lanes = lanes}}) {
      for (Measurement const& run : run_hiway(problem, options, job)) all.push_back(run);
      for (Measurement const& run : run_baseline(problem, options, job)) all.push_back(run);
    }
  }
  return all;
}

TEST(PageRank, OfThreeNodesIsAsByHand) {
  // Node 0 gets all of 1 and half of 2; 1 gets the other half; 2 gets all of 0.
  Problem problem{{0, 2, 3, 4}, {{1, 1}, {2, 0.5F}, {2, 0.5F}, {0, 1}}, 0};
  std::vector<Ranks> const rounds{{1 / 2.0F, 1 / 6.0F, 1 / 3.0F}, {1 / 3.0F, 1 / 6.0F, 1 / 2.0F}};
  for (Ranks const& ranks : rounds) {  // an even number of rounds leaves them in the other vector
    ++problem.rounds;
    EXPECT_THAT(run_reference(problem, {}).front().summary, Pointwise(FloatNear(1e-6F), ranks));
    for (Measurement const& run : all_runs(problem)) {
      EXPECT_THAT(run.summary, Pointwise(FloatNear(1e-6F), ranks)) << problem.rounds;
      EXPECT_EQ(run.items, 3U);
    }
  }
}

TEST(PageRank, OfOneNodeStays) {
  for (Measurement const& run : all_runs(make_problem(1, 1, 1))) EXPECT_THAT(run.summary, testing::ElementsAre(1.0F));
}

TEST(PageRank, OfANodeThatNobodyRefersToIsNone) {
  for (Measurement const& run : all_runs({{0, 0, 1}, {{0, 1}}, 1}))
    EXPECT_THAT(run.summary, testing::ElementsAre(0, 0.5F));
}

TEST(PageRank, IsTheOracles) {
  for (auto const& [nodes, connections] : {std::pair{77U, 9U}, std::pair{130U, 40U}, std::pair{5U, 300U}}) {
    Problem problem = make_problem(nodes, connections, 2);
    problem.rounds = 7;
    std::vector<double> const oracle = reference_ranks(problem);
    for (Measurement const& run : all_runs(problem)) EXPECT_LT(difference(run.summary, oracle), 1e-5) << nodes;
  }
}

TEST(PageRankProblem, SharesAllRanksOut) {
  Problem const problem = make_problem(100, 3, 1);
  EXPECT_EQ(problem.nodes(), 100U);
  ASSERT_EQ(problem.entries.size(), 300U);
  std::vector<double> given(100);
  for (Entry const& entry : problem.entries) given.at(entry.column) += double{entry.value};
  for (double const sum : given) EXPECT_NEAR(sum, 1, 1e-5);
  auto const columns = [](Problem const& p) {
    std::vector<std::uint32_t> all;
    for (Entry const& entry : p.entries) all.push_back(entry.column);
    return all;
  };
  EXPECT_NE(columns(make_problem(100, 3, 2)), columns(problem)) << "the seed changes nothing";
}

TEST(PageRankDifference, IsByTheOraclesRank) {
  EXPECT_DOUBLE_EQ(difference({1, 0.5F, 0}, {1, 1, 0}), 0.5);
  EXPECT_NEAR(difference({2}, {1.6}), 0.25, 1e-12);
  EXPECT_LT(difference({0}, {1e-60}), tolerance);
  float const none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isinf(difference({none, 1}, {1, 1})));
  EXPECT_TRUE(std::isinf(difference({1, none}, {1, 1})));
}

class PageRankFile : public Files {};

TEST_F(PageRankFile, HasRowsColumnsAndValues) {
  Problem const problem = read_problem(plain("a.data", "4\t3\n0 2 3 4\r\n1 2 2\n0\n1 .5 0.5 1e0"));
  EXPECT_EQ(problem.rows, (std::vector<std::uint32_t>{0, 2, 3, 4}));
  ASSERT_EQ(problem.entries.size(), 4U);
  EXPECT_EQ(problem.entries[1].column, 2U);
  EXPECT_EQ(problem.entries[1].value, 0.5F);
  EXPECT_EQ(problem.entries[3].column, 0U);
  EXPECT_EQ(problem.entries[3].value, 1.0F);
}

TEST_F(PageRankFile, ThatIsBadIsRefusedInOneLine) {
  auto const says = [&](std::string const& text, std::string const& content) {
    EXPECT_THAT(complaint([&] { (void)read_problem(plain("b.data", content)); }), HasSubstr("b.data: " + text));
  };
  says("", "");
  says("number 1, how many entries: cut short", " ");
  says("number 1, how many entries: not a number of 0 to 268435456: 'x'", "x");
  says("number 2, how many nodes: not a number of 1 to 1048576: '0'", "1 0");
  says("number 3, the first entry of a node: not a number of 0 to 0: '1'", "1 1 1 1 0 1");
  says("number 5, the first entry of a node: not a number of 1 to 2: '0'", "2 3 0 1 0 2 0 0 1 1");
  says("number 4, the first entry of a node: not a number of 1 to 1: '2'", "1 1 0 2 0 1");
  says("number 5, a column: not a number of 0 to 0: '1'", "1 1 0 1 1 1");
  says("number 6, a value: not a number of a float: 'nan'", "1 1 0 1 0 nan");
  says("number 6, a value: not a number of a float: '1e99'", "1 1 0 1 0 1e99");
  says("number 6, a value: cut short", "1 1 0 1 0");
  says("number 4, the columns and values: cut short", "268435456 1 0 268435456 0 1");
  says("number 8, a value: cut short", "2 1 0 2   0 0 1");
  says("number 6, the end: more numbers than entries", "1 1 0 1 0 1 7");
  EXPECT_THAT(complaint([&] { (void)read_problem(path("none.data")); }), HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace pagerank
