// The methods of bs: the same prices, found in different ways.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "arrays/carrying.hpp"
#include "arrays/measurement.hpp"
#include "bs/input.hpp"
#include "cli/job.hpp"

namespace bs {

using cli::Job;

/// How CPU and GPU share the tiles.
struct Sharing {
  std::uint32_t cpu_threads = 2;  ///< that price; 0: the GPU alone does
  std::uint32_t chunk = 64;       ///< method baseline: tiles of a launch
};

struct Summary {
  double calls = 0;             ///< their sum
  double puts = 0;              ///< likewise
  std::uint64_t cpu_tiles = 0;  ///< priced by CPU threads
};
Summary summarize(Prices const& prices, std::uint64_t cpu_tiles);

using Measurement = arrays::Measurement<Summary>;

// `prices`: what the last run made; as many as numbers.

/// hiway: threads put tiles from the front, a kernel prices those that have come, threads put prices in their place;
/// others price tiles from the back meanwhile.
std::vector<Measurement> run_hiway(Numbers const& numbers, Sharing const& sharing, arrays::Carrying const& carrying,
                                   Job const& job, Prices& prices);
std::string hiway_graph(Sharing const& sharing, std::string const& device);
/// baseline: Hetero-Mark's: all numbers in; the GPU takes chunks of tiles from the front, and CPU threads tiles from
/// the back; the GPU's prices out.
std::vector<Measurement> run_baseline(Numbers const& numbers, Sharing const& sharing, Job const& job, Prices& prices);
/// reference: one CPU thread.
std::vector<Measurement> run_reference(Numbers const& numbers, Job const& job, Prices& prices);

}  // namespace bs
