// The methods of nearest neighbours: the same places, found in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "knn/input.hpp"

namespace knn {

using cli::Job;

/// The nearest first.
using Summary = std::vector<Key>;

/// One run. seconds: from the places in CPU memory to the nearest ones there; reading or making places, allocation and
/// kernel loading excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;  ///< carried through tunnels, or places where there are none
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// How the methods on a device run. Where nothing is said: feeders a quarter of the CPUs, four at most; searchers half
/// of them.
struct Tuning {
  std::optional<std::uint32_t> feeders{};    ///< CPU threads that put places into the tunnel
  std::optional<std::uint32_t> searchers{};  ///< CPU threads that search themselves; 0: the GPU does all
  std::uint32_t at_once = 4096;              ///< places that a CPU thread takes
  std::uint32_t blocks = 64;                 ///< of the GPU stage
  bool copies = false;                       ///< pieces go by dma; else warps read them where the CPU wrote them
};

/// hiway: places go to the GPU by a tunnel, in pieces, while CPU threads search from the other end; the nearest ones of
/// each warp and thread go to one that keeps the nearest of all.
std::vector<Measurement> run_hiway(Input const& input, Tuning const& tuning, Job const& job);
/// The pipeline of hiway in dot.
std::string hiway_graph(Input const& input, std::string const& device);

/// baseline: Hetero-Mark's scheme: the GPU and the CPU share the distances, and the CPU selects.
std::vector<Measurement> run_baseline(Input const& input, Tuning const& tuning, Job const& job);

/// reference: one thread.
std::vector<Measurement> run_reference(Input const& input, Job const& job);

}  // namespace knn
