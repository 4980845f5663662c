// Introduction: what a node tells the others of itself, by Meeting::exchange, before they can put into its memory.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "lib/nodes/channel.hpp"

namespace hiway::detail::nodes {

struct Introduction {
  struct Region {
    std::uint64_t address = 0;  ///< in that node's memory
    std::uint64_t bytes = 0;
    Bytes key;
  };

  Bytes worker;  ///< its address
  std::vector<Region> regions;
};

[[nodiscard]] Bytes bytes_of(Introduction const& introduction);
/// *Throws* Error that names the node if the bytes are no introduction.
[[nodiscard]] Introduction introduction_of(std::span<std::byte const> bytes, int node);

}  // namespace hiway::detail::nodes
