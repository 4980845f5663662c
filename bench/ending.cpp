#include "bench/ending.hpp"

#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>

#include "cli/app.hpp"

namespace bench {

/// A task and the rounds that it still has to make.
struct Lap {
  std::uint32_t number;
  std::uint32_t left;
};

/// As it is: on all devices but the last.
struct Keep {
  HIWAY_DEVICE Lap operator()(Lap const& lap) const { return lap; }
};

struct PassOn {
  HIWAY_DEVICE Lap operator()(Lap const& lap) const { return {lap.number, lap.left - 1}; }
};

namespace {

class PipelineEnding final : public Ending {
 public:
  explicit PipelineEnding(EndingSetup const& setup)
      : items_(setup.items),
        rounds_(setup.cycle ? 3 : 1),
        plant_(setup.plant),
        pipe_(hiway::PipelineConfig{.device = setup.device, .deadline = std::chrono::seconds(60)}) {
    using hiway::Direction;
    auto& there = pipe_.create_tunnel<Lap>("there", Direction::cpu_to_gpu);
    auto& back = pipe_.create_tunnel<Lap>("back", Direction::gpu_to_cpu);
    auto feed = [this](hiway::Inlet<Lap> out) {
      for (std::uint32_t i = 0; i != items_; ++i) out.put_h({i, rounds_});
    };
    pipe_.add_cpu_stage("feed", feed, hiway::into(there));
    auto* along = &there;
    hiway::GpuStageOptions options;
    for (std::size_t i = 0; i != setup.through.size(); ++i) {
      std::string const number = std::to_string(i + 1);
      auto& next = pipe_.create_tunnel<Lap>(std::string("along ").append(number), Direction::gpu_to_gpu);
      pipe_.add_gpu_stage(std::string("keep ").append(number), Keep{}, hiway::from(*along), hiway::into(next), options);
      options.device = setup.through[i];
      along = &next;
    }
    pipe_.add_gpu_stage("pass on", PassOn{}, hiway::from(*along), hiway::into(back), options);
    if (setup.cycle) {
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

  double run(std::string& wrong) override {
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

}  // namespace

double Ending::median_of(unsigned runs, std::string& wrong) {
  std::vector<double> us;
  for (unsigned i = 0; i != runs && wrong.empty(); ++i) us.push_back(run(wrong));
  return cli::median(us);
}

std::unique_ptr<Ending> make_ending(EndingSetup const& setup) { return std::make_unique<PipelineEnding>(setup); }

}  // namespace bench
