// Node functions for the tests of segments.
#pragma once
#include <cstdint>

#include "hiway/segment/node.hpp"

namespace hiway::segment_test {

using segment::Emit;
using segment::Maybe;

/// A board of n queens, row by row: which columns and diagonals are taken.
struct Board {
  std::uint32_t columns, left, right;
};
struct Place {
  std::uint32_t n;
  struct Cursor {
    std::uint32_t free;
  };
  HIWAY_DEVICE Cursor start(Board const& b) const { return {((1u << n) - 1) & ~(b.columns | b.left | b.right)}; }
  HIWAY_DEVICE bool more(Board const&, Cursor const& c) const { return c.free != 0; }
  HIWAY_DEVICE Board next(Board const& b, Cursor& c) const {
    std::uint32_t const at = c.free & (0u - c.free);
    c.free ^= at;
    return {b.columns | at, (b.left | at) << 1, (b.right | at) >> 1};
  }
  static constexpr unsigned max_gain = 20;
};

/// Keeps every item that is no multiple of `of`, plus `add`.
struct DropMultiples {
  std::uint32_t of = 3;
  std::uint32_t add = 0;
  HIWAY_DEVICE Maybe<std::uint32_t> operator()(std::uint32_t const& x) const {
    return x % of == 0 ? Maybe<std::uint32_t>() : Maybe<std::uint32_t>(x + add);
  }
};
/// x times x.
struct Repeat {
  std::uint32_t most = 16;
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return x % (most + 1); }
  HIWAY_DEVICE std::uint32_t at(std::uint32_t const& x, unsigned k) const { return x * 1000 + k; }
  static constexpr unsigned max_gain = 300;
};
/// Even ones on one channel, odd ones on the other.
struct Split {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, Emit<std::uint32_t>& even, Emit<std::uint64_t>& odd) const {
    if (x % 2 == 0) {
      even.put(x);
    } else {
      odd.put(x);
    }
  }
};
/// Goes round until it has gone `turns` times.
struct Traveller {
  std::uint32_t item, turns;
};
struct Turn {
  HIWAY_DEVICE void operator()(Traveller const& t, Emit<Traveller>& again, Emit<Traveller>& done) const {
    if (t.turns == 0) {
      done.put(t);
    } else {
      again.put({t.item, t.turns - 1});
    }
  }
};
struct Pass {
  HIWAY_DEVICE Traveller operator()(Traveller const& t) const { return t; }
};

}  // namespace hiway::segment_test
