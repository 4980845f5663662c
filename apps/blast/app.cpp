#include "blast/app.hpp"

#include <algorithm>
#include <hiway/cpus.hpp>
#include <optional>
#include <string>
#include <vector>

#include "blast/input.hpp"
#include "blast/methods.hpp"
#include "cli/bad_input.hpp"
#include "cli/output.hpp"

namespace blast {
namespace {

class Blast final : public cli::App {
 public:
  std::string name() const override { return "blast"; }
  std::string summary() const override {
    return "where a database has pieces of a query (seeds of eight bases, extended and scored, all on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command.add_option("--database", options_.database_file, "FASTA, plain or .gz; the first record").type_name("FILE");
    command.add_option("--query", options_.query_file, "FASTA, plain or .gz; the first record").type_name("FILE");
    command
        .add_option("--bases", options_.bases, "a random database of N bases, with pieces of the query in it (65536)")
        .type_name("N");
    command.add_option("--query-bases", options_.query_bases, "a random query of N bases (1000)").type_name("N");
    command.add_option("--stride", options_.stride, "bases from a seed of the database to the next (4)")
        .type_name("4|1");
    command.add_option("--tsv", tsv_, "writes the hits, in order; - with --json FILE: nothing else on stdout")
        .type_name("FILE|-");
    choices_.add_feed(command, "where its segment reads from");
    choices_.add_replicas(command);
    command.add_flag("--merged", segment_.merged, "method hiway: all nodes merged into one");
    command.add_flag("--ensembles", segment_.ensembles,
                     "method hiway: all lanes of an expander take items together, and wait for each other");
    command.add_flag("--counters", segment_.counters,
                     "method hiway: says what each node did, and what could be better");
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    segment_.feed = choices_.feed();
    segment_.replica = choices_.replica();
    if (segment_.feed == Feed::tunnel &&
        (segment_.merged || segment_.ensembles || segment_.counters || segment_.replica == Replica::block))
      throw cli::BadInput{"--merged, --ensembles, --counters and --replicas go with --feed buffer"};
    if (segment_.ensembles && (segment_.counters || segment_.replica == Replica::block))
      throw cli::BadInput{"--ensembles goes with replicas of a warp, without --counters"};
    if (!tsv_.empty() && tsv_ != "-") cli::require_writable("--tsv", tsv_);
    options_.seed = seed;
    input_ = make_input(options_);
    problem_ = make_problem(input_);
    return input_.notes;
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_segment = method == "hiway";
    if (!is_segment && (segment_.merged || segment_.ensembles || segment_.counters || segment_.feed != Feed::buffer))
      throw cli::BadInput{"--merged, --ensembles, --counters, --feed tunnel: of method hiway, not " + method};
    bool const is_reference = method == "reference";
    Job const& job = request.job;
    Hits hits;
    std::vector<Measurement> const runs = is_reference ? run_reference(input_, job, hits)
                                          : is_segment ? run_hiway(problem_, segment_, job, hits)
                                                       : run_baseline(problem_, job, hits);
    Summary shown = runs.back().summary;
    cli::MethodRun out = cli::method_run(runs);
    if (request.verify || is_reference) require_oracle();
    if (request.verify) {
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = is_reference ? "cpu" : request.job.device;
    out.result["hits"] = shown.hits;
    out.result["hits_checksum"] = cli::hex(shown.checksum);
    if (oracle_) {
      out.result["seeds_found"] = counts_.seeds_found;
      out.result["positions"] = counts_.positions;
      out.result["kept_exact"] = counts_.kept_exact;
    }
    if (runs.back().segment) cli::add_to(out.result, *runs.back().segment);
    if (!tsv_.empty()) out.files.push_back({tsv_, to_tsv(hits)});
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(problem_, device); }

 private:
  void require_oracle() {
    if (oracle_) return;
    Found found = reference_hits(input_, hiway::available_cpus());
    oracle_ = summarize(found.hits);
    counts_ = found.counts;
  }

  InputOptions options_;
  SegmentOptions segment_;
  cli::SegmentChoices choices_;
  std::string tsv_;
  Input input_;
  Problem problem_;
  std::optional<Summary> oracle_;  // made once, for all methods
  Counts counts_;                  // the oracle's
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<Blast>(); }

}  // namespace blast
