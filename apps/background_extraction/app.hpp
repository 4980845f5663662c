// Background extraction as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace background_extraction {

std::unique_ptr<cli::App> make_app();

}  // namespace background_extraction
