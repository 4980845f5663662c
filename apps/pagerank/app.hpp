// PageRank as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace pagerank {

std::unique_ptr<cli::App> make_app();

}  // namespace pagerank
