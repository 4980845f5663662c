// StencilTask: a place of a matrix to work on; and how a fault names a place.
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"

namespace hiway {

/// A task: a place whose stencil's values have all arrived. (x, y) is the stencil's centre; its values start at
/// (x - stencil_width / 2, y - stencil_height / 2).
struct StencilTask {
  std::uint32_t x = 0, y = 0;
  std::uint32_t frame = 0;
};

template <class T>
struct StencilOf {};

namespace detail {

/// A value's place. It may lie outside of the matrix.
struct ValuePlace {
  std::int64_t x;
  std::int64_t y;
  std::uint32_t frame;
};

/// A value's place, packed as a fault's item: frame, y and x.
HIWAY_DEVICE inline std::uint64_t place_item(ValuePlace at) {
  constexpr std::int64_t most = (1 << 21) - 1;  // coordinates far outside are reported as just outside
  std::int64_t const x = at.x < -most ? -most : at.x > most ? most : at.x;
  std::int64_t const y = at.y < -most ? -most : at.y > most ? most : at.y;
  return std::uint64_t{at.frame} << 44 | (static_cast<std::uint64_t>(y) & 0x3fffff) << 22 |
         (static_cast<std::uint64_t>(x) & 0x3fffff);
}
template <class Machine, class View>
[[noreturn]] HIWAY_DEVICE inline void raise_at(Machine m, View const& v, FaultKind kind, ValuePlace at) {
  raise(m, *v.control, kind, v.stage, v.tunnel, place_item(at));
}

}  // namespace detail

}  // namespace hiway
