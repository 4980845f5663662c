#include "rasterization/summary.hpp"

#include <algorithm>

#include "cli/hash.hpp"
#include "rasterization/methods.hpp"

namespace rasterization {
namespace {

constexpr std::uint32_t background = 0x181c24;

}  // namespace

Summary summarize(Drawn const& drawn) {
  std::uint64_t hash = cli::first_hash;
  for (picture::Pixel const& pixel : drawn.pixels)
    hash = cli::hash_on(hash, picture::colour_of(pixel.bits, background));
  return {drawn.triangles, drawn.covered_pixels, hash};
}

picture::Picture last_picture(Problem const& problem, Pixels const& pixels) {
  picture::Picture out{problem.width, problem.height};
  out.rgb.reserve(3 * problem.pixels_a_picture());
  for (std::size_t i = pixels.size() - problem.pixels_a_picture(); i < pixels.size(); ++i) {
    std::uint32_t const colour = picture::colour_of(pixels[i].bits, background);
    for (int const shift : {16, 8, 0}) out.rgb.push_back(static_cast<std::uint8_t>(colour >> shift));
  }
  return out;
}

Measurement measurement_of(Problem const& problem, Drawn const& drawn, Oracle const* oracle) {
  Measurement measured{.summary = summarize(drawn), .last = last_picture(problem, drawn.pixels)};
  if (oracle != nullptr)
    measured.right = measured.summary == oracle->summary &&
                     std::ranges::equal(drawn.pixels, oracle->pixels, {}, &picture::Pixel::bits, &picture::Pixel::bits);
  return measured;
}

}  // namespace rasterization
