// Pieces: the file as it goes through a tunnel, so that no device need hold all of it. A piece has lines, whole ones, but for
// those that are longer than a piece. These are cut, wherever it is full: a pair is looked for at the characters that a part
// owns, and read from those that follow, too.
#pragma once
#include <cstddef>
#include <cstdint>

#include "taxi/input.hpp"

namespace taxi {

/// A line, or a part of one.
struct Part {
  static constexpr std::uint16_t to_be_found = 0xffff;
  static constexpr std::uint16_t none = 0xfffe;

  std::uint32_t number;  ///< the line's
  std::uint32_t place;   ///< in the line, of the part's first character
  std::uint16_t begin;   ///< in the piece's text
  std::uint16_t length;  ///< of what can be read
  std::uint16_t owned;   ///< of what pairs may begin in: the first ones
  std::uint16_t list;    ///< where pairs begin; none where the line is broken; of a whole line to be found
};

struct Piece {
  static constexpr std::uint32_t most_parts = 24;
  static constexpr std::uint32_t text_bytes = 8192 - 16 - most_parts * sizeof(Part);

  alignas(16) std::uint32_t parts;
  std::uint32_t unused[3];
  Part part[most_parts];
  char text[text_bytes];

  HIWAY_DEVICE Text of(Part const& p) const { return {text + p.begin, p.length}; }
};
static_assert(sizeof(Piece) == 8192);

/// Cuts lines, in their order, into pieces. *Lifetime*: the input's.
class Cutter {
 public:
  /// Of its lines those from `first` to before `end`.
  Cutter(Input const& input, std::size_t first, std::size_t end) : input_(input), next_(first), end_(end) {}
  [[nodiscard]] bool is_done() const { return next_ == end_; }
  /// Writes the next piece; nothing behind its text.
  void cut(Piece& piece);

 private:
  void next_line();

  Input const& input_;
  std::size_t next_;
  std::size_t end_;
  std::uint32_t place_ = 0;  ///< of the next character, in a line that is cut
  std::uint32_t list_ = 0;   ///< of such a line: where its pairs begin
};

}  // namespace taxi
