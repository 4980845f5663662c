#include "gene_alignment/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "gene_alignment/input.hpp"
#include "gene_alignment/methods.hpp"

namespace gene_alignment {
namespace {

cli::Json to_json(Summary const& summary) {
  cli::Json first = nullptr;
  if (summary.first) {
    first = {{"position", summary.first->position},
             {"similarity", summary.first->similarity},
             {"target_index", summary.first->target_index}};
  }
  return {{"coarse_matches", summary.coarse_matches},
          {"similarity_sum", summary.similarity_sum},
          {"first", first},
          {"matches_checksum", cli::hex(summary.matches_checksum)}};
}

class GeneAlignment final : public cli::App {
 public:
  std::string name() const override { return "gene-alignment"; }
  std::string summary() const override {
    return "where, and how well, a query aligns with a longer target (coarse on the GPU, fine on the CPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "paper", "baseline", "reference"}; }
  bool goes_over_nodes() const override { return true; }

  void add_options(cli::Options& command) override {
    constexpr char const* group =
        "Input (without any of these: random bases, with a mutated query cut out of the target)";
    auto const add = [&]<class T>(char const* option, std::optional<T>& value, char const* type, char const* text) {
      command.add_option(option, value, text).type_name(type).group(group);
    };
    add("--target", options_.target_file, "FILE", "FASTA, plain or .gz; the first record");
    add("--query", options_.query_file, "FILE", "FASTA, plain or .gz; the first record");
    add("--pair", options_.pair_file, "FILE", "two lines: the query, then the target");
    add("--target-length", options_.target_length, "N", "a random target of N bases (16384)");
    add("--query-length", options_.query_length, "N",
        "a random query of N bases (256), or with --query-at the piece's length");
    add("--query-at", options_.query_at, "POS", "the query is a piece of the target, from POS (0 is the first base)");
    cli::add_gpus(command, gpus_);
    add("--mutate", options_.mutate, "RATE", "with --query-at: the part of the query's bases that is replaced, 0 to 1");
    command
        .add_option("--cross", cross_,
                    "methods hiway and paper: what leaves the GPU, all: a result for each position (matches)")
        .type_name("matches|all");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    if (cross_ != "matches" && cross_ != "all") throw cli::BadInput{"--cross must be matches or all: " + cross_};
    options_.seed = seed;
    input_ = make_input(options_);
    return input_.notes;
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    cli::check_gpus(gpus_);
    Job job = request.job;
    job.gpus = gpus_;
    Cross const cross = cross_ == "all" ? Cross::all : Cross::matches;
    std::vector<Measurement> const runs = method == "hiway"      ? run_hiway(input_, job, cross)
                                          : method == "paper"    ? run_paper(input_, job, cross)
                                          : method == "baseline" ? run_baseline(input_, job)
                                                                 : run_reference(input_, job);
    if (is_reference && !oracle_) oracle_ = runs.front().summary;
    Summary shown = runs.back().summary;
    cli::MethodRun out = cli::method_run(runs);
    if (request.verify) {
      if (!oracle_) oracle_ = summarize(reference_alignments(input_.target, input_.query));
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = is_reference ? "cpu" : request.job.device;
    out.result = to_json(shown);
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(device); }

 private:
  InputOptions options_;
  std::string cross_ = "matches";
  unsigned gpus_ = 1;
  Input input_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<GeneAlignment>(); }

}  // namespace gene_alignment
