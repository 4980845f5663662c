// K-means as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace kmeans {

std::unique_ptr<cli::App> make_app();

}  // namespace kmeans
