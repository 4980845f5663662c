// PipelineConfig as a run uses it: checked, and with what the environment says.
#pragma once
#include <chrono>

#include "hiway/config.hpp"

namespace hiway {

/// *Throws* ConfigError.
void admit(PipelineConfig& config);

/// The value of the environment variable; 0 if it is not set. *Throws* ConfigError: the variable must be `what`.
[[nodiscard]] std::chrono::milliseconds milliseconds_of(char const* variable,
                                                        char const* what = "a number of milliseconds");

}  // namespace hiway
