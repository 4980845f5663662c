// Piece: values of an array, on their way to a device or back, with their place in it. How CPU threads cut an array in
// the program's own memory into pieces, how a kernel goes through them, and how CPU threads put results in their place.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "arrays/turns.hpp"

namespace arrays {

/// Up to `most` values in a row, and the `more` values before them.
template <class T, std::uint32_t most, std::uint32_t more = 0>
struct alignas(16) Piece {
  using Value = T;
  static constexpr std::uint32_t room = most;
  static constexpr std::uint32_t before = more;

  std::array<T, before + room> all;
  std::uint64_t first;  ///< the place of the first value, but for those before
  std::uint32_t count;  ///< of values, but for those before

  HIWAY_DEVICE T* values() { return all.data() + before; }
  HIWAY_DEVICE T const* values() const { return all.data() + before; }
};

/// Pieces of `room` values that an array of so many has.
constexpr std::uint32_t pieces_of(std::uint64_t values, std::uint32_t room) {
  return static_cast<std::uint32_t>((values + room - 1) / room);
}

/// Makes the piece of this number; what is before the array is T{}.
template <class T, std::uint32_t most, std::uint32_t more>
void cut(Piece<T, most, more>& piece, std::uint32_t number, std::span<T const> array) {
  piece.first = std::uint64_t{number} * most;
  piece.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, array.size() - piece.first));
  auto const there = static_cast<std::uint32_t>(std::min<std::uint64_t>(more, piece.first));
  std::fill_n(piece.all.data(), more - there, T{});
  std::copy_n(array.data() + piece.first - there, there + piece.count, piece.values() - there);
}

/// Pieces that a thread takes and puts at once. Of 16 KiB they stay in the cache, and are copied from there past it.
inline constexpr std::uint32_t at_once = 4;

/// The feeding stage: cuts pieces of the array, by turns with other threads, until all are put.
template <class P>
void feed(hiway::Inlet<P> const& out, Turns& turns, std::span<typename P::Value const> array) {
  std::vector<P> some(at_once);
  while (true) {
    Stretch const next = turns.front(at_once);
    if (next.count == 0) return;
    for (std::uint32_t i = 0; i < next.count; ++i) cut(some[i], next.first + i, array);
    out.put_h(std::span<P const>(some).first(next.count));
  }
}

/// The taking stage: puts a piece in its place.
template <class T, std::uint32_t most>
void keep(Piece<T, most> const& piece, std::span<T> array) {
  std::copy_n(piece.values(), piece.count, array.data() + piece.first);
}

/// In each thread of a launch: for its share of all values, `out[p]`'s is what `work(in[p], i)` gives for `in[p]`'s.
template <class In, class Out, class Work>
HIWAY_DEVICE inline void for_each_value(In const* in, Out* out, std::size_t count, Work&& work) {
  for (std::size_t at = hiway::thread_index(); at < count * In::room; at += hiway::thread_count()) {
    std::size_t const p = at / In::room;
    auto const i = static_cast<std::uint32_t>(at % In::room);
    if (i == 0) {
      out[p].first = in[p].first;
      out[p].count = in[p].count;
    }
    if (i < in[p].count) out[p].values()[i] = work(in[p], i);
  }
}

}  // namespace arrays
