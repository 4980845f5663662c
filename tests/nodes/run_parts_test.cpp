// What node 0 gathers when a run is over, and what the others learn of its clock.
#include "lib/nodes/run_parts.hpp"

#include <gmock/gmock.h>

#include "lib/nodes/run_news.hpp"
#include "tests/nodes/together.hpp"

namespace {

using hiway::detail::nodes::gather_parts;
using hiway::detail::nodes::give_part;
using hiway::detail::nodes::Listener;
using hiway::detail::nodes::Meeting;
using hiway::detail::nodes::Origin;
using hiway::detail::nodes::origin_of;
using hiway::detail::nodes::Part;
using hiway::detail::nodes::RunNews;
using hiway::detail::nodes::RunOfNodes;
using hiway_tests::fresh_name;
using hiway_tests::together;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::Each;
using testing::IsEmpty;

constexpr milliseconds brief{300}, ample{60'000};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

/// A run that is over on all nodes; what comes after it is of it.
RunOfNodes over(Meeting& meeting, RunNews& news, milliseconds patience) {
  news.begin();
  news.say_over();
  while (!news.is_settled()) news.step();
  return {meeting, news.number(), patience};
}

TEST(RunParts, EachNodeGivesItsOwn) {
  Listener const listener(fresh_name());
  std::vector<Part> gathered;
  auto const errors = together(listener, 3, [&](Meeting& meeting) {
    RunNews news(meeting, ample);
    for (int i = 0; i < 3; ++i) {
      RunOfNodes const run = over(meeting, news, ample);
      if (meeting.node() == 0) {
        gathered = gather_parts(run, 7, -1);
        continue;
      }
      // More than a piece, and as much as some pieces exactly.
      std::size_t const size = (std::size_t{3} << 20) + static_cast<std::size_t>(meeting.node() == 1 ? 5 : 0);
      auto const make = [&](Origin const&) {
        return std::string(size, static_cast<char>('a' + meeting.node())) + std::to_string(i);
      };
      EXPECT_TRUE(give_part(run, make));
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  ASSERT_EQ(gathered.size(), 3u);
  EXPECT_EQ(gathered[1].text, std::string((3 << 20) + 5, 'b') + "2");
  EXPECT_EQ(gathered[2].text, std::string(3 << 20, 'c') + "2");
}

// Node 0 looks at its clock at some time between question and answer, and its clock may show anything.
TEST(RunParts, NodeZerosClockIsReadBetweenQuestionAndAnswer) {
  constexpr std::int64_t asked = 1'000, origin = -7;
  for (std::int64_t const heard : {asked, asked + 1, asked + 300, asked + 301}) {
    for (std::int64_t const other_clock : {std::int64_t{-5'000'000'000}, std::int64_t{0}, std::int64_t{80}}) {
      for (std::int64_t const looked : {asked, (asked + heard) / 2, heard}) {
        Origin const seen = origin_of({looked + other_clock, origin + other_clock}, asked, heard);
        EXPECT_LE(std::abs(seen.ns - origin), seen.error_ns) << heard << ", " << looked;
        EXPECT_EQ(seen.error_ns, (heard - asked + 1) / 2);
      }
    }
  }
}

TEST(RunParts, ANodeLearnsWhenNode0Began) {
  Listener const listener(fresh_name());
  std::int64_t const began = now_ns() - 5'000'000'000;
  auto const errors = together(listener, 2, [&](Meeting& meeting) {
    RunNews news(meeting, ample);
    RunOfNodes const run = over(meeting, news, ample);
    if (meeting.node() == 0) {
      std::this_thread::sleep_for(milliseconds(50));  // the first answer takes long: it does not count
      static_cast<void>(gather_parts(run, began, -1));
      return;
    }
    auto const make = [&](Origin const& origin) {  // both have one clock
      EXPECT_LE(std::abs(origin.ns - began), origin.error_ns);
      EXPECT_LT(origin.error_ns, 20'000'000);
      return std::string();
    };
    EXPECT_TRUE(give_part(run, make));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(RunParts, WhoGivesNothingIsNotWaitedForLongAndIsNamed) {
  Listener const listener(fresh_name());
  std::vector<Part> gathered;
  auto const errors = together(listener, 6, [&](Meeting& meeting) {
    RunNews news(meeting, ample);
    RunOfNodes const run = over(meeting, news, brief);
    switch (meeting.node()) {
      case 0: gathered = gather_parts(run, 0, 4); break;
      case 1: EXPECT_TRUE(give_part(run, [](Origin const&) { return std::string("here"); })); break;
      case 2: news.begin(), news.say_over(), static_cast<void>(meeting.channels()[0]->step()); break;
      case 5: return;  // its connection is closed
      default: break;
    }
    std::this_thread::sleep_for(4 * brief);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  ASSERT_EQ(gathered.size(), 6u);
  EXPECT_EQ(gathered[1].text, "here");
  EXPECT_EQ(gathered[1].missing, "");
  EXPECT_EQ(gathered[2].missing, "it has gone on without giving it");
  EXPECT_EQ(gathered[3].missing, "it has not given it in time");
  EXPECT_EQ(gathered[4].missing, "it is gone");  // as node 0 knew before
  EXPECT_EQ(gathered[5].missing, "it is gone");
}

TEST(RunParts, Node0ThatHasGoneOnTakesNothingAndIsNotDisturbed) {
  Listener const listener(fresh_name());
  auto const errors = together(listener, 2, [&](Meeting& meeting) {
    RunNews news(meeting, ample);
    RunOfNodes const run = over(meeting, news, brief);
    if (meeting.node() == 1) {
      EXPECT_FALSE(give_part(run, [](Origin const&) { return std::string(); }));
    }
    static_cast<void>(over(meeting, news, ample));  // the question, which came too late, is dropped
    EXPECT_EQ(meeting.exchange({}).size(), 2u);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

}  // namespace
