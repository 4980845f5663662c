// Input: files that are read whole, as bytes; those of text: text.hpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cli {

/// All bytes of a file. `check_begin` is given its first ones (up to 256 KiB), before the others are read, and throws
/// where they are no such file's: what never ends is not read to `most_bytes`.
/// *Throws* BadInput in one line with the path: it cannot be opened or read, is empty, or has more than `most_bytes`.
std::vector<std::uint8_t> read_whole(std::string const& path, std::size_t most_bytes,
                                     std::function<void(std::span<std::uint8_t const>)> const& check_begin);

}  // namespace cli
