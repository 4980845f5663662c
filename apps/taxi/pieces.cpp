#include "taxi/pieces.hpp"

#include <algorithm>
#include <cstring>

namespace taxi {
namespace {

/// What may be read behind a place at which a pair begins: the pair, and three more, to see how the list goes on.
constexpr std::uint32_t seen_behind = 32;

}  // namespace

void Cutter::next_line() {
  ++next_;
  place_ = 0;
}

void Cutter::cut(Piece& piece) {
  piece.parts = 0;
  for (std::uint32_t used = 0; next_ != end_ && piece.parts != Piece::most_parts;) {
    Line const& line = input_.lines[next_];
    char const* const text = input_.text.data() + line.offset;
    std::uint32_t const room = Piece::text_bytes - used;
    bool const is_whole = line.length <= Piece::text_bytes;
    if (used != 0 && line.length > room) return;  // begins with the next piece
    std::uint32_t const length = std::min(line.length - place_, room);
    bool const is_last = place_ + length == line.length;
    Part& part = piece.part[piece.parts++];
    part = {.number = line.number,
            .place = place_,
            .begin = static_cast<std::uint16_t>(used),
            .length = static_cast<std::uint16_t>(length),
            .owned = static_cast<std::uint16_t>(is_last ? length : length - seen_behind),
            .list = Part::to_be_found};
    if (!is_whole) {
      if (place_ == 0) list_ = first_pair({text, line.length});
      if (list_ == nowhere) {
        part.length = part.owned = 0;
        part.list = Part::none;
        next_line();
        continue;
      }
      std::uint32_t const behind = list_ - std::min(list_, place_);
      part.list = static_cast<std::uint16_t>(std::min<std::uint32_t>(behind, part.owned));
    }
    std::memcpy(piece.text + used, text + place_, length);
    used += length;
    if (!is_last) {
      place_ += part.owned;
      return;
    }
    next_line();
  }
}

}  // namespace taxi
