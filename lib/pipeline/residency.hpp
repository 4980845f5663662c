// Whether the persistent kernels of a pipeline fit their devices together. All of a device's must run at once, or the
// pipeline hangs. They start in the order of their blocks' footprint, the largest first, and each is counted with whole
// processors, so that a placement exists. Pure functions of numbers.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "hiway/machine/machine.hpp"
#include "lib/word_copies.hpp"

namespace hiway {

/// A kernel that is to be resident.
struct ResidentKernel {
  std::size_t kernel = 0;  ///< its index among all
  std::string name;
  Home home = own_device;
  unsigned blocks = 1;
  unsigned blocks_per_processor = 1;
};

/// The kernels' indices, in the order in which they start.
[[nodiscard]] std::vector<std::size_t> start_order(std::vector<ResidentKernel> kernels);

/// For each device whose kernels do not fit, with one processor for the monitor: a sentence. `processors`: of each
/// device, the pipeline's own first.
[[nodiscard]] std::vector<std::string> find_too_many(std::vector<ResidentKernel> const& kernels,
                                                     std::vector<unsigned> const& processors);

}  // namespace hiway
