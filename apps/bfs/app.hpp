// The breadth-first search as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace bfs {

std::unique_ptr<cli::App> make_app();

}  // namespace bfs
