// The encryption as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace aes {

std::unique_ptr<cli::App> make_app();

}  // namespace aes
