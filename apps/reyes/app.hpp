#pragma once
#include <memory>

#include "cli/app.hpp"

namespace reyes {

std::unique_ptr<cli::App> make_app();

}  // namespace reyes
