// Which places need which regions. Along one axis, a band is a run of places that need the same regions. A cell is a
// band of columns by a band of rows; its places all become tasks at the same moment. If regions are at least as large
// as the stencil, a region touches at most nine cells: its inside, and those that it shares with its neighbours.
#pragma once
#include <cstdint>

#include "hiway/stencil/matrix.hpp"

namespace hiway {

/// Places begin .. end - 1 of one axis; each needs regions first .. last of that axis.
struct StencilBand {
  std::uint32_t begin = 0, end = 0;
  std::uint32_t first = 0, last = 0;
  HIWAY_DEVICE std::uint32_t places() const { return end - begin; }
  HIWAY_DEVICE std::uint32_t regions() const { return last - first + 1; }
};
/// The bands first .. last that need one region of the axis.
struct BandRange {
  std::uint32_t first = 0, last = 0;
  HIWAY_DEVICE std::uint32_t count() const { return last - first + 1; }
};
/// One axis, in the consumers' memory.
struct StencilAxis {
  StencilBand const* bands = nullptr;
  std::uint32_t count = 0;                  ///< of bands
  BandRange const* of_region = nullptr;     ///< the bands that need it, for each region of the axis
  std::uint32_t const* of_place = nullptr;  ///< the band, for each place; no_band where there is no task
};
inline constexpr std::uint32_t no_band = 0xffffffffu;

/// Tasks in a line: what a lane takes at once. On a GPU the line goes down, so that neighbouring lanes read
/// neighbouring values; on a CPU it goes along the row.
struct StencilStrip {
  std::uint32_t x, y;  ///< the first task's place
  std::uint32_t frame;
  std::uint32_t count;
};

/// How a cell is cut into strips.
struct StripShape {
  std::uint32_t longest = 1;  ///< tasks of a strip, at most
  bool goes_down = false;

  HIWAY_DEVICE std::uint32_t pieces(std::uint32_t length) const { return (length + longest - 1) / longest; }
  HIWAY_DEVICE std::uint32_t strips(StencilBand const& x, StencilBand const& y) const {
    return goes_down ? x.places() * pieces(y.places()) : y.places() * pieces(x.places());
  }
  HIWAY_DEVICE StencilStrip strip(StencilBand const& x, StencilBand const& y, std::uint32_t frame,
                                  std::uint32_t number) const {
    std::uint32_t const lines = goes_down ? x.places() : y.places();
    std::uint32_t const length = goes_down ? y.places() : x.places();
    std::uint32_t const line = number % lines;
    std::uint32_t const begin = number / lines * longest;
    std::uint32_t const left = length - begin;
    std::uint32_t const count = left < longest ? left : longest;
    return {x.begin + (goes_down ? line : begin), y.begin + (goes_down ? begin : line), frame, count};
  }
};

}  // namespace hiway
