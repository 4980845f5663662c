#include "picture/picture.hpp"

#include <png.h>

#include <stdexcept>

#include "cli/bad_input.hpp"
#include "cli/text.hpp"

namespace picture {

std::string encode_png(Picture const& picture) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(picture.width);
  png.height = static_cast<png_uint_32>(picture.height);
  png.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string out(bytes, '\0');
  if (png_image_write_to_memory(&png, out.data(), &bytes, 0, picture.rgb.data(), 0, nullptr) == 0)
    throw std::runtime_error{std::string{"libpng: "} + png.message};
  out.resize(bytes);
  return out;
}

std::string encode_ppm(Picture const& picture) {
  std::string out = "P6\n" + std::to_string(picture.width) + " " + std::to_string(picture.height) + "\n255\n";
  out.append(picture.rgb.begin(), picture.rgb.end());
  return out;
}

void require_known_kind(std::string const& option, std::string const& path) {
  if (!cli::has_ending(path, ".png") && !cli::has_ending(path, ".ppm"))
    throw cli::BadInput{option + ": a name that ends in .png or .ppm, not " + path};
}

std::string encode_for(std::string const& path, Picture const& picture) {
  return cli::has_ending(path, ".ppm") ? encode_ppm(picture) : encode_png(picture);
}

}  // namespace picture
