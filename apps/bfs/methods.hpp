// The methods of the breadth-first search: the same levels, found in different ways.
#pragma once
#include <cstdint>
#include <hiway/config.hpp>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bfs/graph.hpp"
#include "bfs/summary.hpp"
#include "cli/job.hpp"

namespace bfs {

using cli::Job;

struct Problem {
  Graph graph;
  std::uint32_t source = 0;
};

/// Of methods hiway and baseline. 0: the method chooses.
struct Options {
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;   ///< of a block
  std::uint32_t piece = 64;    ///< edges that a visit follows at most; of more edges, there are several visits
  std::uint32_t capacity = 0;  ///< of method hiway's tunnel, in visits
  hiway::Grouping grouping = hiway::Grouping::automatic;
};

/// What of it a search has done, beside what it had to.
struct Work {
  std::uint64_t edges = 0;  ///< that were followed
  std::uint64_t puts = 0;   ///< visits that were put, the first one too
};

/// One run. seconds: from the source to all levels in the device's memory, clearing them included; allocation, kernel
/// loading, and copying the graph in and the levels out excluded. Of the reference in CPU memory.
struct Measurement {
  Summary summary{};
  double seconds = 0;
  std::uint64_t items = 0;  ///< vertices that were reached
  Work work{};
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// hiway: a kernel that stays, with a tunnel that feeds itself.
std::vector<Measurement> run_hiway(Problem const& problem, Options const& options, Job const& job);
std::string hiway_graph(Problem const& problem, std::string const& device);

/// baseline: level by level, a launch for each.
std::vector<Measurement> run_baseline(Problem const& problem, Options const& options, Job const& job);

/// reference: one CPU thread with a queue.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job);

}  // namespace bfs
