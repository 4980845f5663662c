// The stream of a batch stage on a GPU.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "hiway/batch_stream.hpp"
#include "lib/backend/cuda_gpu.hpp"

namespace hiway {

/// `title`: of the stage. *Throws* CudaError.
[[nodiscard]] std::unique_ptr<BatchStream> make_gpu_batch_stream(Gpu gpu, std::string title, std::size_t batches);

}  // namespace hiway
