// The methods of the five-point stencil: the same values, found in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "stencil/stages.hpp"

namespace stencil {

using cli::Job;

/// The values of all frames behind the last pass, frame by frame, row by row.
using Values = std::vector<float>;

/// One run. seconds: from the first value that is made to the last pass's last value, copies to the device included; the way
/// back to the CPU, allocation and kernel loading excluded.
struct Measurement {
  std::uint64_t checksum = 0;
  bool right = true;  ///< bit for bit the oracle's values; true where nobody compared
  double seconds = 0;
  std::uint64_t items = 0;        ///< tasks
  std::uint64_t bytes_moved = 0;  ///< of values, from the CPU to the device
  std::uint64_t bytes_between_gpus = 0;
  std::uint64_t region_copies = 0;
  std::optional<bool> first_task_before_last_set{};
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// hiway: CPU threads set rows of a stencil tunnel; a persistent GPU stage for each pass; of job.gpus each has a
/// share of the passes.
std::vector<Measurement> run_hiway(Problem const& problem, Job const& job, Values const* oracle);
/// baseline: task-based copies: each task carries its five values through a plain tunnel; passes behind the first are kernels.
std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Values const* oracle);
/// reference: one thread, pass by pass; shares no code with the other two but the input's values.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job);
Values reference_values(Problem const& problem);

/// FNV-1a, 64 bit, over the values' bytes.
std::uint64_t checksum(Values const& values);

/// The most passes that method hiway runs at once.
inline constexpr std::uint32_t most_iterations = 32;

/// The graph of method hiway in dot.
std::string hiway_graph(std::string const& device);

}  // namespace stencil
