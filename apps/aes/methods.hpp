// The methods of the encryption: the same ciphertext, made in different ways.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "aes/input.hpp"
#include "arrays/carrying.hpp"
#include "arrays/measurement.hpp"
#include "cli/job.hpp"

namespace aes {

using cli::Job;

struct Summary {
  std::uint64_t hash = 0;  ///< FNV-1a, 64 bit, over the ciphertext's bytes
  bool operator==(Summary const&) const = default;
};
Summary summarize(Text const& ciphertext);

using Measurement = arrays::Measurement<Summary>;

// `ciphertext`: what the last run made; as long as the text.

/// hiway: threads put pieces of the text, a kernel encrypts those that have come, threads put them in their place.
std::vector<Measurement> run_hiway(Problem const& problem, arrays::Carrying const& carrying, Job const& job,
                                   Text& ciphertext);
std::string hiway_graph(std::string const& device);
/// baseline: Hetero-Mark's: all in, one kernel, all out.
std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Text& ciphertext);
/// reference: one CPU thread.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job, Text& ciphertext);

}  // namespace aes
