// What node 0 leaves of a run over nodes: files with what all nodes did.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "hiway/hiway.hpp"
#include "hiway/report.hpp"
#include "lib/json.hpp"
#include "tests/environment.hpp"
#include "tests/nodes/ucx/clusters.hpp"

namespace {

using hiway::Direction;
using hiway_tests::on_nodes;
using hiway_tests::shared_memory;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / hiway_tests::fresh_name().text();
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;

  [[nodiscard]] std::string file(std::string const& name) const { return (path / name).string(); }
  [[nodiscard]] std::string text(std::string const& name) const {
    std::ostringstream all;
    all << std::ifstream(file(name)).rdbuf();
    return all.str();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
  }
};

struct Asked {
  std::string trace{};  ///< of node 0
  std::chrono::milliseconds node_0_begins_after{0};
  std::chrono::milliseconds stall_after{0};
};

/// Node 0 feeds, the others sum up; `at_item` is called with each item.
std::string feed_and_sum(
    hiway::Cluster& nodes, Asked const& asked, std::function<void(int item)> const& at_item = [](int) {}) {
  hiway::PipelineConfig config{
      .device = "simt", .stall_after = asked.stall_after, .cluster = &nodes, .node_silence = std::chrono::seconds(20)};
  if (nodes.node() == 0) config.trace = asked.trace;
  hiway::Pipeline pipe(config);
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  std::vector<int> others;
  for (int node = 1; node < nodes.size(); ++node) others.push_back(node);
  pipe.add_cpu_stage("feed",
                     [](hiway::Inlet<int> out) {
                       for (int i = 0; i < 1000; ++i) out.put_h(i);
                     },
                     hiway::into(numbers), {.node = 0});
  pipe.add_cpu_stage("sum", [&](int const& i) { at_item(i); }, hiway::from(numbers), {.nodes = others});
  pipe.prepare();
  if (nodes.node() == 0) std::this_thread::sleep_for(asked.node_0_begins_after);
  pipe.run();
  return "";
}

TEST(Seeing, OneTraceHasWhatAllNodesDid) {
  Folder const folder;
  auto const said = on_nodes(shared_memory, 3, [&](hiway::Cluster& nodes) {
    return feed_and_sum(nodes, {.trace = folder.file("trace.json")}, [](int i) {
      if (i < 10) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  EXPECT_THAT(said, Each(IsEmpty()));
  std::string const trace = folder.text("trace.json");
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_NO_THROW(static_cast<void>(hiway::parse_json(trace)));
  for (char const* const part :
       {R"("pid":1,"tid":1,"name":"thread_name","args":{"name":"stage 'node 0: feed', thread 0"})",
        R"("pid":101,"tid":1,"name":"thread_name","args":{"name":"stage 'node 1: sum', thread 0"})",
        R"("pid":201,"tid":1,"name":"thread_name","args":{"name":"stage 'node 2: sum', thread 0"})",
        R"("pid":103,"tid":0,"name":"process_name","args":{"name":"node 1: tunnels"})",
        R"("name":"waits for items of 'node 1: numbers'")", R"("name":"node 2: numbers: total")",
        R"("nodes":[{"node":0,"clock_error_us":0},{"node":1,"clock_error_us":)"})
    EXPECT_THAT(trace, HasSubstr(part));
  EXPECT_THAT(trace, AllOf(HasSubstr(R"({"name":"node 1: sum","gpu":false,)"), Not(HasSubstr("\"missing\""))));
}

/// Where the number after `name` is, in a text.
double number_after(std::string const& text, std::string const& name) {
  std::size_t const at = text.find(name);
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + name.size());
}

// One machine has one clock, so what the file says of it can be checked: the stages of both nodes lie within the run.
TEST(Seeing, TimesOfAllNodesAreNode0s) {
  Folder const folder;
  auto const said = on_nodes(shared_memory, 2, [&](hiway::Cluster& nodes) {
    return feed_and_sum(nodes,
                        {.trace = folder.file("trace.json"), .node_0_begins_after = std::chrono::milliseconds(200)});
  });
  EXPECT_THAT(said, Each(IsEmpty()));
  std::string const trace = folder.text("trace.json");
  double const error = number_after(trace, R"({"node":1,"clock_error_us":)");
  double const begun = number_after(trace, R"("name":"node 1: sum","cat":"stage","ts":)");
  double const run = number_after(trace, R"("pid":5,"tid":1,"name":"run","cat":"run","ts":0.000,"dur":)");
  EXPECT_GT(error, 0);
  EXPECT_GT(begun, 0);
  EXPECT_LE(begun, run + error);
}

TEST(Seeing, NumbersAreOfAllNodes) {
  Folder const folder;
  setenv("HIWAY_STATS", folder.file("numbers.prom").c_str(), 1);
  auto const said = on_nodes(shared_memory, 2, [](hiway::Cluster& nodes) { return feed_and_sum(nodes, {}); });
  unsetenv("HIWAY_STATS");
  EXPECT_THAT(said, Each(IsEmpty()));
  std::string const numbers = folder.text("numbers.prom");
  EXPECT_THAT(numbers, AllOf(HasSubstr("hiway_stage_tasks_total{node=\"1\",stage=\"sum\"} 1000\n"),
                             HasSubstr("hiway_tunnel_items_total{node=\"0\",tunnel=\"numbers\"} 1000\n"),
                             HasSubstr("hiway_stage_tasks_total{node=\"0\",stage=\"feed\"}")));
  std::size_t const head = numbers.find("# TYPE hiway_stage_tasks_total");  // once, and all nodes' lines behind it
  EXPECT_EQ(numbers.find("# TYPE hiway_stage_tasks_total", head + 1), std::string::npos);
}

TEST(Seeing, OneGraphHasTheStagesOfAllNodes) {
  Folder const folder;
  setenv("HIWAY_GRAPH", folder.file("graph.dot").c_str(), 1);
  auto const said = on_nodes(shared_memory, 3, [](hiway::Cluster& nodes) { return feed_and_sum(nodes, {}); });
  unsetenv("HIWAY_GRAPH");
  EXPECT_THAT(said, Each(IsEmpty()));
  EXPECT_EQ(folder.files(), 1u);
  std::string const graph = folder.text("graph.dot");
  for (char const* const part :
       {"  subgraph \"cluster node 0\" {\n  label=\"node 0\";\n  \"node 0: feed\" [shape=box, label=\"feed\\nCPU",
        "  subgraph \"cluster node 2\" {\n  label=\"node 2\";\n  \"node 2: sum\" [shape=box, label=\"sum\\nCPU",
        "  }\n  \"node 0: feed\" -> \"numbers, between nodes\" [label=\"numbers (",
        "\n  \"numbers, between nodes\" -> \"node 1: sum\" [label=\"numbers ("})
    EXPECT_THAT(graph, HasSubstr(part));
  EXPECT_THAT(graph, Not(HasSubstr("(open")));
}

/// What is logged meanwhile.
std::string logged_by(std::function<void()> const& work) {
  std::mutex mutex;
  std::string logged;
  hiway::set_log_sink([&](hiway::LogLevel level, std::string_view text) {
    std::scoped_lock const lock(mutex);
    logged.append(level == hiway::LogLevel::error ? "error: " : "").append(text).append("\n");
  });
  work();
  hiway::set_log_sink({});
  return logged;
}

void rest_at_the_last(int item) {
  if (item == 999) std::this_thread::sleep_for(std::chrono::milliseconds(600));
}

TEST(Seeing, ANodeThatStandsStillSaysSoAtNode0) {
  auto const said = on_nodes(shared_memory, 2, [&](hiway::Cluster& nodes) {
    return logged_by([&] { feed_and_sum(nodes, {.stall_after = std::chrono::milliseconds(100)}, rest_at_the_last); });
  });
  EXPECT_THAT(said[0],
              AllOf(HasSubstr("error: node 1: no progress for "), HasSubstr("\n  stage 'sum': 1 of 1 threads")));
  EXPECT_THAT(said[1], Not(HasSubstr("no progress")));
}

TEST(Seeing, ASignalToNode0AsksAllNodes) {
  auto const said = on_nodes(shared_memory, 3, [&](hiway::Cluster& nodes) {
    return logged_by([&] {
      std::jthread asks;
      if (nodes.node() == 0) {
        asks = std::jthread([] {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
          kill(getpid(), SIGUSR1);
        });
      }
      feed_and_sum(nodes, {}, [](int item) {
        if (item == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
      });
    });
  });
  for (char const* const part :
       {"error: node 0: asked by SIGUSR1", "error: node 1: asked by SIGUSR1", "error: node 2: asked by SIGUSR1"})
    EXPECT_THAT(said[0], HasSubstr(part));
  EXPECT_THAT(said[1], IsEmpty());
}

TEST(Seeing, ASignalToAnotherNodeAsksThatOne) {
  auto const said = on_nodes(shared_memory, 2, [&](hiway::Cluster& nodes) {
    return logged_by([&] {
      feed_and_sum(nodes, {}, [](int item) {
        if (item != 999) return;
        kill(getpid(), SIGUSR1);
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
      });
    });
  });
  EXPECT_THAT(said, ElementsAre(IsEmpty(), HasSubstr("error: asked by SIGUSR1")));
}

TEST(Seeing, TablesOfAllNodesAreInNode0sLog) {
  auto const said = on_nodes(shared_memory, 2, [&](hiway::Cluster& nodes) {
    hiway_tests::Environment const watch("HIWAY_WATCH", "100");
    return logged_by([&] { feed_and_sum(nodes, {}, rest_at_the_last); });
  });
  EXPECT_THAT(said[0], AllOf(HasSubstr("node 0: now\n"), HasSubstr("node 1: now\n"), HasSubstr("sum")));
  EXPECT_THAT(said[1], IsEmpty());
}

TEST(Seeing, AFailedRunLeavesATraceOfAllNodes) {
  Folder const folder;
  auto const said = on_nodes(shared_memory, 2, [&](hiway::Cluster& nodes) {
    return feed_and_sum(nodes, {.trace = folder.file("trace.json")}, [](int i) {
      if (i == 500) throw hiway::Error("no more");
    });
  });
  EXPECT_THAT(said, Each(HasSubstr("no more")));
  EXPECT_THAT(folder.text("trace.json"), AllOf(HasSubstr("\"name\":\"node 1: sum\""), HasSubstr("no more")));
}

TEST(Seeing, ANodeThatIsGoneIsMissingInTheTrace) {
  Folder const folder;
  auto const said = on_nodes(shared_memory, 3, [&](hiway::Cluster& nodes) {
    return feed_and_sum(nodes, {.trace = folder.file("trace.json")}, [&](int i) {
      if (nodes.node() == 2 && i > 10) kill(getpid(), SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  EXPECT_THAT(said, ElementsAre(HasSubstr("node 2 is gone"), HasSubstr("node 2 is gone"), "killed"));
  EXPECT_THAT(folder.text("trace.json"),
              AllOf(HasSubstr("{\"node\":2,\"missing\":\"it is gone\"}"), HasSubstr("\"name\":\"node 1: sum\"")));
}

}  // namespace
