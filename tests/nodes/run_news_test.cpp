// What nodes tell each other during a run: that it is over, that it has failed, and which node is lost.
#include "lib/nodes/run_news.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <set>
#include <utility>

#include "tests/nodes/together.hpp"

namespace {

using hiway::detail::nodes::Bytes;
using hiway::detail::nodes::Kind;
using hiway::detail::nodes::Listener;
using hiway::detail::nodes::Meeting;
using hiway::detail::nodes::Place;
using hiway::detail::nodes::RunNews;
using hiway::detail::nodes::Silence;
using hiway_tests::error_of;
using hiway_tests::fresh_name;
using hiway_tests::loopback;
using hiway_tests::together;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::Each;
using testing::Field;
using testing::IsEmpty;
using testing::Pointee;
using testing::StartsWith;
using Failure = RunNews::Failure;
using Errors = std::vector<std::string>;

constexpr milliseconds brief{400},
    ample{60'000};  // patience: a test that waits for its end, and one that must not see it

/// Until `until` is true. A test that hangs fails.
template <class Until>
void wait(Until until) {
  auto const deadline = steady_clock::now() + seconds(30);
  while (!until()) {
    if (steady_clock::now() > deadline) throw hiway::Error("the test waits for too long");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}
template <class Until>
void step_until(RunNews& news, Until until) {
  wait([&] {
    news.step();
    return until();
  });
}
void settle(RunNews& news) {
  step_until(news, [&] { return news.is_settled(); });
}
void step_for(RunNews& news, milliseconds time) {
  auto const end = steady_clock::now() + time;
  step_until(news, [&] { return steady_clock::now() > end; });
}

/// A run in which every node says that it is over.
void pass_a_run(RunNews& news) {
  news.begin();
  news.say_over();
  settle(news);
  EXPECT_TRUE(news.is_over());
  EXPECT_EQ(news.failure(), nullptr);
}

/// Every node is there and hears the others.
void exchange(Meeting& meeting) {
  Bytes const mine(3, static_cast<std::byte>(meeting.node()));
  auto const all = meeting.exchange(mine);
  for (std::size_t node = 0; node < all.size(); ++node) EXPECT_EQ(all[node], Bytes(3, static_cast<std::byte>(node)));
}

testing::Matcher<Failure const*> is_failure(int node, testing::Matcher<std::string const&> const& why, bool gone) {
  return Pointee(AllOf(Field("node", &Failure::node, node), Field("why", &Failure::why, why),
                       Field("gone", &Failure::gone, gone)));
}
testing::Matcher<Failure const*> is_silence_of(int node) {
  return is_failure(node, "nodes: node " + std::to_string(node) + " has said nothing for 400 ms (stopped, or cut off)",
                    true);
}

testing::Matcher<Failure const*> is_gone(int node) {
  return is_failure(node, StartsWith("nodes: node " + std::to_string(node) + " is gone: "), true);
}

/// No call works any more, and each says why.
void look_at_the_end(Meeting& meeting, RunNews& news) {
  ASSERT_NE(news.failure(), nullptr);
  std::string const why = "Error: " + news.failure()->why;
  EXPECT_EQ(error_of([&] { static_cast<void>(meeting.exchange({})); }), why);
  EXPECT_EQ(error_of([&] { meeting.require_same("the pipeline", ""); }), why);
  EXPECT_EQ(error_of([&] { news.begin(); }), why);
}

class NodesRunNews : public testing::TestWithParam<bool> {
 protected:
  static Place place() { return GetParam() ? loopback() : fresh_name(); }

  /// body(meeting, news) on each of so many nodes.
  template <class Body>
  static void on_each(int size, milliseconds patience, Body body) {
    Listener const listener(place());
    Errors const errors = together(listener, size, [&](Meeting& meeting) {
      RunNews news(meeting, patience);
      body(meeting, news);
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
};
INSTANTIATE_TEST_SUITE_P(Over, NodesRunNews, testing::Bool(),
                         [](auto const& over) { return over.param ? "Tcp" : "AName"; });

TEST_P(NodesRunNews, WhatANodeSaysIsHeardAtNode0) {
  on_each(3, ample, [](Meeting& meeting, RunNews& news) {
    news.begin();
    if (meeting.node() == 2) news.say("slow");
    std::vector<RunNews::Said> said;
    if (meeting.node() == 0) {
      step_until(news, [&] {
        said = news.take_said();
        return !said.empty();
      });
      EXPECT_EQ(said.front().node, 2);
      EXPECT_EQ(said.front().text, "slow");
    }
    news.say_over();
    settle(news);
    EXPECT_THAT(news.take_said(), IsEmpty());
    pass_a_run(news);
  });
}

TEST_P(NodesRunNews, WhatNode0AsksIsHeardByAllOthersOnce) {
  on_each(3, ample, [](Meeting& meeting, RunNews& news) {
    news.begin();
    if (meeting.node() == 0) {
      news.ask();
    } else {
      step_until(news, [&] { return news.take_asked(); });
    }
    news.say_over();
    settle(news);
    EXPECT_FALSE(news.take_asked());
    pass_a_run(news);
  });
}

TEST_P(NodesRunNews, AnErrorReachesAllWithItsNode) {
  on_each(4, ample, [](Meeting& meeting, RunNews& news) {
    for (int fails = 0; fails < meeting.size(); ++fails) {
      news.begin();
      if (meeting.node() == fails) news.say_failed("stage 'a': no more");
      settle(news);
      EXPECT_THAT(news.failure(), is_failure(fails, "stage 'a': no more", false)) << "on node " << meeting.node();
      EXPECT_FALSE(news.is_over());
      exchange(meeting);
      pass_a_run(news);
    }
  });
}

TEST_P(NodesRunNews, TwoErrorsAtOnceGiveOneVerdict) {
  constexpr int size = 3, runs = 100;
  std::mutex mutex;
  std::vector<std::set<std::pair<int, std::string>>> verdicts(runs);
  on_each(size, ample, [&](Meeting& meeting, RunNews& news) {
    for (std::size_t run = 0; run < runs; ++run) {
      news.begin();
      if (meeting.node() != static_cast<int>(run % size)) news.say_failed("of " + std::to_string(meeting.node()));
      settle(news);
      ASSERT_NE(news.failure(), nullptr);
      {
        std::lock_guard const lock(mutex);
        verdicts[run].emplace(news.failure()->node, news.failure()->why);
      }
      pass_a_run(news);  // at once: what is left of the run before may come now
    }
  });
  for (auto const& verdict : verdicts) {
    ASSERT_EQ(verdict.size(), 1u);
    EXPECT_EQ(verdict.begin()->second, "of " + std::to_string(verdict.begin()->first));
  }
}

TEST_P(NodesRunNews, ItIsOverOnlyWhenAllAre) {
  on_each(1, ample, [](Meeting&, RunNews& news) {
    EXPECT_TRUE(news.is_over()) << "no run is under way";
    pass_a_run(news);
  });
  for (int last = 0; last < 3; ++last) {
    std::atomic<bool> said{false};
    on_each(3, brief, [&](Meeting& meeting, RunNews& news) {
      news.begin();
      EXPECT_FALSE(news.is_over());
      if (meeting.node() == last) {
        step_for(news, 2 * brief);  // the others still say that they are there
        said = true;
      }
      news.say_over();
      step_until(news, [&] { return news.is_over() || news.failure() != nullptr; });
      EXPECT_TRUE(said) << "on node " << meeting.node();
      settle(news);
      EXPECT_EQ(news.failure(), nullptr);
      if (meeting.node() == last) news.say_failed("too late: all are over");
      step_for(news, milliseconds(5));
      EXPECT_EQ(news.failure(), nullptr);
      exchange(meeting);
    });
  }
}

TEST_P(NodesRunNews, PipelinesRunInTurn) {
  on_each(3, ample, [](Meeting& meeting, RunNews& first) {
    RunNews second(meeting, ample);
    pass_a_run(first);
    for (int i = 0; i < 3; ++i) {
      pass_a_run(first);
      if (meeting.node() == 0) step_for(first, milliseconds(20));  // the others are in the second's run
      pass_a_run(second);
      if (meeting.node() != 0) step_for(second, milliseconds(20));
    }
    exchange(meeting);
  });
}

TEST_P(NodesRunNews, ANodeThatIsOverMayStillFail) {
  on_each(3, ample, [](Meeting& meeting, RunNews& news) {
    news.begin();
    if (meeting.node() != 0) news.say_over();
    if (meeting.node() == 2) news.say_failed("after all");
    settle(news);
    EXPECT_THAT(news.failure(), is_failure(2, "after all", false));
    EXPECT_FALSE(news.is_over());
    exchange(meeting);
  });
}

TEST_P(NodesRunNews, ANodeThatStopsIsNamed) {
  std::mutex mutex;
  auto soonest = steady_clock::duration::max();  // a loaded machine may hold up those that listen, too
  for (int stops = 0; stops < 3; ++stops) {
    std::atomic<int> begun{0}, settled{0};
    on_each(3, brief, [&](Meeting& meeting, RunNews& news) {
      news.begin();
      step_for(news, milliseconds(20));
      ++begun;
      if (meeting.node() == stops) {
        wait([&] { return settled == 2; });
        settle(news);  // it learns of it: the others have told, or have left
        EXPECT_THAT(news.failure(), stops != 0 ? is_silence_of(stops) : is_gone(1));
        ++settled;
      } else {
        step_until(news, [&] { return begun == 3; });
        auto const before = steady_clock::now();
        settle(news);
        EXPECT_THAT(news.failure(), is_silence_of(stops)) << "on node " << meeting.node();
        std::lock_guard const lock(mutex);
        soonest = std::min(soonest, steady_clock::now() - before);
        ++settled;
      }
      look_at_the_end(meeting, news);
      wait([&] { return settled == 3; });  // a node that ends would be gone
    });
  }
  EXPECT_LT(soonest, brief * 3 / 2);
}

TEST_P(NodesRunNews, ANodeThatBeginsLateIsWaitedFor) {
  for (int late = 0; late < 2; ++late) {
    on_each(3, brief, [&](Meeting& meeting, RunNews& news) {
      pass_a_run(news);
      if (meeting.node() == late) std::this_thread::sleep_for(2 * brief);
      pass_a_run(news);
    });
  }
}

TEST_P(NodesRunNews, ANodeThatIsGoneIsNamed) {
  for (int goes = 0; goes < 4; ++goes) {
    on_each(4, ample, [&](Meeting& meeting, RunNews& news) {
      pass_a_run(news);
      news.begin();
      step_for(news, milliseconds(5));
      if (meeting.node() == goes) return;
      news.say_over();
      settle(news);
      EXPECT_THAT(news.failure(), is_gone(goes)) << "on node " << meeting.node();
      look_at_the_end(meeting, news);
    });
  }
}

TEST_P(NodesRunNews, ANodeThatFailsAndLosesNode0SaysWhyItFailed) {
  std::atomic<bool> said{false};
  on_each(2, ample, [&](Meeting& meeting, RunNews& news) {
    news.begin();
    if (meeting.node() == 0) return wait([&] { return said.load(); });
    news.say_failed("of its own");
    news.say_failed("the first call counts");
    EXPECT_EQ(news.failure(), nullptr) << "there is no verdict yet";
    said = true;
    settle(news);
    EXPECT_THAT(news.failure(), is_failure(1, "of its own", false));
    EXPECT_THAT(error_of([&] { news.begin(); }), StartsWith("Error: nodes: node 0 is gone: "));
  });
}

/// A message that comes after the verdict of its run, to what node 0 does next.
class NodesRunNewsLate : public NodesRunNews {
 protected:
  template <class Next>
  static void before(Next next) {
    std::atomic<bool> waits{false}, settled{false}, sent{false};
    on_each(3, ample, [&](Meeting& meeting, RunNews& news) {
      news.begin();
      if (meeting.node() == 1) {
        step_until(news, [&] { return waits.load(); });
        news.say_failed("the first");
      } else if (meeting.node() == 2) {
        step_for(news, milliseconds(5));
        waits = true;
        wait([&] { return settled.load(); });
        news.say_failed("too late");
        EXPECT_EQ(news.failure(), nullptr) << "the verdict is under way";
      }
      settle(news);
      EXPECT_THAT(news.failure(), is_failure(1, "the first", false)) << "on node " << meeting.node();
      (meeting.node() == 2 ? sent : settled) = true;
      wait([&] { return sent.load(); });
      next(meeting, news);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Over, NodesRunNewsLate, testing::Bool(),
                         [](auto const& over) { return over.param ? "Tcp" : "AName"; });

TEST_P(NodesRunNewsLate, TheVerdictStays) {
  before([](Meeting&, RunNews& news) {
    step_for(news, milliseconds(5));
    EXPECT_THAT(news.failure(), is_failure(1, "the first", false));
  });
}

TEST_P(NodesRunNewsLate, ARunDropsIt) {
  before([](Meeting&, RunNews& news) { pass_a_run(news); });
}

TEST_P(NodesRunNewsLate, ExchangeDropsIt) {
  before([](Meeting& meeting, RunNews&) { exchange(meeting); });
}

TEST_P(NodesRunNewsLate, RequireSameDropsIt) {
  before([](Meeting& meeting, RunNews&) { meeting.require_same("the pipeline", "a"); });
}

TEST_P(NodesRunNews, WhatComesEarlyStaysForItsTurn) {
  std::atomic<int> ahead{0};
  on_each(3, ample, [&](Meeting& meeting, RunNews& news) {
    for (int fails = 0; fails < meeting.size(); ++fails) {  // the next run's failure comes while others are in this one
      pass_a_run(news);
      if (meeting.node() != fails) step_until(news, [&] { return ahead > fails; });
      news.begin();
      if (meeting.node() == fails) {
        news.say_failed("early");
        step_for(news, milliseconds(5));
        ++ahead;
      }
      settle(news);
      EXPECT_THAT(news.failure(), is_failure(fails, "early", false)) << "on node " << meeting.node();
    }
    for (int late = 0; late < meeting.size(); ++late) {  // and so does what a call says
      pass_a_run(news);
      if (meeting.node() == late) step_for(news, milliseconds(20));
      exchange(meeting);
    }
  });
}

TEST_P(NodesRunNews, ANodeThatDoesNotReadHoldsUpTheOthersForThePatienceAtMost) {
  std::atomic<bool> settled{false};
  std::string const much(std::size_t{16} << 20, 'x');  // more than a socket holds
  on_each(2, brief, [&](Meeting& meeting, RunNews& news) {
    news.begin();
    if (meeting.node() == 1) {
      wait([&] { return settled.load(); });
      settle(news);
    } else {
      news.say_failed(much);
      auto const before = steady_clock::now();
      step_for(news, brief / 4);
      EXPECT_TRUE(!news.is_settled() || steady_clock::now() - before > brief) << "it has told nobody yet";
      settle(news);
      settled = true;
    }
    EXPECT_THAT(news.failure(), is_failure(0, much, false));
    exchange(meeting);
  });
}

TEST_P(NodesRunNews, AMessageWithoutARunIsNone) {
  on_each(2, ample, [&](Meeting& meeting, RunNews& news) {
    for (auto const& channel : meeting.channels()) {
      if (channel != nullptr) channel->send({Kind::run_failed, 1, nullptr});
    }
    pass_a_run(news);
  });
}

TEST(NodesSilence, ANodeCountsFromWhenItIsHeard) {
  Silence silence(3, milliseconds(1000));
  Silence::Time const start{seconds(100)};
  silence.begin();
  silence.hears(1, start);
  auto const silent_at = [&](int ms) {
    silence.listens(start + milliseconds(ms));
    return silence.silent(start + milliseconds(ms));
  };
  for (int ms = 0; ms <= 1000; ms += 200) EXPECT_EQ(silent_at(ms), std::nullopt) << ms;
  EXPECT_EQ(silent_at(1001), 1u);
  silence.hears(1, start + milliseconds(1001));
  silence.hears(2, start + milliseconds(1001));
  for (int ms = 1200; ms <= 2000; ms += 200) EXPECT_EQ(silent_at(ms), std::nullopt) << ms;
  silence.hears(1, start + milliseconds(2000));
  EXPECT_EQ(silent_at(2002), 2u);
  silence.begin();
  EXPECT_EQ(silent_at(2003), std::nullopt) << "another run";
}

TEST(NodesSilence, ANodeThatWasHeldUpItselfBlamesNone) {
  Silence silence(2, milliseconds(1000));
  Silence::Time const start{seconds(100)};
  silence.begin();
  silence.listens(start);
  silence.hears(1, start);
  auto const silent_at = [&](int ms) {
    silence.listens(start + milliseconds(ms));
    return silence.silent(start + milliseconds(ms));
  };
  EXPECT_EQ(silent_at(5000), std::nullopt);
  for (int ms = 5200; ms <= 6000; ms += 200) EXPECT_EQ(silent_at(ms), std::nullopt) << ms;
  EXPECT_EQ(silent_at(6001), 1u);
  EXPECT_EQ(silent_at(6300), std::nullopt) << "held up again";
}

}  // namespace
