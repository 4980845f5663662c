#include "residency.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace hiway {

std::vector<std::size_t> start_order(std::vector<ResidentKernel> kernels) {
  std::ranges::sort(kernels, {}, [](ResidentKernel const& k) { return std::pair(k.blocks_per_processor, k.kernel); });
  std::vector<std::size_t> order;
  for (ResidentKernel const& k : kernels) order.push_back(k.kernel);
  return order;
}

std::vector<std::string> find_too_many(std::vector<ResidentKernel> const& kernels,
                                       std::vector<unsigned> const& processors) {
  std::vector<std::string> found;
  for (std::size_t d = 0; d < processors.size(); ++d) {
    std::uint64_t needed = 1;  // the device monitor's
    std::string parts;
    for (ResidentKernel const& k : kernels) {
      if (k.home != own_device + d) continue;
      std::uint64_t const own = (std::uint64_t{k.blocks} + k.blocks_per_processor - 1) / k.blocks_per_processor;
      needed += own;
      parts += (parts.empty() ? "'" : ", '") + k.name + "' " + std::to_string(k.blocks) + " blocks on " +
               std::to_string(own);
    }
    if (parts.empty() || needed <= processors[d]) continue;
    found.push_back("the persistent stages do not fit the device at once: they need " + std::to_string(needed) +
                    " processors of " + std::to_string(processors[d]) + " (" + parts +
                    ", monitor on 1); use fewer or smaller blocks");
  }
  return found;
}

}  // namespace hiway
