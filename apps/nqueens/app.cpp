#include "nqueens/app.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/bytes.hpp"
#include "nqueens/methods.hpp"

namespace nqueens {
namespace {

constexpr std::uint32_t most_replicas = 1U << 16;
constexpr std::uint32_t most_counted = 16;  ///< queens, of which the reference counts the boards to compare them

class NQueens final : public cli::App {
 public:
  std::string name() const override { return "nqueens"; }
  std::string summary() const override {
    return "in how many ways n queens stand on a chess board (first rows on the CPU, the others on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }
  bool goes_over_nodes() const override { return true; }

  void add_options(cli::Options& command) override {
    command.add_option("--n", problem_.n, "queens (10)").type_name("N");
    command.add_option("--cpu-rows", cpu_rows_, "rows placed on the CPU (4, or half of N where that is less)")
        .type_name("N");
    cli::add_gpus(command, gpus_);
    command.add_option("--interruptible", interruptible_, "method hiway: nodes that suspend, all or the first K (all)")
        .type_name("none|all|K");
    command.add_option("--queue-memory", queue_memory_, "method hiway: what all queues should take, a target")
        .type_name("64MiB");
    command.add_option("--max-memory", max_memory_, "method hiway: what they may take at most").type_name("64MiB");
    choices_.add_replicas(command);
    command
        .add_option("--refill", refill_,
                    "method hiway: a lane takes a board when it has none, or all lanes together (lanes); by-hand: "
                    "together, and the node saves what is under way itself")
        .type_name("lanes|ensembles|by-hand");
    command.add_option("--replica-count", options_.replicas, "method hiway: blocks; 0: the library chooses (0)")
        .type_name("N");
    command.add_flag("--counters", options_.counts, "method hiway: says what each node did, and what could be better");
    choices_.add_feed(command, "how boards reach the device");
  }

  std::vector<std::string> load(std::uint64_t) override {
    std::uint32_t const n = problem_.n;
    if (n < least_queens || n > most_queens) throw cli::BadInput{"--n must be 4 to 20: " + std::to_string(n)};
    problem_.cpu_rows = cpu_rows_.value_or(std::min(4U, n / 2));
    std::uint32_t const most_rows = std::min(most_cpu_rows, n - 1);
    if (problem_.cpu_rows > most_rows)
      throw cli::BadInput{"--cpu-rows must be 0 to " + std::to_string(most_rows) + " with " + std::to_string(n) +
                          " queens: " + std::to_string(problem_.cpu_rows)};
    options_.interruptible = parse_interruptible(n - problem_.cpu_rows);
    options_.queue_bytes = parse_memory("--queue-memory", queue_memory_);
    options_.most_bytes = parse_memory("--max-memory", max_memory_);
    if (options_.most_bytes != 0 && options_.queue_bytes > options_.most_bytes)
      throw cli::BadInput{"--queue-memory is more than --max-memory: " + queue_memory_ + ", " + max_memory_};
    cli::check_gpus(gpus_);
    if (gpus_ > 1 && choices_.feed() == Feed::tunnel) throw cli::BadInput{"--gpus goes with --feed buffer"};
    options_.replica = choices_.replica();
    if (refill_ != "lanes" && refill_ != "ensembles" && refill_ != "by-hand")
      throw cli::BadInput{"--refill: lanes, ensembles or by-hand, not " + refill_};
    options_.nodes = refill_ == "lanes" ? Nodes::lanes : refill_ == "ensembles" ? Nodes::ensembles : Nodes::by_hand;
    if (options_.replicas > most_replicas)
      throw cli::BadInput{"--replica-count must be 0 to 65536: " + std::to_string(options_.replicas)};
    options_.feed = choices_.feed();
    if (options_.feed == Feed::tunnel && (options_.counts || options_.nodes != Nodes::lanes))
      throw cli::BadInput{"--counters and --refill go with --feed buffer"};
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    bool const is_reference = method == "reference";
    cli::Job job = request.job;
    job.gpus = gpus_;
    std::vector<Measurement> const runs = is_reference        ? run_reference(problem_, request.job)
                                          : method == "hiway" ? run_hiway(problem_, options_, job)
                                                              : run_baseline(problem_, request.job);
    Summary shown = runs.back().summary;
    cli::MethodRun out = cli::method_run(runs);
    if (request.verify) {
      if (!oracle_ && is_reference) oracle_ = runs.front().summary;
      if (!oracle_) oracle_ = problem_.n <= most_counted ? run_reference(problem_, {}).front().summary : Summary{};
      shown = cli::verified(out, runs, [&](Summary const& summary) { return is_right(summary, problem_.n, *oracle_); });
    }
    out.device = is_reference ? "cpu" : request.job.device;
    out.result["solutions"] = shown.solutions;
    if (!shown.boards.empty()) out.result["boards"] = shown.boards;
    if (!runs.back().of_nodes.empty()) out.result["solutions_of_nodes"] = runs.back().of_nodes;
    if (runs.back().segment) cli::add_to(out.result, *runs.back().segment);
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(problem_, options_, device); }

 private:
  static std::uint64_t parse_memory(std::string const& option, std::string const& text) {
    if (text.empty()) return 0;
    std::int64_t const bytes = cli::parse_bytes(option, text);
    if (bytes == 0) throw cli::BadInput{option + " must be more than nothing: " + text};
    return static_cast<std::uint64_t>(bytes);
  }
  [[nodiscard]] std::uint32_t parse_interruptible(std::uint32_t nodes) const {
    if (interruptible_ == "none") return 0;
    if (interruptible_ == "all") return nodes;
    std::uint32_t first = 0;
    char const* const last = interruptible_.data() + interruptible_.size();
    auto const [stop, error] = std::from_chars(interruptible_.data(), last, first);
    if (error != std::errc{} || stop != last || first > nodes)
      throw cli::BadInput{"--interruptible must be none, all, or 0 to " + std::to_string(nodes) +
                          ", a node for each row on the GPU: " + interruptible_};
    return first;
  }

  Problem problem_;
  std::optional<std::uint32_t> cpu_rows_;
  unsigned gpus_ = 1;
  std::string interruptible_ = "all";
  std::string queue_memory_;
  std::string max_memory_;
  std::string refill_ = "lanes";
  cli::SegmentChoices choices_;
  Options options_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<NQueens>(); }

}  // namespace nqueens
