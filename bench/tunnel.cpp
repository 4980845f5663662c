// bench tunnel: how many items a second go through a tunnel, beside what can be written by hand.
//
// Time is the steady clock's from run() to its return, starts and the end's detection included, with so many items that
// they are a small part of it: the first, uncounted turn of a variant looks for a count that takes 100 ms. facts say what
// a run without items takes.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

#include "bench/benches.hpp"
#include "bench/mover.hpp"
#include "bench/raw_cuda.hpp"
#include "bench/timed_mover.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

constexpr std::pair<hiway::Movement, char const*> movements[] = {
    {hiway::Movement::direct, "direct"}, {hiway::Movement::dma, "dma"}, {hiway::Movement::managed, "managed"}};
constexpr std::pair<Flow, char const*> flows[] = {{Flow::cpu_to_gpu, "cpu_to_gpu"},
                                                  {Flow::gpu_to_cpu, "gpu_to_cpu"},
                                                  {Flow::both, "both"},
                                                  {Flow::gpu_to_gpu, "gpu_to_gpu"}};

class TunnelBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "tunnel"; }
  [[nodiscard]] std::string summary() const override {
    return "items a second through a tunnel: direct, dma and managed beside large copies, launches and a managed ring";
  }

  void add_options(cli::Options& command) override {
    command.add_option("--items", items_, "of a turn, each way; 0: as many as take 100 ms").type_name("N");
    command.add_option("--flow", flow_, "only this: cpu_to_gpu, gpu_to_cpu, both, gpu_to_gpu").type_name("FLOW");
    command.add_option("--item-bytes", item_bytes_, "only this: 4, 12, 16, 64, 4096").type_name("BYTES");
    command.add_option("--threads", threads_, "CPU threads each way; 0: 1 and 8").type_name("N");
    command.add_option("--movement", movement_, "only this: direct, dma, managed; none: what is beside them alone")
        .type_name("MOVEMENT");
    command.add_option("--capacity-items", traffic_.capacity_items, "0: 8 MiB of items").type_name("N");
    command.add_option("--batch-items", traffic_.batch_items, "dma: items that start a copy; 0: the library chooses")
        .type_name("N");
    command.add_option("--blocks", traffic_.blocks, "of each GPU stage; 0: 128").type_name("N");
    command.add_option("--threads-per-block", traffic_.threads_per_block, "0: 256; whole warps").type_name("N");
    command.add_option("--to-device", to_device_, "of --flow gpu_to_gpu: the device that gets").type_name("N");
    command.add_option("--batch-bytes", batch_bytes_, "of the baselines' batches").type_name("BYTES");
    command.add_option("--plant", plant_, "an error that must be found: lose, duplicate, alter").type_name("ERROR");
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    check_options();
    if (movement_ == "none" && raw_cuda(request.device) == nullptr)
      throw cli::BadInput{"--movement none: what is written by hand needs a GPU"};
    std::vector<Row> rows;
    for (auto const& [flow, flow_name] : flows) {
      if (!flow_.empty() && flow_ != flow_name) continue;
      for (std::size_t const bytes : item_sizes) {
        if (item_bytes_ != 0 && item_bytes_ != bytes) continue;
        for (unsigned const threads : thread_counts(flow, request))
          rows.push_back(row({request.device, flow, bytes, threads, named_plant(plant_), to_device_}, request));
      }
    }
    return rows;
  }

 private:
  void check_options() const override {
    auto const known = [](auto const& all, auto const& value) { return std::ranges::find(all, value) != all.end(); };
    if (!flow_.empty() && !known(std::views::values(flows), flow_)) throw cli::BadInput{"--flow: no flow " + flow_};
    if (item_bytes_ != 0 && std::ranges::find(item_sizes, item_bytes_) == std::end(item_sizes))
      throw cli::BadInput{"--item-bytes: 4, 12, 16, 64 or 4096, not " + std::to_string(item_bytes_)};
    if (!movement_.empty() && movement_ != "none" && !known(std::views::values(movements), movement_))
      throw cli::BadInput{"--movement: no movement " + movement_};
    if (items_ > most_items) throw cli::BadInput{"--items: at most " + std::to_string(most_items)};
    if (to_device_ >= 0 && flow_ != "gpu_to_gpu") throw cli::BadInput{"--to-device goes with --flow gpu_to_gpu"};
    if (threads_ > 256) throw cli::BadInput{"--threads: at most 256"};
    if (traffic_.threads_per_block % 32 != 0) throw cli::BadInput{"--threads-per-block: whole warps of 32"};
    if (batch_bytes_ < 64 * 1024 || batch_bytes_ > (std::size_t{64} << 20))
      throw cli::BadInput{"--batch-bytes: 65536 to 67108864"};
    (void)named_plant(plant_);
  }

  [[nodiscard]] std::vector<unsigned> thread_counts(Flow flow, Request const& request) const {
    if (flow == Flow::gpu_to_gpu) return {1};
    if (threads_ != 0) return {threads_};
    return request.small ? std::vector<unsigned>{1, 2} : std::vector<unsigned>{1, 8};
  }

  /// The calls on the CPU that a flow has to compare, with their names.
  static std::vector<std::pair<Calls, std::string>> calls_of(Flow flow) {
    switch (flow) {
      case Flow::cpu_to_gpu: return {{Calls::item, "put_h(item)"}, {Calls::span, "put_h(span)"}};
      case Flow::gpu_to_cpu: return {{Calls::item, "get_h(item)"}, {Calls::span, "next_h(span)"}};
      case Flow::both: return {{Calls::item, "items"}, {Calls::span, "spans"}};
      case Flow::gpu_to_gpu: return {{Calls::span, "put_d"}};
    }
    return {};
  }

  [[nodiscard]] Row row(Work const& work, Request const& request) const {
    Json what = Json::object();
    what["flow"] = name_of(work.flow);
    what["item_bytes"] = work.item_bytes;
    if (work.flow != Flow::gpu_to_gpu) what["cpu_threads"] = work.cpu_threads;
    if (work.to_device >= 0) what["to_device"] = work.to_device;
    what["time"] = "run() to return";
    std::vector<std::shared_ptr<TimedMover>> movers;
    std::vector<Variant> variants;
    std::uint64_t const items = items_ != 0 ? items_ : request.small ? small_items(work) : 0;
    auto const add = [&](std::string name, std::unique_ptr<Mover> mover) {
      auto timed = std::make_shared<TimedMover>(std::move(mover), work, items, request.small);
      variants.push_back({std::move(name), [timed] { return timed->turn(); }, [timed] { return timed->facts(); }});
    };
    for (auto const& [movement, movement_name] : movements) {
      if (!movement_.empty() && movement_ != movement_name) continue;
      bool const between = work.to_device >= 0;
      if (work.flow == Flow::gpu_to_gpu && movement == hiway::Movement::managed) continue;
      if (work.flow == Flow::gpu_to_gpu && movement == hiway::Movement::dma && !between) continue;
      for (auto const& [calls, calls_name] : calls_of(work.flow)) {
        Traffic traffic = traffic_;
        traffic.movement = movement;
        traffic.calls = calls;
        std::string const how = work.flow == Flow::gpu_to_gpu && !between ? "memory" : movement_name;
        add(how + " " + calls_name, make_traffic(work, traffic));
      }
    }
    std::string beside;
    RawCuda const* const raw = raw_cuda(work.device);
    if (raw == nullptr) what["beside"] = "none: what is written by hand needs a GPU";
    for (ByHand const way : {ByHand::large_copy, ByHand::launch_per_batch, ByHand::managed_ring}) {
      if (raw == nullptr) break;
      auto mover = raw->make(way, work, batch_bytes_);
      if (mover == nullptr) continue;
      if (way == ByHand::large_copy) beside = name_of(way);
      add(name_of(way), std::move(mover));
    }
    return measure(std::move(what), "items/s", Better::more, beside, variants, request);
  }

  /// Enough that rings run full and over.
  static std::uint64_t small_items(Work const& work) { return work.item_bytes > 1024 ? 300 : 1000; }

  std::uint64_t items_ = 0;
  std::string flow_;
  std::size_t item_bytes_ = 0;
  unsigned threads_ = 0;
  std::string movement_;
  std::string plant_;
  std::size_t batch_bytes_ = 1 << 20;
  int to_device_ = -1;
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<Bench> make_tunnel() { return std::make_unique<TunnelBench>(); }

}  // namespace bench
