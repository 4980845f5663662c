// The methods of BLAST: the same hits, found in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "blast/input.hpp"
#include "blast/problem.hpp"
#include "blast/summary.hpp"
#include "cli/job.hpp"
#include "cli/segment.hpp"

namespace blast {

using cli::Feed;
using cli::Job;
using cli::Replica;

/// One run. seconds: of the search alone; database, query and table lie on the device before, and hits stay there.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;                   ///< carried through tunnels, or the hits where there are none
  std::optional<double> end_detection_us{};  ///< where the library found the end
  std::vector<hiway::TunnelReport> tunnels{};
  std::optional<cli::SegmentNumbers> segment{};
};

/// Of method hiway.
struct SegmentOptions {
  Feed feed = Feed::buffer;  ///< of places, and of hits
  Replica replica = Replica::warp;
  bool merged = false;     ///< one node instead of four
  bool ensembles = false;  ///< lanes take items together; of a warp, not counted
  bool counters = false;   ///< what each node did
};

/// hiway: a segment. Its places are a range; or a CPU stage sends stretches of the database by a tunnel, and another gets the hits.
std::vector<Measurement> run_hiway(Problem const& problem, SegmentOptions const& options, Job const& job, Hits& hits);
std::string hiway_graph(Problem const& problem, std::string const& device);

/// baseline: one ordinary kernel. `hits`: the last run's, in order, there before job.ran() is called.
std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Hits& hits);
/// reference: one thread, the rules in their plainest form, from bases of a byte; shares no code with the others but the
/// summary.
std::vector<Measurement> run_reference(Input const& input, Job const& job, Hits& hits);

struct Found {
  Hits hits;  ///< in order
  Counts counts;
};
/// What reference finds, by several threads, each with its range of the database.
Found reference_hits(Input const& input, unsigned threads);

}  // namespace blast
