// Face detection as the program hiway knows it.
#pragma once
#include <memory>

#include "cli/app.hpp"

namespace face_detection {

std::unique_ptr<cli::App> make_app();

}  // namespace face_detection
