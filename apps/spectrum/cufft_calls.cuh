// Errors of cuFFT's calls.
#pragma once
#include <cufft.h>

#include <stdexcept>
#include <string>

namespace spectrum {

/// *Throws* std::runtime_error.
inline void check(cufftResult result, char const* call) {
  if (result != CUFFT_SUCCESS)
    throw std::runtime_error(std::string(call) + " failed: cuFFT's error " + std::to_string(result));
}
#define SPECTRUM_CUFFT(call) ::spectrum::check((call), #call)

}  // namespace spectrum
