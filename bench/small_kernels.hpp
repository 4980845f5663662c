// A batch stage whose body gives the stream a chain of small kernels: as launches, or captured as a graph.
#pragma once
#include <string>

#include "bench/bench.hpp"

namespace bench {

constexpr unsigned chain_kernels = 10;  ///< of a body, each of which works on what the one before has made
constexpr unsigned chain_items = 1024;  ///< of a batch

/// So many batches through the stage; batches a second.
[[nodiscard]] Turn small_kernels(std::string const& device, unsigned batches, bool capture);

}  // namespace bench
