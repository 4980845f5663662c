// Each n-th operation on the files of a run fails once: the check before the run, or the writing after it. The run says so, or
// has the file in another way; it keeps its outcome, and nothing half-written is left.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

#include "hiway/hiway.hpp"
#include "hiway/log.hpp"
#include "tests/environment.hpp"
#include "tests/faults/nth/interpose.hpp"

namespace {

using namespace hiway;
namespace nth = hiway_tests::nth;
namespace fs = std::filesystem;

/// A folder of its own, with files of a run before.
class Folder {
 public:
  static constexpr char const* before = "of the run before";
  Folder() {
    fs::remove_all(path_);
    fs::create_directory(path_);
    for (char const* name : names) std::ofstream(path(name)) << before;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;

  static constexpr char const* names[] = {"trace.json", "stats.json", "graph.dot"};
  [[nodiscard]] std::string path(std::string const& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string text(std::string const& name) const {
    std::ostringstream all;
    all << std::ifstream(path(name)).rdbuf();
    return all.str();
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  std::string path_ = "file_fault_test";
};

/// Whole, of this run or the one before.
bool is_whole(std::string const& name, std::string const& text) {
  if (text == Folder::before) return true;
  return name == "graph.dot" ? text.starts_with("digraph") && text.ends_with("}\n")
                             : text.starts_with("{") && (text.ends_with("}") || text.ends_with("}\n"));
}

TEST(NthFault, AnyFileOperationMayFail) {
  for (bool const fails : {false, true}) {
    unsigned tries = 0;
    unsigned refused = 0;
    unsigned said = 0;
    unsigned absorbed = 0;
    for (std::uint64_t n = 1, quiet = 0; quiet < 3; ++n, ++tries) {
      SCOPED_TRACE(n);
      Folder const folder;
      hiway_tests::Environment const stats("HIWAY_STATS", folder.path("stats.json"));
      hiway_tests::Environment const graph("HIWAY_GRAPH", folder.path("graph.dot"));
      std::atomic<int> warnings = 0;
      set_log_sink([&](LogLevel level, std::string_view) { warnings += level == LogLevel::warning ? 1 : 0; });
      Pipeline pipe({.device = "simt", .trace = folder.path("trace.json")});
      auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
      int sum = 0;
      pipe.add_cpu_stage(
          "feed",
          [](Inlet<int> out) {
            for (int i = 1; i <= 10; ++i) out.put_h(i);
          },
          into(numbers));
      pipe.add_cpu_stage(
          "add",
          [&](int const& x) {
            sum += x;
            if (fails && x == 10) throw std::runtime_error("not wanted");
          },
          from(numbers));
      std::string error;
      nth::begin(nth::Resource::file, n);
      try {
        pipe.run();
      } catch (std::exception const& e) {
        error = e.what();
      }
      nth::end();
      set_log_sink({});
      bool const fired = nth::has_failed();
      quiet = fired ? 0 : quiet + 1;
      bool const was_refused = error.starts_with("trace: '");
      if (!was_refused) {
        EXPECT_EQ(error, fails ? "stage 'add': not wanted" : "");
        EXPECT_EQ(sum, 55);
      }
      for (char const* name : Folder::names) {
        std::string const text = folder.text(name);
        if (is_whole(name, text)) continue;
        EXPECT_GT(warnings + was_refused, 0) << name << " is cut off, and nobody says so: " << text.substr(0, 80);
      }
      EXPECT_EQ(folder.files(), 3) << "something is left behind";
      EXPECT_TRUE(fired || (warnings == 0 && !was_refused)) << error;
      refused += was_refused ? 1 : 0;
      said += warnings != 0 ? 1 : 0;
      absorbed += fired && warnings == 0 && !was_refused ? 1 : 0;
    }
    std::cout << "file operation of a run that " << (fails ? "fails: " : "ends well: ") << tries << " n, " << refused
              << " refused before it, " << said << " reported after it, " << absorbed << " absorbed" << std::endl;
  }
}

}  // namespace
