// The rules of a line in their plainest form, and why a line breaks them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "taxi/pair.hpp"

namespace taxi {

struct Fields {
  std::vector<std::string_view> all;  ///< with their quotes
  bool ends_quoted;                   ///< the last quote is not closed
};
/// At the commas that are not between quotes.
Fields split_fields(std::string_view line);

/// A line's pairs; or why it is broken, and none.
struct Trip {
  std::vector<Pair> pairs;
  std::string broken;  ///< empty: it is not
};
Trip read_trip(std::string_view line, std::uint32_t number);

}  // namespace taxi
