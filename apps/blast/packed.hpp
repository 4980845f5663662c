// Packed: bases of two bits, four a byte, the first in the high bits. The bytes stand in words of four, high byte first, so
// that a window of bases is a shift of the words that hold it.
#pragma once
#include <cstdint>
#include <vector>

#include "genome/sequence.hpp"
#include "hiway/config.hpp"

namespace blast {

inline constexpr std::int32_t bases_a_word = 16;
/// Words of base 0 on either side of a sequence: windows that reach over its ends are legal to read, and mean nothing there.
inline constexpr std::int32_t padding_words = 8;

/// *Lifetime*: points at memory of the device that reads it, owns nothing.
struct Packed {
  std::uint32_t const* words;  ///< of base 0
  std::int32_t bases;

  /// The 16 bits from `position` on: eight bases.
  HIWAY_DEVICE std::uint32_t eight(std::int32_t position) const {
    std::uint32_t const* const here = word_of(position);
    std::uint64_t const both = std::uint64_t{here[0]} << 32 | here[1];
    return static_cast<std::uint32_t>(both >> (48 - bits_before(position))) & 0xffffU;
  }

  /// 16 bases from `position` on, the first in the high bits. -64 <= position <= bases.
  HIWAY_DEVICE std::uint32_t sixteen(std::int32_t position) const {
    std::uint32_t const* const here = word_of(position);
    std::uint64_t const both = std::uint64_t{here[0]} << 32 | here[1];
    return static_cast<std::uint32_t>(both << bits_before(position) >> 32);
  }

  /// 32 bases from `position` on, the first in the high bits. -64 <= position <= bases.
  HIWAY_DEVICE std::uint64_t window(std::int32_t position) const {
    std::uint32_t const* const here = word_of(position);
    int const shift = bits_before(position);
    std::uint64_t const both = std::uint64_t{here[0]} << 32 | here[1];
    return both << shift | (std::uint64_t{here[2]} << shift) >> 32;
  }

  /// Below 0 too.
  HIWAY_DEVICE std::uint32_t const* word_of(std::int32_t position) const { return words + (position >> 4); }
  HIWAY_DEVICE static int bits_before(std::int32_t position) { return 2 * (position & (bases_a_word - 1)); }
};

/// A sequence packed, with its padding.
class PackedSequence {
 public:
  PackedSequence() = default;
  /// `sequence` has no N.
  explicit PackedSequence(genome::Sequence const& sequence);

  /// Padding included.
  [[nodiscard]] std::vector<std::uint32_t> const& words() const { return words_; }
  [[nodiscard]] std::int32_t bases() const { return bases_; }
  /// Of these words, or of a copy of them in a device's memory; `words` is null for a pipeline that is only drawn.
  /// *Lifetime*: the words'.
  [[nodiscard]] Packed view(std::uint32_t const* words) const {
    return {words == nullptr ? nullptr : words + padding_words, bases_};
  }

 private:
  std::vector<std::uint32_t> words_;
  std::int32_t bases_ = 0;
};

}  // namespace blast
