// The methods of the histogram: the same counts, made in different ways.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arrays/carrying.hpp"
#include "arrays/measurement.hpp"
#include "cli/job.hpp"
#include "hist/input.hpp"

namespace hist {

using cli::Job;

struct Summary {
  std::uint32_t colour = 0;  ///< the most frequent one, and the lowest of several
  std::uint32_t pixels = 0;  ///< that have it
  std::uint64_t hash = 0;    ///< FNV-1a, 64 bit, over all counts, each as one word
  bool operator==(Summary const&) const = default;
};
Summary summarize(std::span<std::uint32_t const> counts);

using Measurement = arrays::Measurement<Summary>;

/// hiway: threads put pieces of the image, and a kernel counts those that have come.
std::vector<Measurement> run_hiway(Image const& image, arrays::Carrying const& carrying, Job const& job);
std::string hiway_graph(std::string const& device);
/// baseline: Hetero-Mark's: all pixels in, one kernel, the counts out.
std::vector<Measurement> run_baseline(Image const& image, Job const& job);
/// reference: one CPU thread.
std::vector<Measurement> run_reference(Image const& image, Job const& job);

}  // namespace hist
