// bench movement: dma against direct, per direction and item size; from it a machine's table for Movement::automatic is
// to be made. Throughput in spans by one CPU thread, in bulk with batches of 4 MiB too; latency as a round trip whose
// other way is always direct.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/echo.hpp"
#include "bench/raw_cuda.hpp"
#include "bench/timed_mover.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

using hiway::Movement;

constexpr std::size_t bulk_bytes = 4 << 20;

class MovementBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "movement"; }
  [[nodiscard]] std::string summary() const override {
    return "dma against direct, per direction and item size: items a second, and the round trip of one item";
  }
  void add_options(CLI::App& command) override {
    command.add_option("--items", items_, "of a turn; 0: as many as take 100 ms")->type_name("N");
    command.add_option("--trips", trips_, "of a latency turn; 0: 2000")->type_name("N");
    command.add_option("--item-bytes", item_bytes_, "only this: 4, 12, 16, 64, 4096")->type_name("BYTES");
    command.add_option("--threads", threads_, "CPU threads; 0: 1")->type_name("N");
    command.add_flag("--plant", plant_, "an altered item, which must be found");
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    if (items_ > most_items) throw cli::BadInput{"--items: at most " + std::to_string(most_items)};
    if (trips_ > 10'000'000) throw cli::BadInput{"--trips: at most 10000000"};
    if (threads_ > 256) throw cli::BadInput{"--threads: at most 256"};
    if (item_bytes_ != 0 && std::ranges::find(item_sizes, item_bytes_) == std::end(item_sizes))
      throw cli::BadInput{"--item-bytes: 4, 12, 16, 64 or 4096, not " + std::to_string(item_bytes_)};
    std::vector<Row> rows;
    for (Flow const flow : {Flow::cpu_to_gpu, Flow::gpu_to_cpu}) {
      for (std::size_t const bytes : item_sizes) {
        if (item_bytes_ != 0 && item_bytes_ != bytes) continue;
        rows.push_back(throughput(flow, bytes, request));
        rows.push_back(latency(flow, bytes, request));
      }
    }
    return rows;
  }

 private:
  static Json what(char const* of, Flow flow, std::size_t bytes) {
    Json what = Json::object();
    what["measures"] = of;
    what["direction"] = name_of(flow);
    what["item_bytes"] = bytes;
    return what;
  }

  [[nodiscard]] Row throughput(Flow flow, std::size_t bytes, Request const& request) const {
    unsigned const threads = threads_ != 0 ? threads_ : 1;
    Work const work{request.device, flow, bytes, threads, plant_ ? Plant::alter : Plant::none};
    std::uint64_t const items = items_ != 0 ? items_ : request.small ? bytes > 1024 ? 200 : 500 : 0;
    std::vector<Variant> variants;
    auto const add = [&](char const* name, std::unique_ptr<Mover> mover) {
      auto timed = std::make_shared<TimedMover>(std::move(mover), work, items, request.small);
      variants.push_back({name, [timed] { return timed->turn(); }, [timed] { return timed->facts(); }});
    };
    std::size_t const bulk = request.small ? 64 : bulk_bytes / bytes;
    add("direct", make_traffic(work, {.movement = Movement::direct}));
    add("dma", make_traffic(work, {.movement = Movement::dma}));
    add("dma in bulk",
        make_traffic(work, {.movement = Movement::dma, .capacity_items = 4 * bulk, .batch_items = bulk}));
    if (RawCuda const* const raw = raw_cuda(work.device); raw != nullptr)
      add(name_of(ByHand::large_copy), raw->make(ByHand::large_copy, work, bulk_bytes));
    Json row = what("throughput", flow, bytes);
    row["cpu_threads"] = threads;
    return measure(std::move(row), "items/s", Better::more, "direct", variants, request);
  }

  [[nodiscard]] Row latency(Flow flow, std::size_t bytes, Request const& request) const {
    unsigned const trips = trips_ != 0 ? trips_ : request.small ? 10 : 2000;
    std::vector<Variant> variants;
    for (auto const& [movement, name] : {std::pair{Movement::direct, "direct"}, std::pair{Movement::dma, "dma"}}) {
      EchoSetup setup{request.device, bytes, 1, 32, Movement::direct, Movement::direct};
      (flow == Flow::cpu_to_gpu ? setup.there : setup.back) = movement;
      std::shared_ptr<Echo> const echo = make_echo(setup);
      auto turn = [echo, trips, plant = plant_]() -> Turn {
        RoundTrips const made = echo->run(trips, plant);
        return {made.at(0.5), made.wrong.empty(), made.wrong};
      };
      variants.push_back({name, std::move(turn)});
    }
    return measure(what("round trip, the other way direct", flow, bytes), "us", Better::less, "direct", variants,
                   request);
  }

  std::uint64_t items_ = 0;
  unsigned trips_ = 0;
  std::size_t item_bytes_ = 0;
  unsigned threads_ = 0;
  bool plant_ = false;
};

}  // namespace

std::unique_ptr<Bench> make_movement() { return std::make_unique<MovementBench>(); }

}  // namespace bench
