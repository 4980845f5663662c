// abort() by a thread that knows nothing of runs: it comes before them, in them, as they end, and between them.
#include <chrono>
#include <random>
#include <stop_token>
#include <string>
#include <thread>

#include "tests/device.hpp"

namespace {

using namespace hiway;
using std::chrono::steady_clock;

// Where an abort came between two runs the second could lose items without an error.
TEST(Abort, AtAnyTimeARunIsWholeOrAborted) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(hiway_tests::bounded());
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.capacity_items = 8});
  long sum = 0;
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 1; i <= 20; ++i) out.put_h(i);
      },
      into(numbers));
  pipe.add_cpu_stage("sum", [&](int const& x) { sum += x; }, from(numbers));
  std::jthread const aborter([&](std::stop_token const& stop) {
    for (std::mt19937 random(1); !stop.stop_requested();) {
      pipe.abort();
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    }
  });
  unsigned whole = 0;
  unsigned aborted = 0;
  auto const until = steady_clock::now() + std::chrono::seconds(10);
  for (int run = 0; run < 300 && steady_clock::now() < until; ++run) {
    sum = 0;
    try {
      pipe.run();
      ASSERT_EQ(sum, 210) << "run " << run;
      ++whole;
    } catch (Aborted const& e) {
      ASSERT_EQ(e.what(), std::string("the pipeline was aborted")) << "run " << run;
      ++aborted;
    }
  }
  RecordProperty("whole", std::to_string(whole));
  RecordProperty("aborted", std::to_string(aborted));
}

}  // namespace
