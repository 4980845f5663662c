// The breadth-first search: graphs by hand and made, files, and that each method finds the levels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bfs/input.hpp"
#include "bfs/methods.hpp"
#include "cli/hash.hpp"
#include "tests/apps/files.hpp"

namespace bfs {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Graph graph_from(std::uint32_t vertices, Pairs const& pairs) {
  return graph_of(vertices, [&](auto const& add) {
    for (auto const& [from, to] : pairs) add(from, to);
  });
}
std::uint64_t hash_of(std::vector<std::uint32_t> const& levels) {
  std::uint64_t hash = cli::first_hash;
  for (std::uint32_t const level : levels) hash = cli::hash_on(hash, level);
  return hash;
}
/// Of every method, hiway in several forms.
std::vector<Measurement> all_runs(Problem const& problem, std::uint32_t piece) {
  using hiway::Grouping;
  Job const job{.device = "simt", .repeat = 2};
  std::vector<Measurement> all = run_reference(problem, job);
  auto const add = [&](std::vector<Measurement> const& runs) { all.insert(all.end(), runs.begin(), runs.end()); };
  add(run_baseline(problem, {.piece = piece}, job));
  for (Grouping const grouping : {Grouping::none, Grouping::warp, Grouping::block, Grouping::block_scan})
    add(run_hiway(problem, {.piece = piece, .grouping = grouping}, job));
  add(run_hiway(problem, {.blocks = 1, .threads = 32, .piece = piece, .capacity = 1}, job));  // most is spilled
  return all;
}

TEST(BfsGraph, KeepsTheEdgesOfEachVertexInTheirOrder) {
  Graph const graph = graph_from(4, {{2, 0}, {0, 1}, {2, 3}, {2, 0}, {0, 0}});
  EXPECT_EQ(graph.first, (std::vector<std::uint32_t>{0, 2, 2, 5, 5}));
  EXPECT_EQ(graph.targets, (std::vector<std::uint32_t>{1, 0, 0, 3, 0}));
  EXPECT_EQ(busiest(graph), 2U);
}

TEST(BfsGraph, OfStreetsHasLongWaysAndFewEdges) {
  Graph const graph = make_road(40, 30, 1);
  EXPECT_EQ(graph.vertices(), 1200U);
  EXPECT_NEAR(graph.edges(), 2 * 1200 * (1.6 + 1.0 / 16), 250);
  std::set<std::uint32_t> steps;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    EXPECT_LE(graph.edges_of(v), 6U);
    for (std::uint32_t e = graph.first[v]; e < graph.first[v + 1]; ++e) {
      std::uint32_t const to = graph.targets[e];
      steps.insert(to > v ? to - v : v - to);
      auto const back = graph.targets.begin();
      EXPECT_EQ(std::count(back + graph.first[to], back + graph.first[to + 1], v), 1) << "one way: " << v;
    }
  }
  EXPECT_EQ(steps, (std::set<std::uint32_t>{1, 40, 41}));
  EXPECT_GE(run_reference({graph, 0}, {}).front().summary.depth, 40U);
  EXPECT_NE(make_road(40, 30, 2).targets, graph.targets) << "the seed changes nothing";
}

TEST(BfsGraph, OfAPowerLawHasAFewVerticesWithManyEdges) {
  Graph const graph = make_power_law(12, 16, 1);
  EXPECT_EQ(graph.vertices(), 4096U);
  EXPECT_EQ(graph.edges(), 2U * 16 * 4096);
  std::vector<std::uint32_t> degrees;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) degrees.push_back(graph.edges_of(v));
  std::ranges::sort(degrees, std::greater{});
  EXPECT_GT(degrees[0], 800U);
  EXPECT_LT(degrees[2048], 16U);
  EXPECT_NE(busiest(graph), 0U) << "vertices are not shuffled";
  EXPECT_NE(make_power_law(12, 16, 2).targets, graph.targets) << "the seed changes nothing";
  // In the first quadrant 57 of 100 edges, twice.
  std::uint64_t in_both = 0;
  Graph const two = make_power_law(1, 50'000, 1);
  for (std::uint32_t e = two.first[0]; e < two.first[1]; ++e) in_both += two.targets[e] == 0 ? 1U : 0U;
  double const share = static_cast<double>(in_both) / two.edges();
  EXPECT_TRUE(std::abs(share - 0.57) < 0.01 || std::abs(share - 0.05) < 0.01) << share;
}

TEST(BfsMethods, FindTheLevelsOfASmallGraph) {
  // 0 -> 1 -> 2 -> 3 and a short way 0 -> 3; 4 leads to 0, and 5 to itself: neither is reached.
  Problem const problem{graph_from(6, {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {3, 0}, {4, 0}, {5, 5}}), 0};
  for (Measurement const& run : all_runs(problem, 64)) {
    EXPECT_EQ(run.summary.levels_hash, hash_of({0, 1, 2, 1, unreached, unreached}));
    EXPECT_EQ(run.summary.reached, 4U);
    EXPECT_EQ(run.summary.edges, 5U);
    EXPECT_EQ(run.summary.depth, 2U);
    EXPECT_GE(run.work.edges, 5U);
    EXPECT_GE(run.work.puts, 4U);
  }
}

TEST(BfsMethods, TakeOneVertexWithoutEdges) {
  for (Measurement const& run : all_runs({graph_from(1, {}), 0}, 1)) {
    EXPECT_EQ(run.summary.levels_hash, hash_of({0}));
    EXPECT_EQ(run.summary.reached, 1U);
    EXPECT_EQ(run.work.edges, 0U);
  }
}

TEST(BfsMethods, ShareOutManyEdgesOfAVertex) {
  Pairs pairs;
  for (std::uint32_t v = 1; v < 300; ++v) pairs.emplace_back(0, v);
  pairs.emplace_back(299, 300);
  Problem const problem{graph_from(301, pairs), 0};
  std::vector<std::uint32_t> levels(301, 1);
  levels[0] = 0;
  levels[300] = 2;
  for (std::uint32_t const piece : {1U, 7U, 299U}) {
    for (Measurement const& run : all_runs(problem, piece)) {
      EXPECT_EQ(run.summary.levels_hash, hash_of(levels)) << piece;
      EXPECT_EQ(run.work.edges, 300U) << piece;
    }
    // A visit for each piece; hiway's are halves of halves.
    EXPECT_EQ(run_baseline(problem, {.piece = piece}, {.device = "simt"}).front().work.puts, (298 + piece) / piece + 1);
    EXPECT_GE(run_hiway(problem, {.piece = piece}, {.device = "simt"}).front().work.puts, (298 + piece) / piece + 1);
  }
}

TEST(BfsMethods, FindTheOraclesLevels) {
  for (Graph const& graph : {make_road(37, 23, 3), make_power_law(8, 5, 3)}) {
    Problem const problem{graph, busiest(graph)};
    Summary const oracle = run_reference(problem, {}).front().summary;
    for (Measurement const& run : all_runs(problem, 5)) {
      EXPECT_EQ(run.summary, oracle);
      EXPECT_EQ(run.items, oracle.reached);
      EXPECT_GE(run.work.edges, oracle.edges);
    }
  }
}

class BfsFile : public Files {};

TEST_F(BfsFile, HasTheEdgesOfItsLines) {
  Graph const graph =
      read_dimacs(plain("a.gr", "c streets\n\np sp 3 4\na 1 2 17\r\na\t2  3 1.5\nc more\na 3 1 0\na 1 3 9"));
  EXPECT_EQ(graph.first, (std::vector<std::uint32_t>{0, 2, 3, 4}));
  EXPECT_EQ(graph.targets, (std::vector<std::uint32_t>{1, 2, 2, 0}));
}

TEST_F(BfsFile, ThatIsBadIsRefusedInOneLine) {
  auto const says = [&](std::string const& text, std::string const& content) {
    std::string const said = complaint([&] { (void)read_dimacs(plain("b.gr", content)); });
    EXPECT_NE(said.find("b.gr: "), std::string::npos) << said;
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  says("no line `p sp VERTICES EDGES`", "");
  says("line 1: neither c, p nor a: 'x'", "x 1 2\n");
  says("line 1: not p sp VERTICES EDGES", "p sp 3\n");
  says("line 1: not p sp VERTICES EDGES", "p max 3 1\n");
  says("line 1: not a number of 1 to 268435456: '0'", "p sp 0 0\n");
  says("line 1: not a number of 1 to 268435456: '-1'", "p sp -1 0\n");
  says("line 1: not a number of 0 to 2147483648: '1x'", "p sp 1 1x\n");
  says("line 2: a second line p", "p sp 1 0\np sp 1 0\n");
  says("line 1: an edge before the line p", "a 1 1 1\n");
  says("line 2: not a FROM TO LENGTH", "p sp 2 1\na 1 2\n");
  says("line 2: not a number of 1 to 2: '3'", "p sp 2 1\na 1 3 1\n");
  says("line 2: not a number: 'far'", "p sp 2 1\na 1 2 far\n");
  says("line 3: more than 1 edges", "p sp 2 1\na 1 2 1\na 1 2 1\n");
  says("1 edges leave most of 2000000 vertices without any", "p sp 2000000 1\na 1 2 1\n");
  says("cut short: 1 edges, not 2", "p sp 2 2\na 1 2 1\n");
  EXPECT_NE(complaint([&] { (void)read_dimacs(path("none.gr")); }).find("cannot be opened"), std::string::npos);
}

}  // namespace
}  // namespace bfs
