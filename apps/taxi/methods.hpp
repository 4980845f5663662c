// The methods of taxi: the same conversion, made in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "cli/segment.hpp"
#include "taxi/input.hpp"
#include "taxi/summary.hpp"

namespace taxi {

using cli::Feed;
using cli::Job;

/// One run. seconds: from text and lines in the device's memory to the pairs, there, in any order; by tunnels from the text to
/// the pairs, both in the host's memory; the reference's: to the conversion. Allocation and kernel loading excluded.
struct Measurement {
  double seconds = 0;
  std::uint64_t items = 0;  ///< pairs
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
  std::optional<cli::SegmentNumbers> segment{};
};

/// Of method hiway.
struct SegmentOptions {
  cli::Replica replica = cli::Replica::warp;
  hiway::segment::Context context = hiway::segment::Context::automatic;
  Feed feed = Feed::buffer;  ///< of the text, and of the pairs
  bool counters = false;
};

/// `conversion`: the last run's, there before job.ran() is called.
///
/// hiway: a segment in which a line is a region of characters.
std::vector<Measurement> run_hiway(Input const& input, SegmentOptions const& options, Job const& job,
                                   Conversion& conversion);
/// With `options.feed` tunnel: lines come in pieces, pairs leave, while the segment runs.
std::vector<Measurement> run_by_tunnels(Input const& input, SegmentOptions const& options, Job const& job,
                                        Conversion& conversion);
std::string hiway_graph(Input const& input, std::string const& device);
/// baseline: one ordinary kernel.
std::vector<Measurement> run_baseline(Input const& input, Job const& job, Conversion& conversion);
/// reference: one thread, the rules in their plainest form.
std::vector<Measurement> run_reference(Input const& input, Job const& job, Conversion& conversion);

/// What reference makes, by several threads, each with its stretch of the lines.
Conversion reference_conversion(Input const& input, unsigned threads);

}  // namespace taxi
