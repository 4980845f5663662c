// Summary: what a run says of its pictures.
#pragma once
#include <cstdint>
#include <span>

#include "reyes/scene.hpp"

namespace reyes {

struct Summary {
  std::uint64_t split = 0;     ///< patches that were bounded, leaves too
  std::uint64_t dice = 0;      ///< leaves
  std::uint64_t shade = 0;     ///< points that were coloured, those of several grids once
  std::uint64_t checksum = 0;  ///< FNV-1a, 64 bit, over the colours' bytes, lowest first, picture by picture

  bool operator==(Summary const&) const = default;
};

std::uint64_t checksum(std::span<Colours const> pictures);

}  // namespace reyes
