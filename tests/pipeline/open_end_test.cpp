// What open ends, and inlets that are kept after their stage has returned, do in each phase of a run.
#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "hiway/log.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::HasSubstr;
using namespace std::chrono_literals;

struct FailAtThree {
  HIWAY_DEVICE long operator()(int const& x) const {
    if (x == 3) fail("three is not wanted");
    return x;
  }
};

/// Waits until nothing of the run is left but wait(); not for ever.
void await_end(Pipeline& pipe) {
  for (int i = 0; i < 100 && !pipe.wait_for(100ms); ++i) {
  }
  EXPECT_TRUE(pipe.wait_for(0ns)) << "the run did not end";
}

/// Open inlet -> stage -> open outlet, of which the stage fails.
struct Failing {
  explicit Failing(TunnelConfig config = {}) : pipe(bounded()) {
    auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, config);
    auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu);
    in = there.open_inlet();
    out = back.open_outlet();
    pipe.add_gpu_stage("f", FailAtThree{}, from(there), into(back), {.blocks = 1, .threads_per_block = 32});
  }
  /// Puts 1, gets it back, and puts what the stage fails at.
  void fail() {
    pipe.start();
    long x = 0;
    in.put_h(1);
    ASSERT_TRUE(out.next_h(x));
    EXPECT_EQ(x, 1);
    in.put_h(3);
    await_end(pipe);
  }
  Pipeline pipe;
  Inlet<int> in;
  Outlet<long> out;
};

/// Each of them must be refused.
void expect_refusals(Inlet<int> in, Outlet<long> out, std::string const& why) {
  int const three[] = {4, 5, 6};
  auto const puts = [&](auto&& call) { EXPECT_EQ(text_of_error<Aborted>(call), "tunnel 'there': " + why); };
  puts([&] { in.put_h(4); });
  puts([&] { in.put(4); });
  puts([&] { in.put_h(three); });
  puts([&] { (void)in.try_put_h(4); });
  puts([&] { in.put_in_place_h([](int& slot) { slot = 4; }); });
  puts([&] { in.put_warp(4); });
  puts([&] { in.put_block(std::span<int const>(three)); });
  long x = 0;
  long many[3] = {};
  auto const gets = [&](auto&& call) { EXPECT_EQ(text_of_error<Aborted>(call), "tunnel 'back': " + why); };
  gets([&] { (void)out.get_h(x); });
  gets([&] { (void)out.next_h(x); });
  gets([&] { (void)out.get_h(many); });
  gets([&] { (void)out.next_h(many); });
  gets([&] { (void)out.get_warp(x); });
  gets([&] { (void)out.next_block(std::span<long>(many)); });
  gets([&] { out.for_each_h([](long) {}); });
  gets([&] { out.for_each_warp([](long) {}); });
  gets([&] { (void)out.has_ended_h(); });
  gets([&] { (void)out.is_terminate_h(); });
}

// Puts found room in the ring and were accepted, for ever as it looked; gets said that the pipeline was aborting.
TEST(OpenEnds, OfARunThatHasFailedSayItsFirstErrorUntilTheNextStart) {
  HIWAY_NEEDS_DEVICE();
  for (bool low_latency : {false, true}) {
    Failing run({.low_latency = low_latency});
    for (int i = 0; i < 2; ++i) {
      run.fail();
      std::string const why = "the run has failed: stage 'f': three is not wanted";
      expect_refusals(run.in, run.out, why);
      EXPECT_EQ(text_of_error<StageError>([&] { run.pipe.wait(); }), "stage 'f': three is not wanted");
      expect_refusals(run.in, run.out, why);
      run.out.end_task_h();  // of the 1; a destructor may do that
      run.in.close_h();
      try {
        run.in.put_h(4);
      } catch (Aborted const& e) {
        EXPECT_THROW(std::rethrow_if_nested(e), StageError);
      }
    }
    run.pipe.start();
    run.in.put_h(2);
    run.in.close_h();
    long sum = 0;
    run.out.for_each_h([&](long x) { sum += x; });
    run.pipe.wait();
    EXPECT_EQ(sum, 2);
  }
}

TEST(OpenEnds, OfARunThatWasAbortedSaySo) {
  HIWAY_NEEDS_DEVICE();
  Failing run;
  run.pipe.start();
  run.pipe.abort();
  expect_refusals(run.in, run.out, "the run has failed: the pipeline was aborted");
  EXPECT_THROW(run.pipe.wait(), Aborted);
}

TEST(OpenEnds, APutThatWaitsForRoomIsToldWhyItIsLeft) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu, {.capacity_items = 1});
  Inlet<int> const in = t.open_inlet();
  pipe.add_cpu_stage(
      "slow",
      [](int const& x) {
        std::this_thread::sleep_for(100ms);
        if (x == 0) throw std::out_of_range("no nothing");
      },
      from(t));
  pipe.start();
  EXPECT_EQ(text_of_error<Aborted>([&] {
              for (int i = 0; i < 100; ++i) in.put_h(i);
            }),
            "tunnel 't': the run has failed: stage 'slow': no nothing");
  EXPECT_THROW(pipe.wait(), StageError);
}

TEST(OpenEnds, OfARunThatHasEndedWellTakeNoMoreAndGiveNoMore) {
  HIWAY_NEEDS_DEVICE();
  Failing run;
  for (int i = 0; i < 2; ++i) {
    run.pipe.start();
    run.in.put_h(1);
    run.in.close_h();
    long sum = 0;
    run.out.for_each_h([&](long x) { sum += x; });
    run.pipe.wait();
    EXPECT_EQ(sum, 1);
    int const two[] = {1, 2};
    for (int again = 0; again < 2; ++again) {
      std::string const why = "tunnel 'there': no run is under way: start the pipeline first";
      EXPECT_EQ(text_of_error<Aborted>([&] { run.in.put_h(1); }), why);
      EXPECT_EQ(text_of_error<Aborted>([&] { run.in.put_h(two); }), why);
      EXPECT_EQ(text_of_error<Aborted>([&] { (void)run.in.try_put_h(1); }), why);
    }
    run.in.close_h();
  }
}

// A consumer may look for more while another thread's wait() returns.
TEST(OpenEnds, AnOutletOfARunThatHasEndedWellHasEnded) {
  HIWAY_NEEDS_DEVICE();
  Failing run;
  run.pipe.start();
  run.in.close_h();
  run.pipe.wait();
  long x = 0;
  EXPECT_TRUE(run.out.has_ended_h());
  EXPECT_TRUE(run.out.is_terminate_h());
  EXPECT_FALSE(run.out.get_h(x));
  EXPECT_FALSE(run.out.next_h(x));
}

// Their words had no value yet, and what came of it was chance.
TEST(OpenEnds, AreRefusedBeforeTheFirstStart) {
  HIWAY_NEEDS_DEVICE();
  Failing run;
  expect_refusals(run.in, run.out, "no run is under way: start the pipeline first");
}

TEST(OpenEnds, OpenedBetweenTwoRunsAreRefusedUntilTheNextStart) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  Inlet<int> const first = t.open_inlet();
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](int const& x) { sum += x; }, from(t));
  pipe.start();
  first.close_h();
  pipe.wait();
  Inlet<int> const second = t.open_inlet();
  for (Inlet<int> const& in : {first, second})
    EXPECT_EQ(text_of_error<Aborted>([&] { in.put_h(1); }),
              "tunnel 't': no run is under way: start the pipeline first");
  pipe.start();
  for (Inlet<int> const& in : {first, second}) {
    in.put_h(1);
    in.close_h();
  }
  pipe.wait();
  EXPECT_EQ(sum, 2);
}

/// A stage that hands its inlet to whoever keeps it, and another end that keeps the run open.
struct Keeping {
  explicit Keeping(bool fails) : pipe(bounded()) {
    auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
    auto& other = pipe.create_tunnel<int>("other", Direction::cpu_to_cpu);
    open = other.open_inlet();
    pipe.add_cpu_stage(
        "feed",
        [this, fails](Inlet<int> out) {
          out.put_h(1);
          kept = out;
          is_kept = true;
          if (fails) throw std::out_of_range("enough");
        },
        into(t));
    pipe.add_cpu_stage(
        "sink", [](int const&) {}, from(t, other));
    pipe.start();
    for (int i = 0; i < 1000 && !has_left(); ++i) std::this_thread::sleep_for(10ms);
  }
  /// The inlet's closed bit is the last that the stage's thread sets of it.
  [[nodiscard]] bool has_left() const {
    return is_kept && ThreadMachine{}.load(kept.view().ports->closed_lanes[0], MemoryOrder::acquire) != 0;
  }
  Pipeline pipe;
  Inlet<int> open;
  Inlet<int> kept;
  std::atomic<bool> is_kept = false;
};

// It was accepted.
TEST(OpenEnds, APutByAnInletThatIsKeptBehindItsStageIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Keeping run(false);
  EXPECT_THAT(text_of_error<Aborted>([&] { run.kept.put_h(2); }),
              HasSubstr("the run has failed: stage 'feed': put after close: tunnel 't', item 1"));
  EXPECT_EQ(text_of_error<MisuseError>([&] { run.pipe.wait(); }), "stage 'feed': put after close: tunnel 't', item 1");
}
TEST(OpenEnds, APutByAnInletThatIsKeptBehindAStageThatFailedIsRefused) {
  HIWAY_NEEDS_DEVICE();
  Keeping run(true);
  EXPECT_THAT(text_of_error<Aborted>([&] { run.kept.put_h(2); }),
              HasSubstr("the run has failed: stage 'feed': enough"));
  EXPECT_EQ(text_of_error<StageError>([&] { run.pipe.wait(); }), "stage 'feed': enough");
}

// The outer run took it for its own, and waited for ever for a stage that had left without closing.
TEST(OpenEnds, OfAnotherRunFailTheStageThatCallsThem) {
  HIWAY_NEEDS_DEVICE();
  Failing inner;
  inner.fail();
  Pipeline outer(bounded(10s));
  auto& t = outer.create_tunnel<int>("t", Direction::cpu_to_cpu);
  outer.add_cpu_stage(
      "client",
      [&](Inlet<int> out) {
        out.put_h(1);
        inner.in.put_h(1);
      },
      into(t));
  outer.add_cpu_stage(
      "sink", [](int const&) {}, from(t));
  EXPECT_EQ(text_of_error<StageError>([&] { outer.run(); }),
            "stage 'client': tunnel 'there': the run has failed: stage 'f': three is not wanted");
  EXPECT_THROW(inner.pipe.wait(), StageError);
}

// The user's own kernels do not empty the places where the warps of a block meet.
TEST(OpenEnds, SayThatTheyDoNotShareClaimsInBlocks) {
  HIWAY_NEEDS_DEVICE();
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel level, std::string_view text) {
    if (level == LogLevel::warning) warnings.emplace_back(text);
  });
  Pipeline pipe(bounded());
  auto& out = pipe.create_tunnel<int>("out", Direction::gpu_to_cpu, {.grouping = Grouping::block});
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu, {.grouping = Grouping::none});
  (void)out.open_inlet();
  (void)out.open_outlet();  // the CPU's
  EXPECT_EQ(in.open_outlet().view().ring.grouping, Grouping::none);
  set_log_sink({});
  EXPECT_THAT(warnings, testing::ElementsAre("tunnel 'out': warps of a block do not share claims at its open inlet: "
                                             "Grouping::block and block_scan are for kernels that the library starts"));
}

}  // namespace
