// Job: how often a method runs, and where.
#pragma once
#include <chrono>
#include <functional>
#include <hiway/cluster.hpp>
#include <hiway/config.hpp>
#include <hiway/report.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cli {

/// The library's own switches, for comparison: what an application's pipeline leaves open is as they say.
struct Scheme {
  hiway::EndDetection end_detection = hiway::EndDetection::tracked;
  std::chrono::microseconds end_time_out{1000};
  hiway::Grouping grouping = hiway::Grouping::automatic;
  hiway::Movement movement = hiway::Movement::automatic;

  [[nodiscard]] hiway::TunnelConfig tunnel(hiway::TunnelConfig config = {}) const {
    if (config.grouping == hiway::Grouping::automatic) config.grouping = grouping;
    if (config.movement == hiway::Movement::automatic) config.movement = movement;
    return config;
  }
};

struct Job {
  std::string device;  ///< a name of hiway::devices(); a reference does not use it
  unsigned repeat = 1;
  std::function<void()> ran = [] {};  ///< called after each run
  Scheme scheme{};
  bool pinned = false;  ///< methods that copy large data do so from and to pinned memory
  unsigned gpus =
      1;  ///< that method hiway shares its work out to, where the application can: the device, and those behind it
  hiway::Cluster* cluster = nullptr;  ///< likewise, its nodes, each of which has so many GPUs; null: this process alone

  [[nodiscard]] hiway::PipelineConfig pipeline() const {
    return {.device = device,
            .end_detection = scheme.end_detection,
            .end_time_out = scheme.end_time_out,
            .warn_of_cycles = false,
            .cluster = cluster};
  }
  [[nodiscard]] unsigned node() const { return cluster == nullptr ? 0 : static_cast<unsigned>(cluster->node()); }
  [[nodiscard]] unsigned nodes() const { return cluster == nullptr ? 1 : static_cast<unsigned>(cluster->size()); }
  /// The GPUs of all nodes, and the number that one of this node has among them.
  [[nodiscard]] unsigned all_gpus() const { return nodes() * gpus; }
  [[nodiscard]] unsigned among_all(unsigned gpu) const { return node() * gpus + gpu; }
  /// The name of what each GPU has, with its number where there are several; and the number as the library takes it.
  [[nodiscard]] std::string name_on(unsigned gpu, std::string name) const {
    return gpus == 1 ? name : name.append(" ").append(std::to_string(gpu));
  }
  [[nodiscard]] int device_of(unsigned gpu) const { return gpus == 1 ? -1 : static_cast<int>(gpu); }
};

/// What `run()` measures, as often as the job says.
template <class Run>
auto repeated(Job const& job, Run&& run) {
  std::vector<decltype(run())> runs;
  for (unsigned i = 0; i < job.repeat; ++i) {
    runs.push_back(run());
    job.ran();
  }
  return runs;
}

/// What a run of a pipeline says of itself: seconds, items, end_detection_us where the library found the end, and
/// tunnels.
template <class Measurement>
void take_report(Measurement& measured, hiway::RunReport&& report) {
  measured.seconds = report.seconds;
  measured.items = report.items;
  if (report.end_detection_us >= 0) measured.end_detection_us = report.end_detection_us;
  measured.tunnels = std::move(report.tunnels);
}

}  // namespace cli
