// The methods of the spectrum: the same hits, found in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "spectrum/problem.hpp"

namespace spectrum {

using cli::Job;

/// One run. seconds: from the first voltage to the last hit. Allocation, plans and kernel loading excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;  ///< packets
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// The threads that make packets.
[[nodiscard]] unsigned makers(Problem const& problem);

/// hiway: threads that make packets, cuFFT in a batch stage, a kernel that looks for hits, a thread that takes them.
std::vector<Measurement> run_hiway(Problem const& problem, Job const& job);
std::string hiway_graph(Problem const& problem, std::string const& device);

/// reference: one CPU thread.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job);

}  // namespace spectrum
