// Json: a JSON text as a tree in which every value knows its line and column. The planner's messages name them; the usual
// libraries forget them (docs/adr/0015).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hiway/plan/program.hpp"

namespace hiway::plan {

struct Member;

struct Json {
  enum class Kind { null, boolean, integer, fraction, text, list, object };
  Kind kind = Kind::null;
  Place place;
  std::int64_t integer = 0;     ///< integer
  std::string text;             ///< text
  std::vector<Json> items;      ///< list
  std::vector<Member> members;  ///< object, each key once
};
struct Member {
  std::string key;
  Place place;
  Json value;
};

/// "a list", for messages.
[[nodiscard]] char const* name_of(Json::Kind kind);

/// Throws ConfigError, in one line: "line 3, column 7: /body/0: what". No place for what was built in C++, and no pointer
/// for what has none.
[[noreturn]] void fail_at(Place place, std::string const& pointer, std::string const& what);

/// *Throws* ConfigError with the place where the text is no JSON.
[[nodiscard]] Json parse_json(std::string_view text);

}  // namespace hiway::plan
