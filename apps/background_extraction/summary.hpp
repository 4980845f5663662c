// Summary: what background extraction answers; two runs found the same foregrounds when their summaries are equal.
#pragma once
#include <cstdint>
#include <span>

namespace background_extraction {

struct Summary {
  std::uint32_t frames = 0;                              ///< of the video
  std::uint64_t foreground_bytes = 0;                    ///< that are not 0
  std::uint64_t foreground_hash = 1469598103934665603U;  ///< FNV-1a, 64 bit, of all foregrounds, in the order of frames
  friend bool operator==(Summary const&, Summary const&) = default;
};

/// FNV-1a goes on from `hash`.
[[nodiscard]] std::uint64_t hash_on(std::uint64_t hash, std::span<std::uint8_t const> bytes);

}  // namespace background_extraction
