// The evolutionary program as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace evolutionary_program {

std::unique_ptr<cli::App> make_app();

}  // namespace evolutionary_program
