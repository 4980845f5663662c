// Json: a JSON text as a tree in which every value has its line and column, which messages name; the usual libraries do
// not keep them (docs/adr/0015). It is for what users write: planner programs and movement tables.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiway/error.hpp"

namespace hiway {

struct JsonMember;

struct Json {
  enum class Kind { null, boolean, integer, fraction, text, list, object };
  Kind kind = Kind::null;
  TextPlace place;
  bool boolean = false;             ///< boolean
  std::int64_t integer = 0;         ///< integer
  double number = 0;                ///< integer or fraction
  std::string text;                 ///< text
  std::vector<Json> items;          ///< list
  std::vector<JsonMember> members;  ///< object, each key once
};
struct JsonMember {
  std::string key;
  TextPlace place;
  Json value;
};

/// "a list", for messages.
[[nodiscard]] char const* name_of(Json::Kind kind);

/// Throws ConfigError, in one line: "line 3, column 7: /body/0: what". The place is left out for a value built in C++,
/// and the pointer if it is empty.
[[noreturn]] void fail_at(TextPlace place, std::string const& pointer, std::string const& what);

/// *Throws* ConfigError with the place if the text is not JSON.
[[nodiscard]] Json parse_json(std::string_view text);

/// *Throws* ConfigError if the value, at `pointer`, is of another kind.
void require(Json const& value, Json::Kind kind, std::string const& pointer);

/// The members of an object, looked up by key. A key that is not in `known` is an error; "comment" is always allowed.
/// All functions *throw* ConfigError with place and pointer. *Lifetime*: not longer than the value's.
class JsonObject {
 public:
  JsonObject(Json const& value, std::string pointer, std::initializer_list<std::string_view> known);

  [[nodiscard]] Json const* find(std::string_view key) const;
  [[nodiscard]] Json const& get(std::string_view key) const;
  [[nodiscard]] std::string pointer(std::string_view key) const { return pointer_ + "/" + std::string{key}; }
  [[nodiscard]] TextPlace place() const { return value_.place; }
  /// A text that is not empty and has no control characters.
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  /// An integer or a fraction.
  [[nodiscard]] double number(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const;
  /// The choice whose name is the text.
  template <class Choice, class Names = std::initializer_list<std::pair<char const*, Choice>>>
  [[nodiscard]] Choice choice(std::string_view key, Names const& names) const {
    std::string const given = text(key);
    std::string all;
    for (auto const& [name, choice] : names) {
      if (given == name) return choice;
      all += (all.empty() ? "'" : "' or '") + std::string{name};
    }
    fail_at(get(key).place, pointer(key), all + "' is needed, not '" + given + "'");
  }

 private:
  Json const& value_;
  std::string pointer_;
};

/// The results of `read(item, its pointer)` for each item of a list.
template <class Read>
auto read_list(Json const& list, std::string const& pointer, Read read) {
  require(list, Json::Kind::list, pointer);
  std::vector<decltype(read(list, pointer))> all;
  for (Json const& item : list.items) all.push_back(read(item, pointer + "/" + std::to_string(all.size())));
  return all;
}

}  // namespace hiway
