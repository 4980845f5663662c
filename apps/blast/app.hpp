// BLAST as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace blast {

std::unique_ptr<cli::App> make_app();

}  // namespace blast
