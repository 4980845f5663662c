#include "region_sum/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "region_sum/cub.hpp"
#include "region_sum/methods.hpp"

namespace region_sum {
namespace {

class RegionSum final : public cli::App {
 public:
  std::string name() const override { return "region-sum"; }
  std::string summary() const override { return "many regions of ints, the sum of each (on the GPU)"; }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "cub", "reference"}; }
  bool goes_over_nodes() const override { return true; }

  void add_options(cli::Options& command) override {
    command.add_option("--ints", ints_, "32-bit ints (1048576)").type_name("N");
    command.add_option("--region", region_, "ints of a region: all have K, or each 0 to MAX (128)")
        .type_name("K|uniform:MAX");
    choices_.add_context(command);
    choices_.add_feed(command, "ints and sums lie on the device, or come and go in pieces");
    choices_.add_replicas(command);
    command.add_flag("--counters", segment_.counters, "method hiway: says what each node did");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    if (static_cast<std::uint64_t>(ints_) > most_ints)  // or negative
      throw cli::BadInput{"--ints must be 0 to 2147483648: " + std::to_string(ints_)};
    segment_.context = choices_.context();
    segment_.replica = choices_.replica();
    segment_.feed = choices_.feed();
    if (segment_.feed == cli::Feed::tunnel && (segment_.counters || segment_.replica == cli::Replica::block))
      throw cli::BadInput{"--counters and --replicas block go with --feed buffer"};
    ProblemOptions options{.ints = static_cast<std::uint64_t>(ints_), .seed = seed};
    parse_region(region_, options);
    problem_ = make_problem(options);
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    bool const is_segment = method == "hiway";
    if (!is_segment && (segment_.counters || segment_.feed != cli::Feed::buffer))
      throw cli::BadInput{"--counters, --feed tunnel: of method hiway, not " + method};
    if (method == "cub" && (cub_method() == nullptr || request.job.device == "simt"))
      throw cli::BadInput{"--method cub: for a GPU, by a program that was built with CUDA; the device is " +
                          request.job.device};
    std::vector<Measurement> const runs = measure(method, request.job);
    Summary shown = runs.back().summary;
    cli::MethodRun out = cli::method_run(runs);
    if (request.verify) {
      Sums sums;
      if (!oracle_) oracle_ = run_reference(problem_, {}, sums).back().summary;
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = is_reference ? "cpu" : request.job.device;
    out.result["regions"] = shown.regions;
    out.result["total"] = shown.total;
    out.result["sums_checksum"] = cli::hex(shown.checksum);
    if (runs.back().segment) cli::add_to(out.result, *runs.back().segment);
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(problem_, device); }

 private:
  [[nodiscard]] std::vector<Measurement> measure(std::string const& method, cli::Job const& job) const {
    Sums sums;
    if (method == "reference") return run_reference(problem_, job, sums);
    if (method == "hiway") return run_hiway(problem_, segment_, job, sums);
    if (method == "cub") return cub_method()(problem_, job, sums);
    return run_baseline(problem_, job, sums);
  }

  std::int64_t ints_ = 1 << 20;
  std::string region_ = "128";
  SegmentOptions segment_;
  cli::SegmentChoices choices_;
  Problem problem_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<RegionSum>(); }

}  // namespace region_sum
