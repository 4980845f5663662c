// RunStats: the sums of one run: what its stages did with their time, and what its tunnels held.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cli {

/// A stage's waits at one of its tunnels.
struct TunnelWaits {
  std::string tunnel;
  double waits = -1;  ///< of its executors' life: 0 to 1; -1: not known
};

struct StageStats {
  std::string name;
  bool gpu = false;
  std::uint64_t executors = 1;  ///< CPU threads, or blocks
  std::uint64_t items = 0;      ///< tasks that it ended
  double seconds = 0;           ///< lives of all executors together
  double busy = -1;  ///< of its executors' life, what was not waited; on a GPU of its blocks' samples; -1: not known
  std::vector<TunnelWaits> from;
  std::vector<TunnelWaits> into;
};

/// Fractions and means are of samples, and -1 where there are none.
struct TunnelStats {
  std::string name;
  std::string direction;
  std::string movement;
  std::string why;
  std::uint64_t item_bytes = 0;
  std::uint64_t capacity_items = 0;
  std::uint64_t items = 0;
  std::uint64_t finished = 0;
  std::uint64_t bytes = 0;
  std::uint64_t batches = 0;
  std::uint64_t spilled = 0;
  std::uint64_t throttled = 0;
  double most_items = -1;
  double mean_items = -1;
  double full = -1;
  double empty = -1;
};

struct RunStats {
  std::string device;
  double seconds = 0;
  std::uint64_t items = 0;
  double end_detection_us = -1;  ///< -1: not measured
  std::vector<StageStats> stages;
  std::vector<TunnelStats> tunnels;
};

}  // namespace cli
