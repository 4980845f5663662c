#include "hist/input.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "arrays/piece.hpp"
#include "cli/bad_input.hpp"
#include "cli/hash.hpp"
#include "cli/input.hpp"

namespace hist {
namespace {

constexpr std::uint64_t most_pixels = std::uint64_t{1} << 30;
static_assert(std::endian::native == std::endian::little);

std::vector<std::uint32_t> read(std::string const& path) {
  auto const bytes = cli::read_whole(path, most_pixels * 4, [](std::span<std::uint8_t const>) {});
  if (bytes.size() % 4 != 0)
    throw cli::BadInput{path + ": its last pixel is cut short: " + std::to_string(bytes.size()) + " bytes, 4 a pixel"};
  std::vector<std::uint32_t> pixels(bytes.size() / 4);
  std::memcpy(pixels.data(), bytes.data(), bytes.size());
  return pixels;
}

std::vector<std::uint32_t> random_pixels(InputOptions const& options) {
  std::vector<std::uint32_t> pixels(options.pixels);
  std::uint64_t const seed = cli::mixed(options.seed);
  for (std::uint64_t i = 0; i < options.pixels; ++i)
    pixels[i] = static_cast<std::uint32_t>(cli::mixed(seed + i * cli::mixed_step) % options.colours);
  return pixels;
}

}  // namespace

Image image_of(std::span<std::uint32_t const> pixels, std::uint32_t colours, std::string const& name) {
  Image image{.pieces = {}, .pixels = pixels.size(), .colours = colours};
  image.pieces.resize(arrays::pieces_of(pixels.size(), std::tuple_size_v<Pixels>));
  if (!image.pieces.empty()) image.pieces.back().fill(no_colour);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] >= colours) {
      throw cli::BadInput{name + ": pixel " + std::to_string(i) + " is " + std::to_string(pixels[i]) +
                          ", and there are " + std::to_string(colours) + " colours"};
    }
    image.pieces[i / std::tuple_size_v<Pixels>][i % std::tuple_size_v<Pixels>] = pixels[i];
  }
  return image;
}

Image make_image(InputOptions const& options) {
  if (options.colours < 1 || options.colours > most_colours)
    throw cli::BadInput{"--colours must be 1 to 256: " + std::to_string(options.colours)};
  if (options.pixels < 1 || options.pixels > most_pixels)
    throw cli::BadInput{"--pixels must be 1 to 1073741824: " + std::to_string(options.pixels)};
  return image_of(options.file.empty() ? random_pixels(options) : read(options.file), options.colours, options.file);
}

}  // namespace hist
