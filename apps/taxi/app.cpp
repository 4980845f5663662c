#include "taxi/app.hpp"

#include <algorithm>
#include <hiway/cpus.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/output.hpp"
#include "taxi/methods.hpp"
#include "taxi/reference.hpp"

namespace taxi {
namespace {

constexpr std::size_t most_reasons = 10;

class Taxi final : public cli::App {
 public:
  std::string name() const override { return "taxi"; }
  std::string summary() const override {
    return "from trips in text, a list of places a line, to a line a place (on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--input", options_.file, "CSV: a header, then a trip a line, POLYLINE last").type_name("FILE");
    command.add_option("--lines", options_.lines, "N generated trips of 1 to 89 pairs (1000)").type_name("N");
    command
        .add_option(
            "--output", output_,
            "writes line, latitude, longitude of each pair, in order; - with --json FILE: nothing else on stdout")
        .type_name("FILE|-");
    choices_.add_context(command);
    choices_.add_feed(command, "text and pairs lie on the device, or come and go in pieces");
    choices_.add_replicas(command);
    command.add_flag("--counters", segment_.counters, "method hiway: says what each node did");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    if (!output_.empty() && output_ != "-") cli::require_writable("--output", output_);
    segment_.context = choices_.context();
    segment_.replica = choices_.replica();
    segment_.feed = choices_.feed();
    if (segment_.feed == cli::Feed::tunnel && (segment_.counters || segment_.replica == cli::Replica::block))
      throw cli::BadInput{"--counters and --replicas block go with --feed buffer"};
    options_.seed = seed;
    input_ = make_input(options_);
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    if (request.verify && !oracle_)
      oracle_ = reference_conversion(input_, hiway::available_cpus());
    Conversion conversion;
    bool all_right = true;
    Job job = request.job;
    job.ran = [&] {
      if (request.verify) all_right = all_right && conversion == *oracle_;
      request.job.ran();
    };
    bool const is_segment = method == "hiway";
    if (!is_segment && (segment_.counters || segment_.feed != cli::Feed::buffer))
      throw cli::BadInput{"--counters, --feed tunnel: of method hiway, not " + method};
    std::vector<Measurement> const runs = is_reference ? run_reference(input_, job, conversion)
                                          : is_segment ? run_hiway(input_, segment_, job, conversion)
                                                       : run_baseline(input_, job, conversion);
    cli::MethodRun out = cli::method_run(runs);
    out.verified = request.verify && all_right;
    out.device = is_reference ? "cpu" : request.job.device;
    Summary const summary = summarize(conversion, input_.lines.size());
    out.result["lines"] = summary.lines;
    out.result["pairs"] = summary.pairs;
    out.result["broken_lines"] = summary.broken_lines;
    out.result["pairs_checksum"] = cli::hex(summary.checksum);
    if (!conversion.broken.empty()) out.result["broken"] = reasons(conversion);
    if (runs.back().segment) cli::add_to(out.result, *runs.back().segment);
    if (!output_.empty()) out.files.push_back({output_, to_csv(conversion.pairs)});
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(input_, device); }

 private:
  /// Of the first broken lines, by the rules in their plainest form.
  [[nodiscard]] cli::Json reasons(Conversion const& conversion) const {
    cli::Json all = cli::Json::array();
    for (std::uint32_t const number : conversion.broken) {
      if (all.size() == most_reasons) break;
      Line const& line = input_.lines[number - 2];  // the header is 1
      all.push_back({{"line", number}, {"reason", read_trip(input_.line(line), number).broken}});
    }
    return all;
  }

  InputOptions options_;
  SegmentOptions segment_;
  cli::SegmentChoices choices_;
  std::string output_;
  Input input_;
  std::optional<Conversion> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<Taxi>(); }

}  // namespace taxi
