// The five-point stencil as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace stencil {

std::unique_ptr<cli::App> make_app();

}  // namespace stencil
