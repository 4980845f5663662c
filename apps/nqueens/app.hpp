// The n queens as the program hiway knows them.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace nqueens {

std::unique_ptr<cli::App> make_app();

}  // namespace nqueens
