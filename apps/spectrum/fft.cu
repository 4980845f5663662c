// The transform of method hiway, by cuFFT.
#include <memory>
#include <utility>

#include "cli/cuda_calls.cuh"
#include "spectrum/cufft_calls.cuh"
#include "spectrum/on_gpu.hpp"

namespace spectrum {
namespace {

class Plan {
 public:
  explicit Plan(std::size_t packets) {
    int size = channels;
    int apart = sizeof(Spectrum) / sizeof(Complex);
    SPECTRUM_CUFFT(
        cufftPlanMany(&plan_, 1, &size, &size, 1, apart, &size, 1, apart, CUFFT_C2C, static_cast<int>(packets)));
  }
  ~Plan() { cufftDestroy(plan_); }
  Plan(Plan const&) = delete;
  Plan& operator=(Plan const&) = delete;

  void give(Spectrum* spectra, cudaStream_t stream) const {
    SPECTRUM_CUFFT(cufftSetStream(plan_, stream));
    auto* const values = reinterpret_cast<cufftComplex*>(spectra);
    SPECTRUM_CUFFT(cufftExecC2C(plan_, values, values, CUFFT_FORWARD));
  }

 private:
  cufftHandle plan_{};
};
static_assert(sizeof(Spectrum) % sizeof(Complex) == 0);

Transform make(std::size_t packets, int device) {
  CLI_CUDA(cudaSetDevice(device));
  return
      [plan = std::make_shared<Plan>(packets)](Spectrum* spectra, cudaStream_t stream) { plan->give(spectra, stream); };
}

bool const known = (on_gpu().plan = make) != nullptr;

}  // namespace
}  // namespace spectrum
