// The binary search tree as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace bst {

std::unique_ptr<cli::App> make_app();

}  // namespace bst
