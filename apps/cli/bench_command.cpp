#include "cli/bench_command.hpp"

#include <iostream>
#include <utility>

#include "cli/bad_input.hpp"
#include "cli/device.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"

namespace cli {
namespace {

constexpr unsigned turns_on_a_gpu = 5;
constexpr unsigned turns_emulated = 1;

}  // namespace

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

}  // namespace cli
