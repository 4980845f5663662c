// The methods of the Black-Scholes pipelines: the same options pass, priced in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "black_scholes/problem.hpp"
#include "black_scholes/summary.hpp"
#include "cli/job.hpp"
#include "cli/segment.hpp"

namespace black_scholes {

using cli::Feed;
using cli::Job;
using cli::Replica;

/// One run. seconds: from the options in the device's memory to those that pass, there; the reference's: to those that pass.
/// Allocation and kernel loading excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;  ///< options that go in
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
  std::optional<cli::SegmentNumbers> segment{};
};

/// Of method hiway.
struct SegmentOptions {
  Replica replica = Replica::warp;
  bool counters = false;
  Feed feed = Feed::buffer;
};

/// `outputs`: the options that pass, of the last run, in any order.
///
/// hiway: one segment.
std::vector<Measurement> run_hiway(Problem const& problem, SegmentOptions const& options, Job const& job,
                                   Options& outputs);
std::string hiway_graph(Problem const& problem, std::string const& device);

/// baseline: ordinary kernels with lists between them; one for each stage of a pipeline, one for merged stages, and one for
/// all ways of a 4-way topology.
std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Options& outputs);

/// reference: the closed form in doubles, on all CPU threads; sorted by number.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job, Options& outputs);

}  // namespace black_scholes
