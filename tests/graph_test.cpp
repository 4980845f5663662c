#include <gtest/gtest.h>

#include "lib/graph.hpp"

namespace {

using namespace hiway;

TEST(Graph, ComponentsOfAChainAreItsNodesInReverseOrder) {
  EXPECT_EQ(strong_components({{1}, {2}, {}}), (std::vector<std::uint32_t>{2, 1, 0}));
}
TEST(Graph, ACycleIsOneComponent) {
  auto const c = strong_components({{1}, {2}, {1, 3}, {}});
  EXPECT_EQ(c[1], c[2]);
  EXPECT_NE(c[0], c[1]);
  EXPECT_NE(c[3], c[1]);
  EXPECT_LT(c[3], c[1]);
  EXPECT_LT(c[1], c[0]);
}
TEST(Graph, ANodeThatFeedsItselfIsAComponentOfItsOwn) {
  EXPECT_EQ(strong_components({{0}}), (std::vector<std::uint32_t>{0}));
}
TEST(Graph, TwoCyclesThatTouchAreOneComponent) {
  auto const c = strong_components({{1}, {0, 2}, {1}});
  EXPECT_EQ(c[0], c[1]);
  EXPECT_EQ(c[1], c[2]);
}

}  // namespace
