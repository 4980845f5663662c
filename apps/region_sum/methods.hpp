// The methods of region sums: the same sums, made in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "cli/segment.hpp"
#include "region_sum/problem.hpp"
#include "region_sum/summary.hpp"

namespace region_sum {

using cli::Feed;
using cli::Job;

/// One run. seconds: from ints and offsets in the device's memory to the sums, there; by tunnels from the ints to the sums, both
/// in the host's memory; the reference's: to the sums.
/// Allocation and kernel loading excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;  ///< ints
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
  std::optional<cli::SegmentNumbers> segment{};
};

/// Of method hiway.
struct SegmentOptions {
  cli::Replica replica = cli::Replica::warp;
  hiway::segment::Context context = hiway::segment::Context::automatic;
  Feed feed = Feed::buffer;  ///< of the ints, and of the sums
  bool counters = false;
};

/// `sums`: the last run's, there before job.ran() is called.
///
/// hiway: a segment of two nodes: one opens regions, the other closes them.
std::vector<Measurement> run_hiway(Problem const& problem, SegmentOptions const& options, Job const& job, Sums& sums);
/// With `options.feed` tunnel: ints come in pieces, sums leave, while the segment runs.
std::vector<Measurement> run_by_tunnels(Problem const& problem, SegmentOptions const& options, Job const& job,
                                        Sums& sums);
std::string hiway_graph(Problem const& problem, std::string const& device);
/// baseline: one ordinary kernel.
std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Sums& sums);
/// reference: region by region, int by int; each of all CPU threads has a stretch of the regions.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job, Sums& sums);

Sums reference_sums(Problem const& problem, unsigned threads);

}  // namespace region_sum
