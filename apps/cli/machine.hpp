// The machine a result was measured on, as far as it matters for reading the result.
#pragma once
#include <string>

#include "cli/app.hpp"

namespace cli {

/// The library's version.
std::string version();

/// {cpu, hardware_threads, available_cpus, system, compiler, hiway, device}: `device` as the library describes it.
Json machine_facts(std::string const& device);

}  // namespace cli
