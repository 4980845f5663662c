// Scene: the patches, and how each picture of a stream shows them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reyes/stages.hpp"

namespace reyes {

using Patches = std::vector<Patch>;

/// Reads patches: the word BBP, then three numbers for each of a patch's 16 points. `name` stands before what is wrong.
/// *Throws* cli::BadInput in one line with the name and, where there is one, the line.
Patches parse_patches(std::string const& name, std::string const& text);
/// *Throws* cli::BadInput also when the file cannot be read.
Patches read_patches(std::string const& path);
/// A teapot, which the program carries.
Patches teapot();

/// As the pictures show them: the height, z in files, is up; the middle of their box is at the origin; its longest side
/// is 2.75. A single point, which has no side to be scaled, is only moved.
Patches placed(Patches patches);
/// Seen a little from above; from picture to picture it turns by 12 degrees.
Patches turned(Patches patches, std::uint32_t picture);

/// What becomes of a picture's patches: how much room a method needs.
Splits splits_of(View const& view, Patches const& patches);

/// What is asked for.
struct Problem {
  std::vector<Patches> pictures;
  View view{320, 180};
};

/// A picture's colours, row by row: red << 16 | green << 8 | blue.
using Colours = std::vector<std::uint32_t>;

}  // namespace reyes
