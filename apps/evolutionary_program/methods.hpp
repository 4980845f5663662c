// The methods of the evolutionary program: the same creatures, made in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "evolutionary_program/stages.hpp"
#include "evolutionary_program/summary.hpp"

namespace evolutionary_program {

using cli::Job;

/// One run. seconds: from no creatures to those behind the last generation, in CPU memory; allocation and kernel loading
/// excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;  ///< carried through tunnels, or creatures worked on where there are none
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// hiway: five stages in a loop, all at the same time; what moves on is a creature, but for selecting, which needs an island.
std::vector<Measurement> run_hiway(Problem const& problem, Job const& job);
/// The pipeline of hiway in dot.
std::string hiway_graph(std::string const& device);

/// baseline: Hetero-Mark's collaborative scheme, whole islands from stage to stage.
std::vector<Measurement> run_baseline(Problem const& problem, Job const& job);

/// reference: one thread, generation by generation, island by island.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job);

}  // namespace evolutionary_program
