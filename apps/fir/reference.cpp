// The serial oracle.
#include <algorithm>
#include <bit>

#include "cli/hash.hpp"
#include "fir/methods.hpp"

namespace fir {
namespace {

/// The taps before the signal's first sample have nothing to weigh.
float filtered_at(Signal const& signal, std::size_t n) {
  std::size_t const taps = std::min<std::size_t>(signal.taps.count, n + 1);
  float sum = 0;
  for (std::size_t i = 0; i < taps; ++i) sum += signal.taps.values[i] * signal.samples[n - i];
  return sum;
}

}  // namespace

Summary summarize(std::span<float const> filtered) {
  Summary summary{.hash = cli::first_hash};
  for (float const value : filtered) summary.hash = cli::hash_on(summary.hash, std::bit_cast<std::uint32_t>(value));
  return summary;
}

std::vector<Measurement> run_reference(Signal const& signal, Job const& job, std::vector<float>& filtered) {
  filtered.resize(signal.samples.size());
  return cli::repeated(job, [&] {
    arrays::Clock const clock;
    for (std::size_t n = 0; n < filtered.size(); ++n) filtered[n] = filtered_at(signal, n);
    double const seconds = clock.seconds();
    return Measurement{.summary = summarize(filtered), .seconds = seconds, .items = filtered.size()};
  });
}

}  // namespace fir
