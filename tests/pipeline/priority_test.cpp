// TunnelConfig::priority: a CPU stage in item or value form that gets from several tunnels takes from that of the
// highest number first.
#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::ElementsAre;
using testing::HasSubstr;

/// Stands at an item until it is let go.
class Gate {
 public:
  void stand() {
    is_there_ = true;
    while (!is_open_) std::this_thread::yield();
  }
  void wait() const {
    while (!is_there_) std::this_thread::yield();
  }
  void open() { is_open_ = true; }

 private:
  std::atomic<bool> is_there_{false};
  std::atomic<bool> is_open_{false};
};

TEST(Priority, TheHighestNumberComesFirstWhateverTheOrderOfTheTunnels) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& low = pipe.create_tunnel<char>("low", Direction::cpu_to_cpu, {.priority = -3});
  auto& normal = pipe.create_tunnel<int>("normal", Direction::cpu_to_cpu);
  auto& high = pipe.create_tunnel<long>("high", Direction::cpu_to_cpu, {.priority = 7});
  auto& other = pipe.create_tunnel<short>("other", Direction::cpu_to_cpu);
  Inlet<char> const low_inlet = low.open_inlet();
  Inlet<int> const normal_inlet = normal.open_inlet();
  Inlet<long> const high_inlet = high.open_inlet();
  Inlet<short> const other_inlet = other.open_inlet();
  Gate gate;
  std::string order;
  struct See {
    Gate& gate;
    std::string& order;
    void operator()(char const&) const { order += 'l'; }
    void operator()(int const& x) const {
      if (x == 0) return gate.stand();
      order += 'n';
    }
    void operator()(long const&) const { order += 'h'; }
    void operator()(short const&) const { order += 'o'; }
  };
  pipe.add_cpu_stage("see", See{gate, order}, from(low, normal, high, other));
  pipe.start();
  normal_inlet.put_h(0);
  gate.wait();
  for (int i = 1; i <= 3; ++i) {
    low_inlet.put_h('x');
    normal_inlet.put_h(i);
    high_inlet.put_h(i);
    other_inlet.put_h(static_cast<short>(i));
  }
  low_inlet.close_h();
  normal_inlet.close_h();
  high_inlet.close_h();
  other_inlet.close_h();
  gate.open();
  pipe.wait();
  ASSERT_EQ(order.size(), 12U);
  EXPECT_EQ(order.substr(9), "lll");
  EXPECT_EQ(order.substr(order[0] == 'o' ? 1 : 0, 3),
            "hhh");  // the gate's round goes on to the tunnel of equal priority
  EXPECT_EQ(order.find('l'), 9U);
}

/// Items of `urgent` that come while a stage has many of `normal` before it.
template <class Stage>
void expect_urgent_next(Stage add_stage) {
  constexpr int count = 6000;
  constexpr int gate_at = 4000;
  Pipeline pipe(bounded());
  auto& normal = pipe.create_tunnel<int>("normal", Direction::cpu_to_cpu, {.capacity_items = 8192});
  auto& urgent = pipe.create_tunnel<int>("urgent", Direction::cpu_to_cpu, {.priority = 1});
  Inlet<int> const normal_inlet = normal.open_inlet();
  Inlet<int> const urgent_inlet = urgent.open_inlet();
  Gate begin, gate;
  std::vector<int> order;
  add_stage(pipe, normal, urgent, [&](int const& x) {
    if (x == 0) begin.stand();
    if (x == gate_at) gate.stand();
    order.push_back(x);
  });
  pipe.start();
  for (int i = 0; i < count; ++i) normal_inlet.put_h(i);
  begin.open();
  gate.wait();
  urgent_inlet.put_h(-1);
  urgent_inlet.put_h(-2);
  gate.open();
  normal_inlet.close_h();
  urgent_inlet.close_h();
  pipe.wait();
  ASSERT_EQ(order.size(), count + 2U);
  EXPECT_THAT(std::vector<int>(order.begin() + gate_at, order.begin() + gate_at + 4),
              ElementsAre(gate_at, -1, -2, gate_at + 1));
}

TEST(Priority, WhatIsUrgentIsNextInItemForm) {
  HIWAY_NEEDS_DEVICE();
  expect_urgent_next([](Pipeline& pipe, auto& normal, auto& urgent, auto work) {
    pipe.add_cpu_stage(
        "see", [work](int const& x) { work(x); }, from(normal, urgent));
  });
}

TEST(Priority, WhatIsUrgentIsNextInValueForm) {
  HIWAY_NEEDS_DEVICE();
  expect_urgent_next([](Pipeline& pipe, auto& normal, auto& urgent, auto work) {
    auto& out = pipe.template create_tunnel<int>("out", Direction::cpu_to_cpu);
    auto const see = [work](int const& x) {
      work(x);
      return x;
    };
    pipe.add_cpu_stage("see", see, from(normal, urgent), into(out));
    pipe.add_cpu_stage(
        "end", [](int const&) {}, from(out));
  });
}

struct Pass {
  HIWAY_DEVICE int operator()(int const& x) const { return x; }
};

TEST(Priority, TunnelsFromADeviceHaveIt) {
  HIWAY_NEEDS_DEVICE();
  constexpr int count = 5000;
  Pipeline pipe(bounded());
  auto& first = pipe.create_tunnel<int>("first", Direction::cpu_to_gpu);
  auto& passed = pipe.create_tunnel<int>("passed", Direction::gpu_to_cpu, {.priority = 1});
  auto& normal = pipe.create_tunnel<int>("normal", Direction::cpu_to_cpu);
  auto const feed = [](Inlet<int> a, Inlet<int> b) {
    for (int i = 0; i < count; ++i) {
      a.put_h(1);
      b.put_h(1000000);
    }
  };
  std::atomic<long> sum{0};
  pipe.add_cpu_stage("feed", feed, into(first, normal));
  pipe.add_gpu_stage("pass", Pass{}, from(first), into(passed));
  pipe.add_cpu_stage("sum", [&](int const& x) { sum += x; }, from(normal, passed), {.threads = 3});
  pipe.run();
  EXPECT_EQ(sum, 1000001L * count);
}

// ---- what is refused

TEST(Priority, IsForTunnelsThatCpuStagesGetFrom) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.create_tunnel<int>("t", Direction::gpu_to_gpu, {.priority = 1}); }),
            "tunnel 't': priority is for tunnels that CPU stages get from");
}

TEST(Priority, ALoopChoosesByItself) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& normal = pipe.create_tunnel<int>("normal", Direction::cpu_to_cpu);
  auto& urgent = pipe.create_tunnel<int>("urgent", Direction::cpu_to_cpu, {.priority = 1});
  pipe.add_cpu_stage(
      "feed", [](Inlet<int>, Inlet<int>) {}, into(normal, urgent));
  pipe.add_cpu_stage(
      "loop", [](Outlet<int>, Outlet<int>) {}, from(normal, urgent));
  EXPECT_THAT(text_of_error<ConfigError>([&] { pipe.prepare(); }),
              HasSubstr("stage 'loop' gets from tunnels of different priority, and is a loop"));
}

}  // namespace
