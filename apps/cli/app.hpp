// App: what an application brings to the program hiway. main.cpp lists them.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/job.hpp"
#include "cli/options.hpp"

namespace cli {

/// Keys keep the order in which they were set.
using Json = nlohmann::ordered_json;

/// How `hiway run` wants one method run.
struct RunRequest {
  Job job;             ///< its device is "simt" or "cuda:N", chosen and there
  bool verify = true;  ///< compare with the serial oracle, outside the measured time
};

/// A file that the options ask for. The application returns it, and the command writes it after the work.
struct File {
  std::string path;  ///< "-": stdout
  std::string bytes;
};

/// What one method did.
struct MethodRun {
  std::string device;           ///< where it ran: the request's, or "cpu" for a method without a device
  bool verified = false;        ///< every repeat gave the oracle's answer; false also when nobody compared
  std::vector<double> seconds;  ///< one a repeat
  std::uint64_t items = 0;
  std::optional<double> end_detection_us{};    ///< median; empty where the library did not find the end
  std::vector<hiway::TunnelReport> tunnels{};  ///< of the last repeat; empty for a method without tunnels
  Json result;                                 ///< the application's own keys
  std::vector<File> files{};                   ///< pictures, tables
};

/// The option --gpus of an application that shares its work out to several. check_gpus *throws* BadInput.
void add_gpus(Options& command, unsigned& gpus);
void check_gpus(unsigned gpus);

/// Of at least one value; of an even number the mean of the two in the middle.
[[nodiscard]] double median(std::vector<double> values);

/// What the runs of a job say alike in every application.
template <class Measurement>
[[nodiscard]] MethodRun method_run(std::vector<Measurement> const& runs) {
  MethodRun out;
  std::vector<double> ends;
  for (Measurement const& run : runs) {
    out.seconds.push_back(run.seconds);
    if (run.end_detection_us) ends.push_back(*run.end_detection_us);
  }
  if (!ends.empty()) out.end_detection_us = median(std::move(ends));
  out.items = runs.back().items;
  out.tunnels = runs.back().tunnels;
  return out;
}

/// Says in `out` whether all runs are right. The summary to show: that of the last run that is not, or else of the last one.
template <class Measurement, class IsRight>
[[nodiscard]] auto verified(MethodRun& out, std::vector<Measurement> const& runs, IsRight is_right) {
  auto shown = runs.back().summary;
  out.verified = true;
  for (Measurement const& run : runs) {
    if (is_right(run.summary)) continue;
    out.verified = false;
    shown = run.summary;
  }
  return shown;
}

/// 16 digits.
[[nodiscard]] std::string hex(std::uint64_t number);

/// One application. *Threads*: one. Used once: add_options, then load and run as often as there are methods; or graph
/// alone.
class App {
 public:
  App() = default;
  App(App const&) = delete;
  App& operator=(App const&) = delete;
  virtual ~App() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string summary() const = 0;
  /// What --method takes; the first is the default.
  [[nodiscard]] virtual std::vector<std::string> methods() const = 0;
  /// Whether method hiway shares its work out over job.cluster. Node 0 has the result then; the others' is not shown.
  [[nodiscard]] virtual bool goes_over_nodes() const { return false; }
  /// Adds the application's own options. *Lifetime*: `command` goes before the App does.
  virtual void add_options(Options& command) = 0;
  /// Makes or reads the input, and returns what the user should know about it. *Throws* BadInput.
  virtual std::vector<std::string> load(std::uint64_t seed) = 0;
  /// *Throws* what the library throws.
  virtual MethodRun run(std::string const& method, RunRequest const& request) = 0;
  /// The pipeline of method hiway in dot.
  [[nodiscard]] virtual std::string graph(std::string const& device) = 0;
};

using Apps = std::vector<std::unique_ptr<App>>;

}  // namespace cli
