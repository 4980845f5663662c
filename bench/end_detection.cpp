// bench end-detection: how long after its last task a run knows that it has ended, as RunReport::end_detection_us says:
// from the last task of the last CPU stage to the end of that stage's last thread. Value: p50 of a turn's runs; beside,
// an empty launch with its synchronization: what learning of an ordinary kernel's end costs.
#include <hiway/hiway.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/raw_cuda.hpp"
#include "cli/app.hpp"
#include "cli/bad_input.hpp"

namespace bench {

/// A task and the rounds that it still has to make.
struct Lap {
  std::uint32_t number;
  std::uint32_t left;
};

struct PassOn {
  HIWAY_DEVICE Lap operator()(Lap const& lap) const { return {lap.number, lap.left - 1}; }
};

namespace {

/// A pipeline that moves few items, so that its end is what there is to see.
class Ending {
 public:
  Ending(std::string const& device, bool cycle, unsigned items, bool plant)
      : items_(items),
        rounds_(cycle ? 3 : 1),
        plant_(plant),
        pipe_(hiway::PipelineConfig{.device = device, .deadline = std::chrono::seconds(60)}) {
    using hiway::Direction;
    auto& there = pipe_.create_tunnel<Lap>("there", Direction::cpu_to_gpu);
    auto& back = pipe_.create_tunnel<Lap>("back", Direction::gpu_to_cpu);
    auto feed = [this](hiway::Inlet<Lap> out) {
      for (std::uint32_t i = 0; i != items_; ++i) out.put_h({i, rounds_});
    };
    pipe_.add_cpu_stage("feed", feed, hiway::into(there));
    pipe_.add_gpu_stage("pass on", PassOn{}, hiway::from(there), hiway::into(back));
    if (cycle) {
      auto again = [this](hiway::Outlet<Lap> in, hiway::Inlet<Lap> out) {
        in.for_each_h([&](Lap const& lap) {
          if (lap.left != 0) out.put_h(lap);
          take(lap);
        });
      };
      pipe_.add_cpu_stage("again", again, hiway::from(back), hiway::into(there));
    } else {
      auto end = [this](hiway::Outlet<Lap> in) { in.for_each_h([&](Lap const& lap) { take(lap); }); };
      pipe_.add_cpu_stage("end", end, hiway::from(back));
    }
    pipe_.prepare();
  }

  /// One run's end_detection_us. `wrong` is set when an item is missing or came too often.
  double run(std::string& wrong) {
    laps_ = 0;
    numbers_ = 0;
    hiway::RunReport const report = pipe_.run();
    std::uint64_t const n = items_ + (plant_ ? 1U : 0U);  // planted: one more is expected than is there
    if (laps_ != n * rounds_ || numbers_ != rounds_ * (n * (n - 1) / 2))
      wrong = "the run ended with " + std::to_string(laps_) + " of " + std::to_string(n * rounds_) + " rounds made";
    for (hiway::TunnelReport const& tunnel : report.tunnels) {
      if (tunnel.items != tunnel.finished) wrong = "tunnel '" + tunnel.name + "' has ended with items left";
    }
    if (report.end_detection_us < 0) wrong = "the run does not say how long its end took";
    return report.end_detection_us;
  }

 private:
  void take(Lap const& lap) {
    ++laps_;
    numbers_ += lap.number;
  }

  std::uint32_t items_;
  std::uint32_t rounds_;
  bool plant_;
  std::uint64_t laps_ = 0;
  std::uint64_t numbers_ = 0;
  hiway::Pipeline pipe_;
};

class EndDetectionBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "end-detection"; }
  [[nodiscard]] std::string summary() const override {
    return "from the last end_task to run() noticing, of a linear pipeline and of a cycle";
  }
  void add_options(CLI::App& command) override {
    command.add_option("--runs", runs_, "of a turn; 0: 50")->type_name("N");
    command.add_option("--items", items_, "of a run; 0: 1000")->type_name("N");
    command.add_flag("--plant", plant_, "expects an item that is not there, which must be found");
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    if (runs_ > 100'000) throw cli::BadInput{"--runs: at most 100000"};
    if (items_ > 100'000'000) throw cli::BadInput{"--items: at most 100000000"};
    return {row(false, request), row(true, request)};
  }

 private:
  [[nodiscard]] Row row(bool cycle, Request const& request) const {
    unsigned const runs = runs_ != 0 ? runs_ : request.small ? 3 : 50;
    unsigned const items = items_ != 0 ? items_ : request.small ? 100 : 1000;
    Json what = Json::object();
    what["pipeline"] = cycle ? "cpu -> (gpu -> cpu -> gpu ...) a cycle across the bus" : "cpu -> gpu -> cpu";
    what["items"] = items;
    what["runs"] = runs;
    auto const ending = std::make_shared<Ending>(request.device, cycle, items, plant_);
    auto turn = [ending, runs]() -> Turn {
      std::vector<double> us;
      std::string wrong;
      for (unsigned i = 0; i != runs && wrong.empty(); ++i) us.push_back(ending->run(wrong));
      return {cli::median(us), wrong.empty(), wrong};
    };
    std::vector<Variant> variants{{"hiway", std::move(turn)}};
    std::string beside;
    if (RawCuda const* const raw = raw_cuda(request.device); raw != nullptr) {
      beside = "empty launch + sync";
      auto floor = [raw, device = request.device]() -> Turn {
        std::vector<double> const us = raw->launch_and_sync(device, 1000);
        return {cli::median(us), us.size() == 1000, "a launch is missing"};
      };
      variants.push_back({beside, std::move(floor)});
    } else {
      what["beside"] = "none: an empty launch needs a GPU";
    }
    return measure(std::move(what), "us", Better::less, beside, variants, request);
  }

  unsigned runs_ = 0;
  unsigned items_ = 0;
  bool plant_ = false;
};

}  // namespace

std::unique_ptr<Bench> make_end_detection() { return std::make_unique<EndDetectionBench>(); }

}  // namespace bench
