#include "fir/methods.hpp"

namespace fir {

RunCuda& cuda_method() noexcept {
  static RunCuda run = nullptr;
  return run;
}

}  // namespace fir
