// bench hetero-mark: the applications of Hetero-Mark by their own scheme, the same from pinned memory, and with this
// library. Beside them what the bus takes for the bytes that have to cross it, both ways at once. Value: milliseconds
// of a run, copies included; every run is verified.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/app_runs.hpp"
#include "bench/benches.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

/// An application of Hetero-Mark with a size, and what of it has to cross the bus.
struct Program {
  char const* title;  ///< as Hetero-Mark names it
  char const* app;
  char const* arguments;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  char const* baseline = "baseline";  ///< on a GPU: the method that is its own scheme
};

constexpr std::uint64_t million = 1'000'000;
constexpr Program programs[] = {
    {"GA", "gene-alignment", paper_size::gene_alignment, 67'000, 5'000},
    {"EP", "evolutionary-program", paper_size::evolutionary_program, 164 * million, 164 * million},
    {"BE", "background-extraction", " --width 1280 --height 720 --frames 100", 276 * million, 274 * million},
    {"FIR", "fir", " --blocks 4096 --block-samples 1024 --taps 16", 16'777'216, 16'777'216, "cuda"},
    {"AES", "aes", " --bytes 33554432", 33'554'432, 33'554'432},
    {"HIST", "hist", " --pixels 33554432 --colours 256", 134'217'728, 1024},
    {"BS", "bs", " --options 8388608", 33'554'432, 67'108'864},
    {"KM", "kmeans", " --points 100000 --features 34 --clusters 5", 13'600'000, 400'000},
    {"KNN", "knn", " --places 42764", 342'112, 1024},
    {"KNN, 1 M", "knn", " --places 1000000", 8 * million, 1024},
    {"PR", "pagerank", " --nodes 1024 --connections 102 --rounds 500", 840'000, 4096},
    {"BST", "bst", " --keys 100000", 800'000, 1'600'000},
};

/// How long the bus takes: a copy in and one out, from and to pinned memory, each by itself. The longer one is the
/// floor, since both ways are busy at once.
class Bus {
 public:
  Bus(std::string const& device, std::uint64_t bytes_in, std::uint64_t bytes_out)
      : pipe_(hiway::PipelineConfig{.device = device}),
        on_device_(pipe_.create_buffer<std::byte>(std::max(bytes_in, bytes_out))),
        here_(pipe_.create_host_buffer<std::byte>(std::max(bytes_in, bytes_out))),
        in_(here_.first(bytes_in)),
        out_(here_.first(bytes_out)) {}
  Bus(Bus const&) = delete;
  Bus& operator=(Bus const&) = delete;

  [[nodiscard]] double milliseconds() {
    return std::max(timed([&] { on_device_.copy_in(in_); }), timed([&] { on_device_.copy_out(out_); }));
  }

 private:
  template <class Copy>
  [[nodiscard]] static double timed(Copy const& copy) {
    auto const begin = std::chrono::steady_clock::now();
    copy();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  hiway::Pipeline pipe_;
  hiway::Buffer<std::byte>& on_device_;
  std::span<std::byte> here_;
  std::span<std::byte const> in_;
  std::span<std::byte> out_;
};

class HeteroMarkBench final : public Bench {
 public:
  explicit HeteroMarkBench(AppList apps) : apps_(std::move(apps)) {}
  [[nodiscard]] std::string name() const override { return "hetero-mark"; }
  [[nodiscard]] std::string summary() const override {
    return "Hetero-Mark's applications: their own scheme, pinned, this library, and the bus";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--app", only_, "one application, by its name in `hiway list`").type_name("APP");
    command.add_option("--runs", runs_, "of a turn, whose median counts; 0: 3").type_name("N");
  }
  void check_options() const override {
    if (runs_ > 1000) throw cli::BadInput{"--runs: at most 1000"};
    if (!only_.empty() && std::ranges::find(programs, only_, &Program::app) == std::end(programs))
      throw cli::BadInput{"--app: not one of Hetero-Mark's applications: " + only_};
  }
  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    std::vector<Row> rows;
    for (Program const& program : programs) {
      if (only_.empty() || program.app == only_) rows.push_back(row(program, request));
    }
    return rows;
  }

 private:
  /// On the emulated device an application is as large as it is by itself, and the bus has little to carry.
  [[nodiscard]] Row row(Program const& program, Request const& request) const {
    std::string const arguments = request.small ? "" : program.arguments;
    std::shared_ptr<cli::App> const app = loaded_app(apps_, program.app, arguments);
    unsigned const runs = runs_ != 0 ? runs_ : request.small ? 1 : 3;
    auto const by = [&](char const* name, char const* method, bool pinned) {
      AppRuns how{.device = request.device, .method = method, .runs = runs, .pinned = pinned};
      return Variant{name, app_turn(app, std::move(how))};
    };
    char const* const baseline = request.small ? "baseline" : program.baseline;
    auto const bus = std::make_shared<std::optional<Bus>>();
    auto const crosses = [=, device = request.device, small = request.small]() -> Turn {
      std::uint64_t const most = small ? 4096 : ~std::uint64_t{0};
      if (!*bus) bus->emplace(device, std::min(program.bytes_in, most), std::min(program.bytes_out, most));
      return {.value = (*bus)->milliseconds(), .right = true};
    };
    Json what = Json::object();
    what["application"] = program.title;
    what["command"] = std::string("hiway run ") + program.app + arguments;
    what["runs"] = runs;
    what["baseline"] = baseline;
    what["bytes_in"] = program.bytes_in;
    what["bytes_out"] = program.bytes_out;
    return measure(std::move(what), "ms", Better::less, "baseline",
                   {by("baseline", baseline, false),
                    by("baseline, pinned", baseline, true),
                    by("hiway", "hiway", false),
                    {"bus", crosses}},
                   request);
  }

  AppList apps_;
  std::string only_;
  unsigned runs_ = 0;
};

}  // namespace

std::unique_ptr<Bench> make_hetero_mark(AppList apps) { return std::make_unique<HeteroMarkBench>(std::move(apps)); }

}  // namespace bench
