#include "face_detection/input.hpp"

#include <sstream>

#include "cli/bad_input.hpp"

namespace face_detection {

Input make_input(InputOptions const& options) {
  // Not a number is outside, too.
  if (!(options.scale_factor >= min_scale_factor && options.scale_factor <= max_scale_factor)) {
    std::ostringstream text;
    text << "--scale-factor must be " << min_scale_factor << " to " << max_scale_factor << ": " << options.scale_factor;
    throw cli::BadInput{text.str()};
  }
  if (options.min_neighbours < 0 || options.min_neighbours > max_min_neighbours)
    throw cli::BadInput{"--min-neighbours must be 0 to " + std::to_string(max_min_neighbours) + ": " +
                        std::to_string(options.min_neighbours)};
  return {options.image_file.empty() ? face_image() : read_image(options.image_file),
          options.cascade_file.empty() ? frontal_face_cascade() : read_cascade(options.cascade_file),
          options.scale_factor, static_cast<std::int32_t>(options.min_neighbours)};
}

Pyramid make_pyramid(Input const& input) {
  return make_pyramid(input.image.width, input.image.height, input.cascade.window_width, input.cascade.window_height,
                      input.scale_factor);
}

}  // namespace face_detection
