#include "cli/bench_command.hpp"

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/device.hpp"
#include "cli/names.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"

namespace cli {
namespace {

constexpr unsigned turns_on_a_gpu = 5;
constexpr unsigned turns_emulated = 1;

/// The options of `hiway bench NAME` that are not the bench's.
struct BenchOptions {
  std::string device = "auto";
  std::int64_t repeat = 0;  ///< 0: not given
  std::string json;
};

void add_bench_options(Options& command, bench::Bench& bench, BenchOptions& options) {
  add_device_option(command, options.device);
  command.add_option("--repeat", options.repeat, "measured turns of each variant")
      .type_name("N")
      .default_str(std::to_string(turns_on_a_gpu) + ", or " + std::to_string(turns_emulated) + " where emulated");
  command.add_option("--json", options.json, "print one JSON object, or write it to FILE")
      .type_name("[FILE|-]")
      .expected(0, 1);
  bench.add_options(command);
}

int run_bench(Options const& command, bench::Bench& bench, BenchOptions const& options, std::string const& line) {
  if (command.given("--repeat") && (options.repeat < 1 || options.repeat > 1'000'000))
    throw BadInput{"--repeat must be 1 to 1000000: " + std::to_string(options.repeat)};
  bench.check_options();
  if (std::string const listing = bench.listing(); !listing.empty()) {
    print(listing);
    return 0;
  }
  bool const as_json = command.given("--json");
  bool const to_file = as_json && !options.json.empty() && options.json != "-";
  if (to_file) require_writable("--json", options.json);

  bench::Request request;
  request.device = chosen_device(options.device);
  request.small = request.device == "simt";
  request.repeat = request.small ? turns_emulated : turns_on_a_gpu;
  if (options.repeat > 0) request.repeat = static_cast<unsigned>(options.repeat);

  bench::Result result{bench.name(), line, request, {}};
  {
    Progress progress{Progress::unknown};
    progress.say("bench " + bench.name());
    request.ran = [&] { progress.step(); };
    result.rows = bench.run(request);
  }
  if (!bench.tells()) return 0;
  std::string const text = as_json ? bench::to_json(result).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                   : bench::to_text(result);
  bool all_written = write_or_print(to_file ? options.json : "", text);
  std::string const wrong = bench::first_wrong(result.rows);
  if (wrong.empty()) {
    for (File const& file : bench.files(result.rows, request)) all_written = write_or_say(file) && all_written;
    return all_written ? 0 : 1;
  }
  std::cerr << "hiway: bench " << bench.name() << ": " << wrong << "\n";
  return 1;
}

class BenchCommand final : public Command {
 public:
  explicit BenchCommand(bench::Benches const& benches) : benches_(benches), options_(benches.size()) {}
  std::string name() const override { return "bench"; }
  std::string summary() const override { return "measure one road of the library beside its floor or baseline"; }

  void add_options(Options& command) override {
    for (std::size_t i = 0; i < benches_.size(); ++i) {
      of_benches_.push_back(command.add_command(benches_[i]->name(), benches_[i]->summary()));
      add_bench_options(of_benches_.back(), *benches_[i], options_[i]);
    }
  }
  void check(std::span<std::string const> words) const override { choice().check(words); }
  int run(Options const& /*command*/, std::string const& line) override {
    for (std::size_t i = 0; i < benches_.size(); ++i) {
      if (of_benches_[i].given()) return run_bench(of_benches_[i], *benches_[i], options_[i], line);
    }
    throw BadInput{choice().needed()};
  }

 private:
  [[nodiscard]] Choice choice() const { return {"bench", "a name", "bench", names_of(benches_)}; }

  bench::Benches const& benches_;
  std::vector<BenchOptions> options_;  // of each bench
  std::vector<Options> of_benches_;    // likewise
};

}  // namespace

std::unique_ptr<Command> make_bench_command(bench::Benches const& benches) {
  return std::make_unique<BenchCommand>(benches);
}

}  // namespace cli
