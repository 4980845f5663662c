// The binary search tree: what is one, the keys that are made, and that each method grows one with all keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <set>
#include <thread>
#include <vector>

#include "bst/methods.hpp"

namespace bst {
namespace {

using Keys = std::vector<Key>;

Node node(Key key, std::uint32_t left, std::uint32_t right) { return {key, {{left}, {right}}}; }

/// Of every method that an emulated device runs, in several forms.
std::vector<Measurement> all_runs(Problem const& problem) {
  Job const job{.device = "simt", .repeat = 2};
  Job const pinned{.device = "simt", .pinned = true};
  std::vector<Measurement> all = run_reference(problem, job);
  auto const add = [&](std::vector<Measurement> const& runs) { all.insert(all.end(), runs.begin(), runs.end()); };
  add(run_hiway(problem, {}, job));
  add(run_hiway(problem, {.blocks = 3, .threads = 96}, pinned));
  add(run_baseline(problem, {}, job));
  add(run_baseline(problem, {.threads = 96}, pinned));
  return all;
}
void expect_right(Problem const& problem) {
  for (Measurement const& run : all_runs(problem)) {
    EXPECT_TRUE(is_right(run.summary, problem.keys)) << problem.nodes();
    EXPECT_EQ(run.items, problem.nodes() - problem.initial);
  }
}

TEST(BstSummary, IsOfASearchTreeWithEqualKeysOnTheRight) {
  std::vector<Node> const nodes{node(5, 1, 2), node(3, none, none), node(5, none, 3), node(7, none, none)};
  Summary const summary = summarize(nodes);
  EXPECT_TRUE(summary.is_search_tree);
  EXPECT_EQ(summary.nodes, 4U);
  EXPECT_EQ(summary.depth, 3U);
  EXPECT_TRUE(is_right(summary, Keys{5, 3, 5, 7}));
  EXPECT_TRUE(is_right(summary, Keys{7, 5, 5, 3})) << "the order of keys does not matter";
  EXPECT_FALSE(is_right(summary, Keys{5, 3, 5, 8}));
  EXPECT_FALSE(is_right(summary, Keys{5, 3, 5}));
  EXPECT_FALSE(is_right(summary, Keys{5, 3, 5, 7, 7}));
}
TEST(BstSummary, SaysWhatIsNone) {
  auto const is_tree = [](std::vector<Node> const& nodes) { return summarize(nodes).is_search_tree; };
  EXPECT_FALSE(is_tree({node(5, 1, none), node(5, none, none)})) << "an equal key on the left";
  EXPECT_FALSE(is_tree({node(5, none, 1), node(4, none, none)})) << "a lower key on the right";
  // Right of its parent, but on the wrong side of the root: what the original does where a link has been taken.
  EXPECT_FALSE(is_tree({node(5, 1, none), node(3, none, 2), node(6, none, none)}));
  EXPECT_FALSE(is_tree({node(5, none, 1), node(8, 2, none), node(4, none, none)}));
  EXPECT_FALSE(is_tree({node(5, 1, 1), node(5, none, none)})) << "a node twice";
  EXPECT_FALSE(is_tree({node(5, none, 0)})) << "a circle";
  EXPECT_FALSE(is_tree({node(5, none, 1)})) << "a node that is none";
  EXPECT_EQ(summarize(std::vector<Node>{node(5, none, none), node(6, none, none)}).nodes, 1U) << "one that is lost";
}

TEST(BstProblem, HasKeysOf31Bits) {
  Problem const problem = make_problem(1000, 11, 33, 1);
  EXPECT_EQ(problem.nodes(), 1011U);
  EXPECT_EQ(problem.initial, 11U);
  EXPECT_EQ(problem.by_cpu, 330U);
  EXPECT_EQ(problem.of_gpu().size(), 670U);
  EXPECT_EQ(problem.of_gpu().front(), problem.keys[341]);
  EXPECT_GE(*std::ranges::min_element(problem.keys), 0);
  EXPECT_LT(*std::ranges::max_element(problem.keys), Key{1} << 31);
  EXPECT_GT(*std::ranges::max_element(problem.keys), Key{1} << 30);
  EXPECT_GT(std::set<Key>(problem.keys.begin(), problem.keys.end()).size(), 1000U);
  EXPECT_NE(make_problem(1000, 11, 33, 2).keys, problem.keys) << "the seed changes nothing";
  EXPECT_EQ(make_problem(3, 1, 30, 1).by_cpu, 0U);
  EXPECT_EQ(make_problem(3, 1, 100, 1).by_cpu, 3U);
}

TEST(BstMethods, GrowATreeByHand) {
  // The tree is 4 (2, 6); the CPU inserts 1 and 4, the GPU 5, 6 and 3.
  Problem const problem{{4, 2, 6, 1, 4, 5, 6, 3}, 3, 2};
  expect_right(problem);
  std::vector<Node> const tree = initial_tree(problem);
  EXPECT_EQ(tree[0].child[0].bits, 1U);
  EXPECT_EQ(tree[0].child[1].bits, 2U);
  EXPECT_EQ(summarize(tree).nodes, 3U);
  // 4 is left of 6, and 5 then right of 4; 6 is right of 6; 3 is right of 2, as 1 is left.
  EXPECT_EQ(run_reference(problem, {}).front().summary.depth, 4U);
}

TEST(BstMethods, TakeEdgesOfNumbers) {
  expect_right({{7}, 1, 0});
  expect_right({{7, 7}, 1, 1});
  expect_right({{7, 6}, 1, 0});
  expect_right({Keys(90, 5), 2, 30});
  for (std::uint32_t const percent : {0U, 29U, 100U}) expect_right(make_problem(1501, 1, percent, percent));
  Problem few = make_problem(800, 5, 50, 3);
  for (Key& key : few.keys) key %= 64;
  expect_right(few);
}

TEST(BstInsert, OfManyThreadsLosesNothing) {
  Problem const problem = make_problem(20'000, 1, 0, 4);
  std::vector<Node> nodes = initial_tree(problem);
  std::vector<std::jthread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      hiway::anywhere([&](auto m) {
        for (std::uint32_t i = 1 + t; i < problem.nodes(); i += 4) insert(m, nodes.data(), i, problem.keys[i]);
      });
    });
  }
  threads.clear();
  EXPECT_TRUE(is_right(summarize(nodes), problem.keys));
}

}  // namespace
}  // namespace bst
