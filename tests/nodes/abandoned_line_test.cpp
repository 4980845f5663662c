// What becomes of the line to the other nodes when one of them is gone: it is kept, since the network's library can
// neither wait for what is under way nor end without it (RunOverNodes::abandon_line). Else it ends with its pipeline.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hiway/pipeline.hpp"
#include "lib/nodes/cluster_access.hpp"
#include "lib/nodes/node_line.hpp"
#include "tests/nodes/together.hpp"

namespace {

using hiway_tests::error_of;
using hiway_tests::fresh_name;
using testing::Each;
using testing::HasSubstr;

/// Carries nothing.
class IdleLine final : public hiway::detail::nodes::NodeLine {
 public:
  IdleLine() { last = this; }
  ~IdleLine() override { ++ended; }
  void begin(std::uint64_t, std::function<void()> const&) override {}
  bool step() override { return false; }
  [[nodiscard]] bool is_done() const override { return false; }
  [[nodiscard]] bool is_near() const override { return true; }
  [[nodiscard]] bool begin_nap() override { return false; }
  void end_nap() override {}
  [[nodiscard]] int descriptor() const override { return -1; }

  static inline std::atomic<int> ended{0};
  static inline std::atomic<IdleLine*> last{nullptr};  ///< so that one that is kept is no leak
};

/// Pipelines of two nodes have an IdleLine; the one of this process, if there is one, comes back.
class AbandonedLine : public testing::Test {
 protected:
  AbandonedLine() {
    IdleLine::ended = 0;
    hiway::detail::nodes::register_node_line(
        [](hiway::detail::nodes::Meeting&, std::vector<hiway::detail::nodes::Departure>,
           std::vector<hiway::detail::nodes::Arrival>,
           std::chrono::steady_clock::time_point) -> std::unique_ptr<hiway::detail::nodes::NodeLine> {
          return std::make_unique<IdleLine>();
        });
  }
  ~AbandonedLine() override { hiway::detail::nodes::register_node_line(before_); }

 private:
  hiway::detail::nodes::MakeNodeLine before_ = hiway::detail::nodes::registered_node_line();
};

/// Meets the other node and runs a pipeline whose stage on node 1 does `work`. What run() throws.
std::string run_on(int node, hiway::detail::nodes::Place const& place, std::function<void()> const& work) {
  hiway::Cluster nodes;
  hiway::ClusterAccess::join(nodes, {.node = node, .size = 2, .place = place});
  hiway::Pipeline pipe({.cluster = &nodes, .node_silence = std::chrono::seconds(20)});
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_cpu);
  pipe.add_cpu_stage("feed", [](hiway::Inlet<int> out) { out.put_h(1); }, hiway::into(numbers), {.node = 0});
  pipe.add_cpu_stage("sum", [&](hiway::Outlet<int>) { work(); }, hiway::from(numbers), {.node = 1});
  return error_of([&] { pipe.run(); });
}

TEST_F(AbandonedLine, IsKeptWhenANodeIsGone) {
  auto const place = fresh_name();
  pid_t const child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    run_on(1, place, [] { _exit(0); });
    _exit(1);
  }
  EXPECT_THAT(run_on(0, place, [] {}), HasSubstr("node 1 is gone"));
  EXPECT_EQ(IdleLine::ended, 0);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(AbandonedLine, EndsWithItsPipelineWhenAStageFails) {
  auto const place = fresh_name();
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int node = 0; node < 2; ++node) {
    threads.emplace_back([&, node] {
      errors[static_cast<std::size_t>(node)] = run_on(node, place, [] { throw std::runtime_error("no"); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, Each(HasSubstr("stage 'sum': no")));
  EXPECT_EQ(IdleLine::ended, 2);
}

}  // namespace
