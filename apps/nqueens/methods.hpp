// The methods of the n queens: the same boards, counted in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "cli/segment.hpp"
#include "nqueens/summary.hpp"

namespace nqueens {

using cli::Feed;
using cli::Job;
using cli::Replica;

/// How a node's lanes go on: each takes a board when it has none, or all take boards together; and then who saves what
/// is under way, the library or the node itself.
enum class Nodes : std::uint8_t { lanes, ensembles, by_hand };

/// Of method hiway. 0: the library chooses.
struct Options {
  std::uint32_t interruptible = most_queens;  ///< the first so many nodes suspend when their output is full
  std::uint64_t queue_bytes = 0;              ///< of all queues, a target
  std::uint64_t most_bytes = 0;               ///< of all queues; a run that needs more is refused
  Replica replica = Replica::warp;
  Nodes nodes = Nodes::lanes;
  std::uint32_t replicas = 0;
  bool counts = false;       ///< what each node did
  Feed feed = Feed::buffer;  ///< of the CPU's boards
};

/// One run. seconds: from the empty board to the number of solutions in CPU memory; allocation and kernel loading
/// excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;  ///< boards that begin on the device; of the reference all boards
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
  std::optional<cli::SegmentNumbers> segment{};
  std::vector<std::uint64_t> of_nodes{};  ///< solutions that each node has found; empty without a cluster
};

/// hiway: the first rows on the CPU, the others in a segment, a node each.
std::vector<Measurement> run_hiway(Problem const& problem, Options const& options, Job const& job);
std::string hiway_graph(Problem const& problem, Options const& options, std::string const& device);

/// baseline: a GPU thread takes one of the CPU's boards at a time, and searches all below it, depth first.
std::vector<Measurement> run_baseline(Problem const& problem, Job const& job);

/// reference: masks and recursion; one thread, from 12 queens on as many as the CPU has.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job);

}  // namespace nqueens
