// A process that has used up its file descriptors: a pipeline is made, runs and is destroyed, and what a run writes is written
// or is an error of one line.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "hiway/log.hpp"
#include "tests/device.hpp"
#include "tests/environment.hpp"
#include "tests/sanitizer.hpp"

namespace {

using namespace hiway;
using hiway_tests::Environment;

/// While it lives the process can open so many files more.
class FewDescriptors {
 public:
  explicit FewDescriptors(unsigned left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 128;
    setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = 0; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(fd);
    for (; left > 0 && !taken_.empty(); --left) give_one();
  }
  ~FewDescriptors() {
    while (!taken_.empty()) give_one();
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  FewDescriptors(FewDescriptors const&) = delete;
  FewDescriptors& operator=(FewDescriptors const&) = delete;

 private:
  void give_one() {
    close(taken_.back());
    taken_.pop_back();
  }
  rlimit before_{};
  std::vector<int> taken_;
};

struct Twice {
  HIWAY_DEVICE long operator()(int const& x) const { return 2L * x; }
};

/// What a run says that fails; empty of one that ends well. CPU -> device -> CPU, by copies and by stores.
std::string run(std::string const& trace) {
  try {
    Pipeline pipe({.device = "simt", .trace = trace});
    auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.movement = Movement::dma});
    auto& doubles = pipe.create_tunnel<long>("doubles", Direction::gpu_to_cpu);
    long sum = 0;
    pipe.add_cpu_stage(
        "feed",
        [](Inlet<int> out) {
          for (int i = 1; i <= 100; ++i) out.put_h(i);
        },
        into(numbers));
    pipe.add_gpu_stage("twice", Twice{}, from(numbers), into(doubles), {.blocks = 1, .threads_per_block = 32});
    pipe.add_cpu_stage("add", [&](long const& x) { sum += x; }, from(doubles));
    pipe.run();
    EXPECT_EQ(sum, 10100);
    return "";
  } catch (std::exception const& e) {
    return e.what();
  }
}

TEST(Descriptors, ThatAreUsedUpKeepNoRunFromEndingWell) {
  HIWAY_NEEDS_ALL_DESCRIPTORS();
  for (unsigned left = 0; left < 4; ++left) {
    FewDescriptors const few(left);
    EXPECT_EQ(run(""), "") << left << " left";
  }
}

TEST(Descriptors, ThatAreUsedUpMakeAnErrorOfOneLineWhereAFileIsWritten) {
  HIWAY_NEEDS_ALL_DESCRIPTORS();
  std::string const folder = testing::TempDir() + "hiway_descriptors";
  std::filesystem::create_directories(folder);
  std::vector<std::string> texts;
  std::string warning;  // of a file that is written after the run
  set_log_sink([&](LogLevel level, std::string_view said) {
    if (level == LogLevel::warning) warning = said;
  });
  for (unsigned left = 0; left < 4; ++left) {
    for (char const* variable : {"HIWAY_TRACE", "HIWAY_STATS", "HIWAY_GRAPH"}) {
      for (char const* name : {"file.json", "file.svg"}) {
        std::string const path = folder + "/" + name;
        std::filesystem::remove(path);
        Environment const asked(variable, path);
        warning.clear();
        std::string text;
        {
          FewDescriptors const few(left);
          text = run("");
        }
        if (text.empty()) text = warning;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        EXPECT_TRUE(left != 0 || !text.empty() || std::filesystem::exists(path)) << variable << " was forgotten";
        bool const without_dot = text.find("Graphviz") != std::string::npos;
        if (!text.empty() && !without_dot) texts.push_back(std::string(variable) + ": " + text);
      }
    }
  }
  set_log_sink({});
  for (std::string const& text : texts) EXPECT_NE(text.find("Too many open files"), std::string::npos) << text;
  std::filesystem::remove_all(folder);
  EXPECT_EQ(run(""), "");
}

}  // namespace
