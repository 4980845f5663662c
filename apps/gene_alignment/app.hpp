// Gene alignment as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace gene_alignment {

std::unique_ptr<cli::App> make_app();

}  // namespace gene_alignment
