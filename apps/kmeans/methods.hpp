// The methods of k-means: the same clusters, found in different ways.
#pragma once
#include <cstddef>
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "kmeans/input.hpp"
#include "kmeans/summary.hpp"

namespace kmeans {

using cli::Job;

/// One run. seconds: from the points in CPU memory to the memberships there; reading or making points, the root mean
/// square error, allocation and kernel loading excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;  ///< carried through tunnels, or points looked at where there are none
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// How method hiway runs.
struct Tuning {
  unsigned threads = 0;               ///< that correct sums; 0: half of the CPUs, eight at most
  std::uint32_t at_once = 64;         ///< changes that such a thread takes
  bool stays = true;                  ///< the kernel, for all iterations; else one is launched in each
  std::uint32_t parts = 128;          ///< that a kernel that stays works on; a block has one at a time
  bool copies = false;                ///< of changes to the CPU, from a kernel that stays; else it writes them there
  std::uint32_t block_threads = 768;  ///< likewise
};

/// hiway: points and memberships stay on the GPU; changes go to the CPU, which corrects sums, and centroids come back.
std::vector<Measurement> run_hiway(Input const& input, Tuning const& tuning, Job const& job);
/// The pipeline of hiway in dot.
std::string hiway_graph(Input const& input, std::string const& device);

/// baseline: Hetero-Mark's scheme: all memberships go to the CPU, which sums all points.
std::vector<Measurement> run_baseline(Input const& input, Job const& job);

/// reference: one thread.
std::vector<Measurement> run_reference(Input const& input, Job const& job);

}  // namespace kmeans
