// Picture: what an application draws, and the files that hold it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace picture {

struct Picture {
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::vector<std::uint8_t> rgb{};  ///< row by row from the top, three bytes a pixel
};

/// A PNG, whole, as bytes for a file. *Throws* std::runtime_error when libpng cannot.
std::string encode_png(Picture const& picture);
/// A binary PPM (P6), likewise.
std::string encode_ppm(Picture const& picture);

/// Refuses a file's name that `encode_for` would not know. *Throws* cli::BadInput in one line with the option.
void require_known_kind(std::string const& option, std::string const& path);
/// Of the kind that the name ends in: .png or .ppm.
std::string encode_for(std::string const& path, Picture const& picture);

}  // namespace picture
