#include "bench/device_numbers.hpp"

#include <algorithm>
#include <cstdlib>
#include <hiway/backend.hpp>

namespace bench {

std::string name_of(std::string const& device, int number) {
  return std::string(device == "simt" ? "simt:" : "cuda:").append(std::to_string(number));
}

std::vector<int> other_devices(std::string const& device) {
  if (device == "simt") return {1, 2, 3};
  std::vector<int> others;
  for (hiway::DeviceInfo const& info : hiway::devices()) {
    if (info.usable && info.name.starts_with("cuda:") && info.name != device) others.push_back(number_of(info.name));
  }
  return others;
}

int parts_of_gpu() {
  char const* const parts = std::getenv("HIWAY_GPU_PARTS");
  return parts == nullptr ? 1 : std::max(1, std::atoi(parts));
}

}  // namespace bench
