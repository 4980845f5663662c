// The methods of PageRank: the same rounds, given to the device in different ways.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <hiway/config.hpp>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "pagerank/problem.hpp"

namespace pagerank {

using cli::Job;

/// Of methods hiway and baseline. 0: the method chooses.
struct Options {
  std::uint32_t blocks = 0;   ///< of hiway
  std::uint32_t threads = 0;  ///< of a block
  std::uint32_t lanes = 0;    ///< that share a row: a power of two up to 32

  /// About two entries a lane.
  [[nodiscard]] std::uint32_t lanes_for(Problem const& problem) const {
    if (lanes != 0) return lanes;
    auto const of_a_row = static_cast<std::uint32_t>(problem.entries.size() / problem.nodes());
    return std::clamp(std::bit_ceil(of_a_row / 2), 1U, 32U);
  }
  /// Blocks of `some` threads, enough for all rows at once, but not more than `most`.
  [[nodiscard]] hiway::GpuStageOptions grid_for(Problem const& problem, std::uint32_t some, std::uint32_t most) const {
    std::uint32_t const of_block = threads != 0 ? threads : some;
    std::uint64_t const all = std::uint64_t{problem.nodes()} * lanes_for(problem);
    auto const enough = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, (all + of_block - 1) / of_block));
    return {.blocks = blocks != 0 ? blocks : enough, .threads_per_block = of_block};
  }
};

/// One run. seconds: from the matrix in CPU memory to the ranks there; allocation and kernel loading excluded.
struct Measurement {
  Ranks summary{};
  double seconds = 0;
  std::uint64_t items = 0;  ///< ranks
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// hiway: one kernel that stays for all rounds; ranks leave it as items.
std::vector<Measurement> run_hiway(Problem const& problem, Options const& options, Job const& job);
std::string hiway_graph(Problem const& problem, std::string const& device);

/// baseline: a launch for each round.
std::vector<Measurement> run_baseline(Problem const& problem, Options const& options, Job const& job);

/// reference: one CPU thread, in doubles.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job);
std::vector<double> reference_ranks(Problem const& problem);

}  // namespace pagerank
