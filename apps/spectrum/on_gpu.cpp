#include "spectrum/on_gpu.hpp"

namespace spectrum {

int device_number(std::string const& device) { return std::stoi(device.substr(device.find(':') + 1)); }

OnGpu& on_gpu() noexcept {
  static OnGpu all;
  return all;
}

}  // namespace spectrum
