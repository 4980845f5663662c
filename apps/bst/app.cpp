#include "bst/app.hpp"

#include <string>
#include <vector>

#include "bst/methods.hpp"
#include "cli/bad_input.hpp"

namespace bst {
namespace {

using cli::require_in_range;

constexpr std::uint32_t most_keys = 1U << 25;

class App final : public cli::App {
 public:
  std::string name() const override { return "bst"; }
  std::string summary() const override {
    return "a binary search tree that the CPU and the GPU insert keys into (it lies on the GPU, keys travel)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "managed", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--keys", keys_, "that are inserted (2000)").type_name("N");
    command.add_option("--initial", initial_, "keys that are in the tree before (10)").type_name("N");
    command.add_option("--cpu-percent", cpu_percent_, "of the keys, that the CPU inserts or sends (30)").type_name("P");
    command.add_option("--blocks", options_.blocks, "method hiway: of its kernel (132)").type_name("N");
    command.add_option("--threads", options_.threads, "of a block (256; baseline 128, managed 64)").type_name("N");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    require_in_range("--keys", keys_, 0, most_keys);
    require_in_range("--initial", initial_, 1, most_keys);
    require_in_range("--cpu-percent", cpu_percent_, 0, 100);
    require_in_range("--blocks", options_.blocks, 0, 1U << 16);
    require_in_range("--threads", options_.threads, 0, 1024);
    if (options_.threads % 32 != 0)
      throw cli::BadInput{"--threads must be a multiple of 32: " + std::to_string(options_.threads)};
    problem_ = make_problem(keys_, initial_, cpu_percent_, seed);
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    if (method == "managed" && (request.job.device == "simt" || managed_method() == nullptr))
      throw cli::BadInput{"--method managed: for a GPU, by a program that was built with CUDA; the device is " +
                          request.job.device};
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(problem_, options_, request.job)
                                          : method == "managed"  ? managed_method()(problem_, options_, request.job)
                                          : method == "baseline" ? run_baseline(problem_, options_, request.job)
                                                                 : run_reference(problem_, request.job);
    cli::MethodRun out = cli::method_run(runs);
    Summary shown = runs.back().summary;
    if (request.verify)
      shown = cli::verified(out, runs, [&](Summary const& summary) { return is_right(summary, problem_.keys); });
    out.device = method == "reference" ? "cpu" : request.job.device;
    out.result["nodes"] = shown.nodes;
    out.result["by_cpu"] = problem_.by_cpu;
    out.result["by_gpu"] = problem_.of_gpu().size();
    out.result["is_search_tree"] = shown.is_search_tree;
    out.result["keys_hash"] = cli::hex(shown.keys_hash);
    out.result["depth"] = shown.depth;
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(make_problem(1, 1, 100, 1), device); }

 private:
  std::uint32_t keys_ = 2000;
  std::uint32_t initial_ = 10;
  std::uint32_t cpu_percent_ = 30;
  Options options_;
  Problem problem_;
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<App>(); }

}  // namespace bst
