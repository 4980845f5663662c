// The methods of the filter: the same signal, filtered in different ways.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arrays/carrying.hpp"
#include "arrays/measurement.hpp"
#include "cli/job.hpp"
#include "fir/input.hpp"

namespace fir {

using cli::Job;

struct Summary {
  std::uint64_t hash = 0;  ///< FNV-1a, 64 bit, over the filtered samples' bits, each as one word
  bool operator==(Summary const&) const = default;
};
Summary summarize(std::span<float const> filtered);

using Measurement = arrays::Measurement<Summary>;

// `filtered`: what the last run made; as long as the signal.

/// hiway: threads put pieces of the signal, a kernel filters those that have come, threads put results in their place.
std::vector<Measurement> run_hiway(Signal const& signal, arrays::Carrying const& carrying, Job const& job,
                                   std::vector<float>& filtered);
std::string hiway_graph(std::string const& device);
/// baseline: Hetero-Mark's: for each block copy in, kernel, copy out, by this library's calls.
std::vector<Measurement> run_baseline(Signal const& signal, Job const& job, std::vector<float>& filtered);
/// cuda: the same by CUDA's calls alone. *Threads*: apps/fir/cuda.cu, there where the program was built with CUDA, sets
/// it before main. Null else.
using RunCuda = std::vector<Measurement> (*)(Signal const& signal, Job const& job, std::vector<float>& filtered);
[[nodiscard]] RunCuda& cuda_method() noexcept;
/// reference: one CPU thread.
std::vector<Measurement> run_reference(Signal const& signal, Job const& job, std::vector<float>& filtered);

}  // namespace fir
