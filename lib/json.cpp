#include "lib/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

namespace hiway {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
  }

  Json whole() {
    Json value = parse_value(0);
    skip_blanks();
    if (at_ < text_.size()) fail("nothing may follow the value");
    return value;
  }

 private:
  static constexpr int deepest = 200;

  [[noreturn]] void fail(std::string const& what) const { fail_at(place(), "", "not JSON: " + what); }

  [[nodiscard]] TextPlace place() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] bool ends() const { return at_ == text_.size(); }

  void skip_blanks() {
    for (; !ends(); ++at_) {
      char const c = text_[at_];
      if (c == '\n' || (c == '\r' && text_.substr(at_ + 1, 1) != "\n")) {
        ++line_;
        line_start_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }
  /// The next character that is not blank. Fails with `what` if it is none of `wanted`.
  char next_of(std::string_view wanted, char const* what) {
    skip_blanks();
    if (ends() || wanted.find(peek()) == std::string_view::npos) fail(what);
    return text_[at_++];
  }

  Json parse_value(int depth) {
    skip_blanks();
    Json value;
    value.place = place();
    if (depth > deepest) fail("nested more than 200 deep");
    switch (peek()) {
      case '{': parse_object(value, depth); break;
      case '[': parse_list(value, depth); break;
      case '"':
        value.kind = Json::Kind::text;
        value.text = parse_text();
        break;
      case 't': parse_word("true", value, Json::Kind::boolean); break;
      case 'f': parse_word("false", value, Json::Kind::boolean); break;
      case 'n': parse_word("null", value, Json::Kind::null); break;
      default: parse_number(value);
    }
    return value;
  }
  void parse_object(Json& value, int depth) {
    value.kind = Json::Kind::object;
    ++at_;
    skip_blanks();
    if (peek() == '}') {
      ++at_;
      return;
    }
    std::set<std::string> keys;
    do {
      skip_blanks();
      JsonMember member;
      member.place = place();
      if (peek() != '"') fail("a key in quotes is needed");
      member.key = parse_text();
      if (!keys.insert(member.key).second) fail_at(member.place, "", "the key '" + member.key + "' is there twice");
      next_of(":", "':' is needed after a key");
      member.value = parse_value(depth + 1);
      value.members.push_back(std::move(member));
    } while (next_of(",}", "',' or '}' is needed") == ',');
  }
  void parse_list(Json& value, int depth) {
    value.kind = Json::Kind::list;
    ++at_;
    skip_blanks();
    if (peek() == ']') {
      ++at_;
      return;
    }
    do {
      value.items.push_back(parse_value(depth + 1));
    } while (next_of(",]", "',' or ']' is needed") == ',');
  }
  void parse_word(std::string_view word, Json& value, Json::Kind kind) {
    if (text_.substr(at_, word.size()) != word) fail("a value is needed");
    at_ += word.size();
    value.kind = kind;
    value.boolean = word == "true";
  }
  void parse_number(Json& value) {
    std::size_t end = at_;
    while (end < text_.size() && std::string_view{"+-.0123456789eE"}.find(text_[end]) != std::string_view::npos) ++end;
    std::string_view const digits = text_.substr(at_, end - at_);
    if (digits.empty()) fail(ends() ? "the text ends too early" : "a value is needed");
    char const* const last = digits.data() + digits.size();
    std::size_t const lead = digits[0] == '-' ? 1 : 0;
    if (digits.size() > lead + 1 && digits[lead] == '0' && digits[lead + 1] >= '0' && digits[lead + 1] <= '9')
      fail("a number with a leading 0");
    auto const [stop, error] = std::from_chars(digits.data(), last, value.integer);
    value.kind = Json::Kind::integer;
    if (error != std::errc{} || stop != last) {
      value.kind = Json::Kind::fraction;
    }
    auto const [double_stop, double_error] = std::from_chars(digits.data(), last, value.number);
    if (double_error == std::errc::invalid_argument || double_stop != last) fail("no number");
    if (double_error != std::errc{}) value.number = std::numeric_limits<double>::quiet_NaN();
    at_ = end;
  }

  std::string parse_text() {
    std::string out;
    ++at_;
    for (;;) {
      if (ends()) fail("the text ends within quotes");
      char const c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) fail("a line break or control character within quotes");
      ++at_;
      if (c == '"') return out;
      if (c == '\\') {
        parse_escape(out);
      } else {
        out += c;
      }
    }
  }
  void parse_escape(std::string& out) {
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    char const c = peek();
    if (std::size_t const i = names.find(c); !ends() && i != std::string_view::npos) {
      out += meant[i];
      ++at_;
    } else if (c == 'u') {
      ++at_;
      std::uint32_t code = parse_hex();
      if (code >= 0xd800 && code < 0xe000) {
        bool const is_first = code < 0xdc00 && text_.substr(at_, 2) == "\\u";
        at_ += is_first ? 2 : 0;
        std::uint32_t const other = is_first ? parse_hex() : 0;
        if (other < 0xdc00 || other >= 0xe000) fail("half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (other - 0xdc00);
      }
      append_utf8(out, code);
    } else {
      fail("no such escape");
    }
  }
  std::uint32_t parse_hex() {
    std::uint32_t code = 0;
    std::string_view const digits = text_.substr(at_, 4);
    auto const [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc{} || stop != digits.data() + 4) fail("four hexadecimal digits are needed");
    at_ += 4;
    return code;
  }
  static void append_utf8(std::string& out, std::uint32_t code) {
    auto const byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
    if (code < 0x80) {
      byte(code);
    } else if (code < 0x800) {
      byte(0xc0 | code >> 6);
      byte(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      byte(0xe0 | code >> 12);
      byte(0x80 | (code >> 6 & 0x3f));
      byte(0x80 | (code & 0x3f));
    } else {
      byte(0xf0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3f));
      byte(0x80 | (code >> 6 & 0x3f));
      byte(0x80 | (code & 0x3f));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace

char const* name_of(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::null: return "null";
    case Json::Kind::boolean: return "true or false";
    case Json::Kind::integer: return "an integer";
    case Json::Kind::fraction: return "a number that is no integer of 64 bits";
    case Json::Kind::text: return "a text";
    case Json::Kind::list: return "a list";
    case Json::Kind::object: return "an object";
  }
  return "?";
}

void fail_at(TextPlace place, std::string const& pointer, std::string const& what) {
  std::string line;
  if (place.line > 0) line = "line " + std::to_string(place.line) + ", column " + std::to_string(place.column) + ": ";
  if (!pointer.empty()) line += pointer + ": ";
  line += what;
  // Escapes can put line breaks into keys and texts.
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20; }, '?');
  throw ConfigError{line};
}

Json parse_json(std::string_view text) { return Parser(text).whole(); }

void require(Json const& value, Json::Kind kind, std::string const& pointer) {
  if (value.kind != kind)
    fail_at(value.place, pointer, std::string{name_of(kind)} + " is needed, not " + name_of(value.kind));
}

JsonObject::JsonObject(Json const& value, std::string pointer, std::initializer_list<std::string_view> known)
    : value_(value), pointer_(std::move(pointer)) {
  require(value, Json::Kind::object, pointer_);
  for (JsonMember const& member : value.members) {
    if (member.key == "comment" || std::ranges::find(known, member.key) != known.end()) continue;
    std::string keys;
    for (std::string_view key : known) keys += (keys.empty() ? "" : ", ") + std::string{key};
    fail_at(member.place, pointer_, "no key '" + member.key + "' here: " + keys);
  }
}

Json const* JsonObject::find(std::string_view key) const {
  auto const at = std::ranges::find(value_.members, key, &JsonMember::key);
  return at == value_.members.end() ? nullptr : &at->value;
}

Json const& JsonObject::get(std::string_view key) const {
  Json const* const value = find(key);
  if (!value) fail_at(value_.place, pointer_, "'" + std::string{key} + "' is missing");
  return *value;
}

std::string JsonObject::text(std::string_view key) const {
  require(get(key), Json::Kind::text, pointer(key));
  std::string const& text = get(key).text;
  if (text.empty()) fail_at(get(key).place, pointer(key), "a name is empty");
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20; }))
    fail_at(get(key).place, pointer(key), "a control character in a name");
  return text;
}

std::int64_t JsonObject::integer(std::string_view key) const {
  require(get(key), Json::Kind::integer, pointer(key));
  return get(key).integer;
}

double JsonObject::number(std::string_view key) const {
  Json const& value = get(key);
  if (value.kind != Json::Kind::fraction) require(value, Json::Kind::integer, pointer(key));
  if (std::isnan(value.number)) fail_at(value.place, pointer(key), "no double holds this number");
  return value.number;
}

bool JsonObject::boolean(std::string_view key) const {
  require(get(key), Json::Kind::boolean, pointer(key));
  return get(key).boolean;
}

}  // namespace hiway
