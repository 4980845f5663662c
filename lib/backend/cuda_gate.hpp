// Where streams of a GPU wait for what the host decides.
#pragma once
#include <memory>

#include "hiway/backend.hpp"

namespace hiway {

/// *Throws* CudaError.
[[nodiscard]] std::unique_ptr<StreamGate> make_gpu_gate();

}  // namespace hiway
