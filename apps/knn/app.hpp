// Nearest neighbours as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace knn {

std::unique_ptr<cli::App> make_app();

}  // namespace knn
