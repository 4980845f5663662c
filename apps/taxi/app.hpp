// Taxi as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace taxi {

std::unique_ptr<cli::App> make_app();

}  // namespace taxi
