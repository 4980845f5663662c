// bench batch: what a batch stage costs. Items to a stage whose kernel copies them, and back, beside large copies; one
// item there and back beside copies and a launch by hand; small kernels as a graph beside launches; a stage that has
// nothing to do.
#include <ctime>
#include <hiway/pipeline.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/device_numbers.hpp"
#include "bench/echo.hpp"
#include "bench/mover.hpp"
#include "bench/quantiles.hpp"
#include "bench/raw_cuda.hpp"
#include "bench/small_kernels.hpp"
#include "bench/timed_mover.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Per cent of one CPU that the process takes while `pause` passes.
double cpu_share(std::chrono::milliseconds pause) {
  auto const begin = Clock::now();
  std::clock_t const before = std::clock();
  std::this_thread::sleep_for(pause);
  double const used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  return 100 * used / std::chrono::duration<double>(Clock::now() - begin).count();
}

class BatchBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "batch"; }
  [[nodiscard]] std::string summary() const override {
    return "batch stages: items a second beside large copies, a round trip beside a launch by hand, and one at rest";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--batch-items", batch_items_, "of a batch at most; 0: an eighth of the tunnel").type_name("N");
    command.add_option("--trips", trips_, "of a turn; 0: 10000").type_name("N");
    command.add_option("--plant", plant_, "an error that must be found: lose, duplicate, alter").type_name("ERROR");
  }
  void check_options() const override {
    if (trips_ > 10'000'000) throw cli::BadInput{"--trips: at most 10000000"};
    (void)named_plant(plant_);
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    return {copies(request), trips(request), chains(request), at_rest(request)};
  }

 private:
  [[nodiscard]] Row copies(Request const& request) const {
    unsigned const threads = request.small ? 2 : 8;
    Work const work{request.device, Flow::both, 16, threads, named_plant(plant_)};
    Json what = Json::object();
    what["batches"] = "copied by a kernel, CPU to GPU to CPU";
    what["item_bytes"] = work.item_bytes;
    what["cpu_threads"] = threads;
    std::vector<Variant> variants;
    auto const add = [&](std::string name, std::unique_ptr<Mover> mover) {
      auto const timed = std::make_shared<TimedMover>(std::move(mover), work, request.small ? 1000 : 0, request.small);
      variants.push_back({std::move(name), [timed] { return timed->turn(); }, [timed] { return timed->facts(); }});
    };
    Traffic const traffic{.batch_items = batch_items_, .by_batches = true};
    add("batch stage", make_traffic(work, traffic));
    std::string beside;
    if (RawCuda const* const raw = raw_cuda(request.device); raw != nullptr) {
      beside = name_of(ByHand::large_copy);
      add(beside, raw->make(ByHand::large_copy, work, std::size_t{4} << 20));
    }
    return measure(std::move(what), "items/s", Better::more, beside, variants, request);
  }

  [[nodiscard]] Row trips(Request const& request) const {
    unsigned const trips = trips_ != 0 ? trips_ : request.small ? 20 : 10'000;
    Json what = Json::object();
    what["batches"] = "of one item, there and back";
    what["item_bytes"] = 8;
    EchoSetup const setup{.device = request.device, .by_batches = true};
    std::vector<Variant> variants{
        round_trips("batch stage", make_echo(setup), trips, named_plant(plant_) != Plant::none, request.small)};
    std::string beside;
    if (RawCuda const* const raw = raw_cuda(request.device); raw != nullptr) {
      beside = "copy, launch, copy, sync";
      variants.push_back(launches_by_hand(beside, raw->copy_launch_and_sync, request.device, trips));
      variants.push_back(launches_by_hand("empty launch + sync", raw->launch_and_sync, request.device, trips));
    }
    return measure(std::move(what), "us", Better::less, beside, variants, request);
  }

  [[nodiscard]] static Row chains(Request const& request) {
    unsigned const batches = request.small ? 10 : 20'000;
    Json what = Json::object();
    what["batches"] = "of a chain of small kernels";
    what["kernels"] = chain_kernels;
    what["items"] = chain_items;
    auto const turn = [=, device = request.device](bool capture) {
      return [=] { return small_kernels(device, batches, capture); };
    };
    return measure(std::move(what), "batches/s", Better::more, "launches",
                   {{"captured as a graph", turn(true)}, {"launches", turn(false)}}, request);
  }

  /// A pipeline whose batch stage has had one item, and waits.
  [[nodiscard]] static Row at_rest(Request const& request) {
    std::chrono::milliseconds const pause(request.small ? 20 : 500);
    Json what = Json::object();
    what["batches"] = "none: a stage at rest";
    auto const resting = [=](bool by_batches) -> Turn {
      hiway::Pipeline pipe({.device = request.device, .deadline = std::chrono::seconds(60)});
      auto& there =
          pipe.create_tunnel<int>("there", by_batches ? hiway::Direction::cpu_to_gpu : hiway::Direction::cpu_to_cpu);
      std::size_t seen = 0;
      if (by_batches) {
        pipe.add_batch_stage("rest", [&](hiway::Batch<int const> batch, hiway::Stream) { seen += batch.size(); },
                             hiway::from(there), {.device = number_of(request.device)});
      } else {
        pipe.add_cpu_stage(
            "rest", [&](int const&) { ++seen; }, hiway::from(there));
      }
      hiway::Inlet<int> in = there.open_inlet();
      pipe.start();
      in.put_h(1);
      std::this_thread::sleep_for(pause / 4);
      double const share = cpu_share(pause);
      in.close_h();
      (void)pipe.wait();
      return {share, seen == 1, "the item did not come"};
    };
    std::string const beside = "CPU stage";
    return measure(std::move(what), "% of a CPU", Better::less, beside,
                   {{"batch stage", [=] { return resting(true); }},
                    {beside, [=] { return resting(false); }},
                    {"no pipeline",
                     [=]() -> Turn {
                       return {cpu_share(pause), true};
                     }}},
                   request);
  }

  std::size_t batch_items_ = 0;
  unsigned trips_ = 0;
  std::string plant_;
};

}  // namespace

std::unique_ptr<Bench> make_batch() { return std::make_unique<BatchBench>(); }

}  // namespace bench
