// Region sums as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace region_sum {

std::unique_ptr<cli::App> make_app();

}  // namespace region_sum
