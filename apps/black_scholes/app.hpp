// The Black-Scholes pipelines as the program hiway knows them.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace black_scholes {

std::unique_ptr<cli::App> make_app();

}  // namespace black_scholes
