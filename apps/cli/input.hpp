// Input: files that are read whole.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cli {

/// All bytes of a file. *Throws* BadInput in one line with the path: it cannot be opened or read, is empty, or has more than
/// `most_bytes`.
std::vector<std::uint8_t> read_whole(std::string const& path, std::size_t most_bytes);

}  // namespace cli
