// bench movement: dma against direct, per direction and item size, both directions at once, and between two devices where
// there are two; --write-table makes of it a machine's table for Movement::automatic. Throughput in spans by one CPU thread, in bulk with batches of 4 MiB too;
// latency as a round trip whose other way is always direct;
// between devices both ways are alike.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/device_numbers.hpp"
#include "bench/echo.hpp"
#include "bench/movement_table.hpp"
#include "bench/raw_cuda.hpp"
#include "bench/timed_mover.hpp"
#include "cli/bad_input.hpp"
#include "cli/machine.hpp"
#include "cli/output.hpp"

namespace bench {
namespace {

using hiway::Movement;

constexpr std::size_t bulk_bytes = 4 << 20;

class MovementBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "movement"; }
  [[nodiscard]] std::string summary() const override {
    return "dma against direct, per direction and item size, and between devices: items a second, one item's round "
           "trip";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--items", items_, "of a turn; 0: as many as take 100 ms").type_name("N");
    command.add_option("--trips", trips_, "of a latency turn; 0: 2000").type_name("N");
    command.add_option("--item-bytes", item_bytes_, "only this: 4, 12, 16, 64, 4096").type_name("BYTES");
    command.add_option("--threads", threads_, "CPU threads; 0: 1").type_name("N");
    command.add_option("--write-table", table_, "write the table that HIWAY_MOVEMENT_TABLE takes; needs a GPU")
        .type_name("FILE");
    command.add_flag("--plant", plant_, "an altered item, which must be found");
  }
  void check_options() const override {
    if (!table_) return;
    if (item_bytes_ != 0) throw cli::BadInput{"--write-table: needs every item size, not --item-bytes alone"};
    if (parts_of_gpu() > 1)
      throw cli::BadInput{"--write-table: needs whole GPUs, no parts of one; unset HIWAY_GPU_PARTS"};
    cli::require_writable("--write-table", *table_);
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    if (items_ > most_items) throw cli::BadInput{"--items: at most " + std::to_string(most_items)};
    if (trips_ > 10'000'000) throw cli::BadInput{"--trips: at most 10000000"};
    if (threads_ > 256) throw cli::BadInput{"--threads: at most 256"};
    if (item_bytes_ != 0 && std::ranges::find(item_sizes, item_bytes_) == std::end(item_sizes))
      throw cli::BadInput{"--item-bytes: 4, 12, 16, 64 or 4096, not " + std::to_string(item_bytes_)};
    if (table_ && request.small)
      throw cli::BadInput{"--write-table: the emulated device's times are no speed; --device cuda:N is needed"};
    std::vector<Row> rows;
    std::vector<Flow> flows{Flow::cpu_to_gpu, Flow::gpu_to_cpu};
    if (!other_devices(request.device).empty()) flows.push_back(Flow::gpu_to_gpu);
    for (Flow const flow : flows) {
      for (std::size_t const bytes : item_sizes) {
        if (item_bytes_ != 0 && item_bytes_ != bytes) continue;
        rows.push_back(throughput(flow, bytes, request));
        rows.push_back(latency(flow, bytes, request));
      }
    }
    for (std::size_t const bytes : item_sizes) {
      if (item_bytes_ == 0 || item_bytes_ == bytes) rows.push_back(both(bytes, request));
    }
    return rows;
  }

  [[nodiscard]] std::vector<cli::File> files(std::vector<Row> const& rows, Request const& request) const override {
    if (!table_) return {};
    Json table = Json::object();
    table["measured"] = {{"bench", "movement"}, {"machine", cli::machine_facts(request.device)}};
    table["rows"] = movement_table(rows);
    return {{*table_, table.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"}};
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
    Work work{request.device, flow, bytes, threads, plant_ ? Plant::alter : Plant::none};
    if (flow == Flow::gpu_to_gpu) work.to_device = other_devices(request.device).front();
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
    if (flow == Flow::gpu_to_gpu) {
      row["to"] = name_of(request.device, work.to_device);
    } else {
      row["cpu_threads"] = threads;
    }
    return measure(std::move(row), "items/s", Better::more, "direct", variants, request);
  }

  [[nodiscard]] Row both(std::size_t bytes, Request const& request) const {
    unsigned const threads = threads_ != 0 ? threads_ : 1;
    Work const work{request.device, Flow::both, bytes, threads, plant_ ? Plant::alter : Plant::none};
    std::uint64_t const items = items_ != 0 ? items_ : request.small ? bytes > 1024 ? 200 : 500 : 0;
    std::vector<Variant> variants;
    for (BothWays const& ways : both_ways) {
      Traffic const traffic{.movement = ways.there, .movement_back = ways.back};
      auto timed = std::make_shared<TimedMover>(make_traffic(work, traffic), work, items, request.small);
      variants.push_back({ways.variant, [timed] { return timed->turn(); }, [timed] { return timed->facts(); }});
    }
    Json row = what("throughput", Flow::both, bytes);
    row["cpu_threads"] = threads;
    return measure(std::move(row), "items/s", Better::more, "direct", variants, request);
  }

  [[nodiscard]] Row latency(Flow flow, std::size_t bytes, Request const& request) const {
    unsigned const trips = trips_ != 0 ? trips_ : request.small ? 10 : 2000;
    std::vector<Variant> variants;
    for (auto const& [movement, name] : {std::pair{Movement::direct, "direct"}, std::pair{Movement::dma, "dma"}}) {
      EchoSetup setup{request.device, bytes, 1, 32, Movement::direct, Movement::direct};
      if (flow != Flow::gpu_to_cpu) setup.there = movement;
      if (flow != Flow::cpu_to_gpu) setup.back = movement;
      if (flow == Flow::gpu_to_gpu) setup.to_device = other_devices(request.device).front();
      std::shared_ptr<Echo> const echo = make_echo(setup);
      auto turn = [echo, trips, plant = plant_]() -> Turn {
        RoundTrips const made = echo->run(trips, plant);
        return {made.at(0.5), made.wrong.empty(), made.wrong};
      };
      variants.push_back({name, std::move(turn)});
    }
    return measure(what(flow == Flow::gpu_to_gpu ? "round trip, both ways alike" : "round trip, the other way direct",
                        flow, bytes),
                   "us", Better::less, "direct", variants, request);
  }

  std::uint64_t items_ = 0;
  unsigned trips_ = 0;
  std::size_t item_bytes_ = 0;
  unsigned threads_ = 0;
  std::optional<std::string> table_;
  bool plant_ = false;
};

}  // namespace

std::unique_ptr<Bench> make_movement() { return std::make_unique<MovementBench>(); }

}  // namespace bench
