// A planned pipeline: with the capacities of a corner a cyclic pipeline runs, though nothing spills; with one element
// less it stands still, for the reason that the planner gave.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "hiway/hiway.hpp"
#include "hiway/plan/tunnels.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t rounds = 200;

/// Each round: three to p and one to q; the answering stage takes q first, and gives two to r and one to s, which is
/// taken first.
plan::Program there_and_back() {
  plan::Program program;
  program.params = {{"N", rounds}};
  for (char const* stream : {"p", "q", "r", "s"}) program.streams.push_back({stream, 4});
  using plan::read;
  using plan::write;
  program.body = {
      {plan::For{"i",
                 0,
                 "N",
                 {{plan::Task{"ask", {write("p", 3), write("q", 1)}, "asker"}},
                  {plan::Task{"answer", {read("q", 1), read("p", 3), write("r", 2), write("s", 1)}, "answerer"}},
                  {plan::Task{"take", {read("s", 1), read("r", 2)}, "asker"}}}}}};
  return program;
}

struct Answer {
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> q, Outlet<std::uint32_t> p, Inlet<std::uint32_t> r,
                               Inlet<std::uint32_t> s) const {
    std::uint32_t first = 0;
    while (q.next_d(first)) {
      std::uint32_t sum = first;
      for (int k = 0; k != 3; ++k) {
        std::uint32_t x = 0;
        if (!p.next_d(x)) return;
        sum += x;
      }
      r.put_d(sum);
      r.put_d(sum + 1);
      s.put_d(sum + 2);
      p.end_task_d(3);
      q.end_task_d();
    }
  }
};

/// What came back in all rounds.
std::uint64_t run_there_and_back(TunnelConfig p, TunnelConfig q, TunnelConfig r, TunnelConfig s,
                                 PipelineConfig config) {
  Pipeline pipe(config);
  using Number = std::uint32_t;
  auto& start = pipe.create_tunnel<Number>("start", Direction::cpu_to_cpu);
  auto& to_p = pipe.create_tunnel<Number>("p", Direction::cpu_to_gpu, p);
  auto& to_q = pipe.create_tunnel<Number>("q", Direction::cpu_to_gpu, q);
  auto& to_r = pipe.create_tunnel<Number>("r", Direction::gpu_to_cpu, r);
  auto& to_s = pipe.create_tunnel<Number>("s", Direction::gpu_to_cpu, s);
  std::uint64_t back = 0;
  pipe.add_cpu_stage(
      "begin",
      [](Inlet<Number> out) {
        for (Number i = 0; i != rounds; ++i) out.put_h(i);
      },
      into(start));
  pipe.add_cpu_stage(
      "asker",
      [&](Outlet<Number> begin, Outlet<Number> from_r, Outlet<Number> from_s, Inlet<Number> p_in, Inlet<Number> q_in) {
        Number i = 0;
        while (begin.next_h(i)) {
          for (Number k = 0; k != 3; ++k) p_in.put_h(i + k);
          q_in.put_h(i);
          Number last = 0;
          Number one = 0;
          Number two = 0;
          if (!from_s.next_h(last) || !from_r.next_h(one) || !from_r.next_h(two)) return;
          back += last + one + two;
          from_s.end_task_h();
          from_r.end_task_h(2);
          begin.end_task_h();
        }
      },
      from(start, to_r, to_s), into(to_p, to_q));
  pipe.add_gpu_stage("answerer", Answer{}, from(to_q, to_p), into(to_r, to_s), {.blocks = 1, .threads_per_block = 1});
  pipe.run();
  return back;
}

std::uint64_t expected_back() {
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i != rounds; ++i) all += 3 * (4 * i + 3) + 3;
  return all;
}

TEST(PlannedPipeline, RunsWithTheLeastCapacities) {
  plan::Plan const plan = plan::make_plan(there_and_back());
  EXPECT_THAT(plan.min, ElementsAre(3, 1, 2, 1));
  plan::Rings const rings(plan, {.crossing = {"p", "q", "r", "s"}});
  EXPECT_THAT(rings.capacities(), ElementsAre(3, 1, 2, 1));
  EXPECT_EQ(rings.bytes(), 2 * 4 * (4 + 1 + 2 + 1));
  for (Movement const movement : {Movement::direct, Movement::dma}) {
    TunnelConfig const base{.movement = movement};
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_there_and_back(rings.tunnel("p", base), rings.tunnel("q", base), rings.tunnel("r", base),
                                 rings.tunnel("s", base), bounded()),
              expected_back());
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::Not(HasSubstr("cycle")));
  }
}

TEST(PlannedPipeline, StandsStillWithOneElementLess) {
  plan::Plan const plan = plan::make_plan(there_and_back());
  plan::Rings const rings(plan);
  PipelineConfig config = bounded();
  config.stall_after = std::chrono::milliseconds(100);
  config.on_stall = OnStall::abort;
  auto const stalls = [&](std::string const& lowered) {
    auto const tunnel = [&](std::string const& stream) {
      TunnelConfig c = rings.tunnel(stream, {.movement = Movement::direct});
      if (stream == lowered) --c.capacity_items;
      return c;
    };
    try {
      (void)run_there_and_back(tunnel("p"), tunnel("q"), tunnel("r"), tunnel("s"), config);
    } catch (Error const& e) {
      return std::string(e.what());
    }
    return std::string("it ran");
  };
  // The planner's reason, of the stream that it lowers itself, is the run's.
  EXPECT_THAT(plan.why, HasSubstr("with 2 of 'p'"));
  EXPECT_THAT(stalls("p"),
              HasSubstr("stages wait for each other: 'asker' for room in tunnel 'p' until 'answerer' gets from it, "
                        "'answerer' for items of tunnel 'q' until 'asker' puts into it"));
  EXPECT_THAT(stalls("r"),
              HasSubstr("wait for each other: 'answerer' for room in tunnel 'r' until 'asker' gets from it, "
                        "'asker' for items of tunnel 's' until 'answerer' puts into it"));
  EXPECT_THAT(stalls("q"), HasSubstr("capacity_items must be from 1 to 2^30: 0"));
}

TEST(PlannedPipeline, WithoutAPlanIsWarnedOf) {
  TunnelConfig const roomy{.capacity_items = 16};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_there_and_back(roomy, roomy, roomy, roomy, bounded()), expected_back());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("hiway: tunnels 'p', 'q', 'r', 's' are in a cycle, and no plan says what they need"));
  PipelineConfig quiet = bounded();
  quiet.warn_of_cycles = false;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_there_and_back(roomy, roomy, roomy, roomy, quiet), expected_back());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::Not(HasSubstr("cycle")));
}

struct PassOn {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, Inlet<std::uint32_t> out) const { out.put_d(x); }
};
struct Drop {
  HIWAY_DEVICE void operator()(std::uint32_t const&) const {}
};
TEST(PlannedPipeline, IsRefusedInAGroup) {
  Pipeline pipe(bounded());
  auto& a = pipe.create_tunnel<std::uint32_t>("a", Direction::cpu_to_gpu);
  auto& b =
      pipe.create_tunnel<std::uint32_t>("b", Direction::gpu_to_gpu, {.when_full = WhenFull::wait, .planned = true});
  pipe.add_cpu_stage(
      "begin", [](Inlet<std::uint32_t> out) { out.put_h(1); }, into(a));
  pipe.add_gpu_group("both", {.blocks = 1, .threads_per_block = 32}, stage("first", PassOn{}, from(a), into(b)),
                     stage("second", Drop{}, from(b)));
  try {
    pipe.prepare();
    FAIL() << "it was not refused";
  } catch (ConfigError const& e) {
    EXPECT_THAT(e.what(), HasSubstr("tunnel 'b': stage 'first' is in one group with its reader"));
  }
}

TEST(PlannedRings, AreChargedAsPowersOfTwo) {
  plan::Plan plan;
  plan.verdict = plan::Verdict::fits;
  plan.streams = {"a", "b"};
  plan.element_bytes = {10, 1};
  plan.pareto = {{.capacities = {5, 2}, .bytes = 52}, {.capacities = {4, 14}, .bytes = 54}};
  plan::Rings const rings(plan);
  EXPECT_THAT(rings.capacities(), ElementsAre(4, 14));  // 8 x 10 + 2 are more than 4 x 10 + 16
  EXPECT_EQ(rings.bytes(), 56);
  EXPECT_EQ(plan::Rings(plan, {.crossing = {"b"}}).bytes(), 72);
  EXPECT_EQ(rings.tunnel("b").capacity_items, 14U);
  EXPECT_TRUE(rings.tunnel("b").planned);
  auto const said = [](auto&& what) {
    try {
      what();
    } catch (ConfigError const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(said([&] {
              plan::Rings{plan, {.memory_bytes = 55}};
            }),
            "plan: rings of powers of two slots take 56 bytes, 55 are given");
  EXPECT_EQ(said([&] { plan::Rings{plan, {.crossing = {"c"}}}; }), "plan: crossing: no stream 'c'");
  EXPECT_EQ(said([&] { (void)rings.tunnel("c"); }), "plan: stream 'c' is not in it");
  EXPECT_EQ(said([&] { (void)rings.tunnel("a", {.when_full = WhenFull::spill}); }),
            "plan: stream 'a': a planned tunnel neither spills nor has shards");
  EXPECT_EQ(said([&] { (void)rings.tunnel("a", {.when_full = WhenFull::fail}); }),
            "plan: stream 'a': a planned tunnel neither drops nor fails");
  plan.verdict = plan::Verdict::deadlock;
  plan.why = "a waits";
  EXPECT_EQ(said([&] { plan::Rings{plan}; }), "plan: deadlock: a waits");
}

}  // namespace
