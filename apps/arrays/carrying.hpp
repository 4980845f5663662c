// Carrying: with how many threads, and in what batches, an array travels to a device and back.
#pragma once
#include <cstdint>
#include <hiway/batch.hpp>
#include <hiway/config.hpp>

#include "cli/options.hpp"

namespace arrays {

/// 0: by the CPUs and the device. Batches are of pieces.
struct Carrying {
  unsigned feeders = 0;  ///< threads that cut and put pieces
  unsigned takers = 0;   ///< threads that put results in their place
  std::uint32_t batch = 0;
  std::uint32_t least_batch = 1;
  std::uint32_t in_flight = 6;

  /// Options of a program whose arrays only go there.
  void add_there(cli::Options& command);
  /// And of one whose results come back.
  void add_there_and_back(cli::Options& command);
  /// *Throws* BadInput.
  void check() const;
};

/// What an application's pipeline makes of it.
struct Carriers {
  hiway::CpuStageOptions feeders;
  hiway::CpuStageOptions takers;
  hiway::TunnelConfig room;  ///< of each tunnel
  hiway::BatchOptions batches;
};
/// `others`: CPU threads that the application has besides. `takers_a_feeder`: as results are so many times as large.
[[nodiscard]] Carriers carriers_there(Carrying const& carrying, std::string const& device);
[[nodiscard]] Carriers carriers_there_and_back(Carrying const& carrying, std::string const& device, unsigned others = 0,
                                               unsigned takers_a_feeder = 1);

/// Blocks of `threads` for a launch on so many values.
struct Launch {
  unsigned blocks;
  unsigned threads;
};
[[nodiscard]] Launch launch_for(std::uint64_t values, std::string const& device);

}  // namespace arrays
