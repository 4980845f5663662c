// What bench paper compares: the paper's applications, and the ways to run each.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "cli/job.hpp"

namespace bench {

/// One way to run an application: its method, and the switches of its pipeline.
struct Setting {
  std::string name;
  std::string method;
  cli::Scheme scheme{};
  bool pinned = false;

  [[nodiscard]] Json facts() const;
};

/// An application with its input.
struct Subject {
  std::string title;  ///< as the paper names it
  std::string app;
  std::string arguments;
  std::chrono::microseconds time_out;  ///< about ten times its longest task, as the paper has it
  bool copies_much = false;            ///< from and to ordinary memory, by its baseline
  bool by_regions = false;             ///< has a stencil: its baseline is a pipeline whose tasks carry copies
  bool in_means = true;                ///< one of the six as the paper has them
  bool by_numbers = false;             ///< there is a method by hiway/paper.hpp
};

/// A row: the settings of one subject beside one of them.
struct Comparison {
  std::string part;
  Subject subject;
  std::string beside;
  std::vector<Setting> settings;
};

namespace paper_setting {
inline constexpr char const* baseline = "baseline";
inline constexpr char const* pinned_baseline = "baseline, pinned";
}  // namespace paper_setting

/// Everything that is compared, the six applications in the paper's order. `small`: as large as an application is by
/// itself; `image`: face detection's, empty for the small one that is built in.
[[nodiscard]] std::vector<Comparison> paper_comparisons(bool small, std::string const& image);

}  // namespace bench
