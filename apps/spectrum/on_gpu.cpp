#include "spectrum/on_gpu.hpp"

namespace spectrum {

OnGpu& on_gpu() noexcept {
  static OnGpu all;
  return all;
}

}  // namespace spectrum
