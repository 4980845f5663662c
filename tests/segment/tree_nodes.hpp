// Node functions for the tests of segments: one of each kind, whose outputs a test can work out by itself.
#pragma once
#include <cstdint>

#include "hiway/launch/stage_words.hpp"
#include "hiway/segment/node.hpp"

namespace hiway::segment_test {

using segment::Emit;
using segment::Maybe;
using segment::Progress;

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

/// Keeps every item that is no multiple of `of`, plus `add`; fails at `bad`.
struct DropMultiples {
  std::uint32_t of = 3;
  std::uint32_t add = 0;
  std::uint32_t bad = ~0u;
  HIWAY_DEVICE Maybe<std::uint32_t> operator()(std::uint32_t const& x) const {
    if (x == bad) fail("a bad number came");
    return x % of == 0 ? Maybe<std::uint32_t>() : Maybe<std::uint32_t>(x + add);
  }
};

/// How many items come of x: `least` to `most`; or `least` of those from `from` on and below `to`, `most` of others.
struct Gain {
  std::uint32_t least = 1;
  std::uint32_t most = 1;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  HIWAY_DEVICE std::uint32_t of(std::uint32_t x) const {
    if (from != to) return x >= from && x < to ? least : most;
    return least + x % (most - least + 1);
  }
};
/// The k-th of them.
HIWAY_DEVICE inline std::uint32_t offspring(std::uint32_t x, std::uint32_t k) {
  return (x ^ x >> 15) * 2654435761u + k;
}

/// Each item three times, one after another; fails at the second of `bad`.
struct FailingSteps {
  std::uint32_t bad;
  struct Cursor {
    std::uint32_t k;
  };
  HIWAY_DEVICE Cursor start(std::uint32_t const&) const { return {0}; }
  HIWAY_DEVICE bool more(std::uint32_t const&, Cursor const& c) const { return c.k != max_gain; }
  HIWAY_DEVICE std::uint32_t next(std::uint32_t const& x, Cursor& c) const {
    if (x == bad && c.k == 1) fail("a bad number came");
    ++c.k;
    return x;
  }
  static constexpr unsigned max_gain = 3;
};
/// The same by all lanes.
struct FailingByHand {
  std::uint32_t bad;
  using Input = std::uint32_t;
  using Output = std::uint32_t;
  struct Saved {
    std::uint32_t k;
  };
  static constexpr unsigned max_gain = 3;
  template <class Lanes, class Push>
  HIWAY_DEVICE Progress operator()(Lanes lanes, std::uint32_t const& x, bool valid, Saved& saved, bool,
                                   Push push) const {
    while (lanes.any(valid && saved.k != max_gain)) {
      bool const brings = valid && saved.k != max_gain;
      if (brings && x == bad && saved.k == 1) fail("a bad number came");
      bool const room = push(x, brings);
      if (brings) ++saved.k;
      if (!room && lanes.any(valid && saved.k != max_gain)) return Progress::suspended;
    }
    return Progress::finished;
  }
};

/// One after another.
template <unsigned limit>
struct Steps {
  Gain gain;
  struct Cursor {
    std::uint32_t k;
  };
  HIWAY_DEVICE Cursor start(std::uint32_t const&) const { return {0}; }
  HIWAY_DEVICE bool more(std::uint32_t const& x, Cursor const& c) const { return c.k != gain.of(x); }
  HIWAY_DEVICE std::uint32_t next(std::uint32_t const& x, Cursor& c) const { return offspring(x, c.k++); }
  static constexpr unsigned max_gain = limit;
};
/// Each by its number.
template <unsigned limit>
struct Numbered {
  Gain gain;
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return gain.of(x); }
  HIWAY_DEVICE std::uint32_t at(std::uint32_t const& x, unsigned k) const { return offspring(x, k); }
  static constexpr unsigned max_gain = limit;
};
/// By all lanes, which suspend by themselves.
template <unsigned limit>
struct ByHand {
  Gain gain;
  using Input = std::uint32_t;
  using Output = std::uint32_t;
  struct Saved {
    std::uint32_t k;
  };
  static constexpr unsigned max_gain = limit;
  template <class Lanes, class Push>
  HIWAY_DEVICE Progress operator()(Lanes lanes, std::uint32_t const& x, bool valid, Saved& saved, bool,
                                   Push push) const {
    while (lanes.any(valid && saved.k != gain.of(x))) {
      bool const brings = valid && saved.k != gain.of(x);
      bool const room = push(offspring(x, saved.k), brings);
      if (brings) ++saved.k;
      if (!room && lanes.any(valid && saved.k != gain.of(x))) return Progress::suspended;
    }
    return Progress::finished;
  }
};
/// By all lanes, in one go. The lanes count the items of their ensemble: none is a failure.
template <unsigned limit>
struct Together {
  Gain gain;
  using Input = std::uint32_t;
  using Output = std::uint32_t;
  static constexpr unsigned max_gain = limit;
  template <class Lanes, class Push>
  HIWAY_DEVICE void operator()(Lanes lanes, std::uint32_t const& x, bool valid, Push push) const {
    std::uint32_t all = 0;
    std::uint32_t const before = lanes.sum_before(valid ? 1 : 0, all);
    if (all == 0 || before != (lanes.rank() < all ? lanes.rank() : all)) fail("the lanes do not hold the first items");
    for (std::uint32_t k = 0; lanes.any(valid && k < gain.of(x)); ++k) push(offspring(x, k), valid && k < gain.of(x));
  }
};

/// Keeps every item that is no multiple of `of`; a lane takes several at once.
template <unsigned items>
struct Wide {
  std::uint32_t of;
  static constexpr unsigned items_per_lane = items;
  HIWAY_DEVICE Maybe<std::uint32_t> operator()(std::uint32_t const& x) const {
    return x % of == 0 ? Maybe<std::uint32_t>() : Maybe<std::uint32_t>(x);
  }
};
/// By several lanes: an item comes of x for each of its low bits that is set. The lanes agree on them, or it is a
/// failure.
template <unsigned lanes>
struct LowBits {
  using Input = std::uint32_t;
  using Output = std::uint32_t;
  static constexpr unsigned lanes_per_item = lanes;
  HIWAY_DEVICE static bool has(std::uint32_t x, unsigned bit) { return (x >> bit & 1u) != 0; }
  template <class Tile>
  HIWAY_DEVICE Maybe<std::uint32_t> operator()(Tile tile, std::uint32_t const& x) const {
    bool const own = has(x, tile.rank());
    std::uint32_t const all = tile.ballot(own);
    float const half = static_cast<float>(x % 1024) / 2;
    if (all != x % (1u << lanes) || tile.any(own) != (all != 0) || tile.sum(tile.rank()) != lanes * (lanes - 1) / 2)
      fail("the lanes of an item have different ones");
    if (tile.share(half, lanes - 1) != half || tile.share(std::uint64_t{x} << 32 | tile.rank(), 1) >> 32 != x)
      fail("a lane got another's value");
    return own ? Maybe<std::uint32_t>(offspring(x, tile.rank())) : Maybe<std::uint32_t>();
  }
};

/// Adds one of some numbers to x: of those in device memory, and 1 more where it has a table.
struct LookUp {
  static constexpr std::uint32_t size = 97;
  std::uint32_t const* numbers;
  struct Table {
    std::uint32_t numbers[size];
  };
  HIWAY_DEVICE void fill(Table& table, unsigned thread, unsigned threads) const {
    for (unsigned i = thread; i < size; i += threads) table.numbers[i] = numbers[i] + 1;
  }
  HIWAY_DEVICE void use(Table const& table) { numbers = table.numbers; }
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x + numbers[x % size]; }
};
/// By its number, as many items of x as one of the numbers says, 3 at most.
struct LookUpMany : LookUp {
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return numbers[x % size] % 4; }
  HIWAY_DEVICE std::uint32_t at(std::uint32_t const& x, unsigned k) const { return offspring(x, k); }
  static constexpr unsigned max_gain = 3;

 private:
  using LookUp::operator();
};

/// By its remainder: a third channel for numbers of another type, a fourth for nothing.
struct Split {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, Emit<std::uint32_t>& even, Emit<std::uint32_t>& odd,
                               Emit<std::uint64_t>& all, Emit<std::uint32_t>&) const {
    if (x % 2 == 0) {
      even.put(x);
    } else {
      odd.put(x);
    }
    all.put(x);
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

/// Passes items on, and adds them up in each replica; at the end the sum of each is added to `*total`.
struct AddUp {
  using Input = std::uint32_t;
  using Output = std::uint32_t;
  static constexpr unsigned max_gain = 1;
  struct State {
    std::uint64_t sum;
    std::uint64_t items;
  };
  Word<std::uint64_t>* total;
  std::uint64_t first = 0;  ///< that each replica begins with

  HIWAY_DEVICE void init(State& state) const { state = {first, 0}; }
  HIWAY_DEVICE void finish(State& state) const {
    anywhere([&](auto m) {
      m.fetch_add(total[0], state.sum, MemoryOrder::relaxed);
      m.fetch_add(total[1], state.items, MemoryOrder::relaxed);
    });
  }
  template <class Lanes, class Push>
  HIWAY_DEVICE void operator()(Lanes lanes, std::uint32_t const& x, bool valid, Push push, State& state) const {
    std::uint32_t all = 0;
    (void)lanes.sum_before(valid ? x : 0, all);
    std::uint32_t const items = lanes.tally(valid).all;
    if (lanes.rank() == 0) {
      state.sum += all;
      state.items += items;
    }
    push(x, valid);
  }
};

}  // namespace hiway::segment_test
