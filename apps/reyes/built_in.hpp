// What travels in the program.
#pragma once

namespace reyes {

extern char const* const teapot_bez;

}  // namespace reyes
