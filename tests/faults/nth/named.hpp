// What an error of a run must say when something that the run asked for was not to be had.
#pragma once
#include <string>

namespace hiway_tests::nth {

/// In one line, which part of the run it was.
inline bool names_something(std::string const& text) {
  if (text.empty() || text == "std::bad_alloc" || text.find('\n') != std::string::npos) return false;
  for (char const* name : {"stage", "group", "the run", "tunnel", "device", "monitor", "copy stream", "copy", "trace",
                           "buffer", "the deadline", "peeks", "streams"}) {
    if (text.find(name) != std::string::npos) return true;
  }
  return false;
}

}  // namespace hiway_tests::nth
