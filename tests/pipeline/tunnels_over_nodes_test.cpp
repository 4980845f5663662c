// Between which nodes a tunnel has lanes: who sends to whom, and that both sides agree.
#include "lib/pipeline/tunnels_over_nodes.hpp"

#include <gmock/gmock.h>

namespace {

using namespace hiway;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TunnelOverNodes tunnel(std::vector<int> writers, std::vector<int> readers) {
  return tunnels_over_nodes(
             {.stages = {{.into = {0}, .nodes = std::move(writers)}, {.from = {0}, .nodes = std::move(readers)}},
              .tunnels = {"t"}})
      .tunnels.front();
}

TEST(TunnelsOverNodes, ItemsStayWhereWritersAndReadersAreOnTheSameNodes) {
  EXPECT_FALSE(tunnel({0}, {0}).crosses());
  EXPECT_FALSE(tunnel({0, 1, 2}, {0, 1, 2}).crosses());
  EXPECT_TRUE(tunnel({0}, {1}).crosses());
  EXPECT_TRUE(tunnel({0}, {0, 1}).crosses());
}

TEST(TunnelsOverNodes, AnEndWithoutStagesCrossesNothing) {
  EXPECT_FALSE(tunnel({0}, {}).crosses());
  EXPECT_FALSE(tunnel({}, {1}).crosses());
}

TEST(TunnelsOverNodes, FromOneToAnother) {
  auto const t = tunnel({0}, {1});
  EXPECT_TRUE(t.is_put_at(0) && !t.is_put_at(1) && t.is_got_at(1) && !t.is_got_at(0));
  EXPECT_THAT(t.to(0), ElementsAre(1));
  EXPECT_THAT(t.from(1), ElementsAre(0));
}

TEST(TunnelsOverNodes, ANodeSharesWithTheOthersWhatItMayWorkOnItself) {
  auto const t = tunnel({0}, {0, 1, 2});
  EXPECT_THAT(t.to(0), ElementsAre(0, 1, 2));
  EXPECT_THAT(t.from(0), ElementsAre(0));
  EXPECT_THAT(t.from(2), ElementsAre(0));
}

TEST(TunnelsOverNodes, OneGathersFromAll) {
  auto const t = tunnel({0, 1, 2}, {0});
  EXPECT_THAT(t.to(0), ElementsAre(0));
  EXPECT_THAT(t.to(2), ElementsAre(0));
  EXPECT_THAT(t.from(0), ElementsAre(0, 1, 2));
}

// Every choice of nodes out of four for both ends.
TEST(TunnelsOverNodes, BothSidesAgreeAndNoItemGoesInACircle) {
  auto const chosen = [](unsigned bits) {
    std::vector<int> nodes;
    for (int k = 0; k < 4; ++k) {
      if ((bits >> k & 1) != 0) nodes.push_back(k);
    }
    return nodes;
  };
  for (unsigned w = 1; w < 16; ++w) {
    for (unsigned r = 1; r < 16; ++r) {
      auto const t = tunnel(chosen(w), chosen(r));
      if (!t.crosses()) continue;
      for (int const writer : t.writers) {
        EXPECT_THAT(t.to(writer), testing::Not(IsEmpty())) << "its items have somewhere to go";
        for (int const reader : t.readers) {
          bool const sends = testing::Value(t.to(writer), testing::Contains(reader));
          bool const receives = testing::Value(t.from(reader), testing::Contains(writer));
          EXPECT_EQ(sends, receives) << writer << " to " << reader;
          bool const back =
              t.is_put_at(reader) && t.is_got_at(writer) && testing::Value(t.to(reader), testing::Contains(writer));
          EXPECT_FALSE(sends && back && writer != reader) << writer << " and " << reader;
        }
      }
      for (int const reader : t.readers) EXPECT_THAT(t.from(reader), testing::Not(IsEmpty()));
    }
  }
}

TEST(TunnelsOverNodes, StagesOfOneEndAddUp) {
  auto const all = tunnels_over_nodes(
      {.stages = {{.into = {0}, .nodes = {2}}, {.into = {0}, .nodes = {0, 2}}, {.from = {0}, .nodes = {1}}},
       .tunnels = {"t"}});
  EXPECT_THAT(all.tunnels[0].writers, ElementsAre(0, 2));
}

TEST(TunnelsOverNodes, ACycleStaysWithinEachNode) {
  GraphOverNodes graph{.stages = {{.into = {0}, .nodes = {0}}, {.from = {0, 1}, .into = {1}, .nodes = {0, 1}}},
                       .tunnels = {"work", "more"}};
  EXPECT_THAT(tunnels_over_nodes(graph).problems, IsEmpty()) << "'more' stays, and 'work' is in no cycle";
  graph.stages.push_back({.from = {1}, .into = {}, .nodes = {2}});
  EXPECT_THAT(tunnels_over_nodes(graph).problems, ElementsAre(HasSubstr("tunnel 'more' is in a cycle")));
}

}  // namespace
