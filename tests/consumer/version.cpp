// What find_package() found and what the header says are one version.
#include <string_view>

#include <hiway/version.hpp>

static_assert(std::string_view(HIWAY_VERSION_STRING) == FOUND_VERSION);
#if HIWAY_VERSION < 100
#error "this needs hiway 0.1"
#endif
