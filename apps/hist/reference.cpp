// The serial oracle.
#include <algorithm>

#include "cli/hash.hpp"
#include "hist/methods.hpp"

namespace hist {

Summary summarize(std::span<std::uint32_t const> counts) {
  auto const most = std::ranges::max_element(counts);
  Summary summary{
      .colour = static_cast<std::uint32_t>(most - counts.begin()), .pixels = *most, .hash = cli::first_hash};
  for (std::uint32_t const count : counts) summary.hash = cli::hash_on(summary.hash, count);
  return summary;
}

std::vector<Measurement> run_reference(Image const& image, Job const& job) {
  return cli::repeated(job, [&] {
    arrays::Clock const clock;
    std::vector<std::uint32_t> counts(image.colours);
    std::uint64_t left = image.pixels;
    for (Pixels const& piece : image.pieces)
      for (std::uint32_t const colour : std::span(piece).first(std::min<std::uint64_t>(left, piece.size()))) {
        ++counts[colour];
        --left;
      }
    double const seconds = clock.seconds();
    return Measurement{.summary = summarize(counts), .seconds = seconds, .items = image.pixels};
  });
}

}  // namespace hist
