// The stream of copies of a GPU.
#pragma once
#include <memory>

#include "hiway/backend.hpp"
#include "lib/backend/cuda_gpu.hpp"

namespace hiway {

[[nodiscard]] std::unique_ptr<CopyStream> make_gpu_copies(Gpu gpu);

}  // namespace hiway
