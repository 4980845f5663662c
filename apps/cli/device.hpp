// The option --device, and the device it chooses.
#pragma once
#include <string>

#include "cli/options.hpp"

namespace cli {

/// *Lifetime*: `command` goes before `device` does.
void add_device_option(Options& command, std::string& device);

/// The device that a name, or auto, stands for; the library knows. *Throws* hiway::NoDevice.
[[nodiscard]] std::string chosen_device(std::string const& wanted);

/// 2 of "cuda:2"; "simt" has 0.
[[nodiscard]] int number_of(std::string const& device);

}  // namespace cli
