// Input: the image and the cascade, as the options describe them.
#pragma once
#include <cstdint>
#include <string>

#include "face_detection/cascade.hpp"
#include "face_detection/image.hpp"
#include "face_detection/pyramid.hpp"

namespace face_detection {

inline constexpr double min_scale_factor = 1.01;
inline constexpr double max_scale_factor = 100;
inline constexpr std::int64_t max_min_neighbours = 1'000'000;

struct InputOptions {
  std::string image_file{};    ///< empty: a small picture of a face
  std::string cascade_file{};  ///< empty: frontal faces
  double scale_factor = 1.1;
  std::int64_t min_neighbours = 3;
};

struct Input {
  Image image;
  Cascade cascade;
  double scale_factor = 1.1;        ///< min_scale_factor to max_scale_factor
  std::int32_t min_neighbours = 3;  ///< 0: nothing is grouped
};

/// *Throws* cli::BadInput in one line: a file that was not given, values out of range, bad files.
Input make_input(InputOptions const& options);

/// The levels that the input is searched in.
Pyramid make_pyramid(Input const& input);

}  // namespace face_detection
