// From the JSON tree to a Program. What is wrong with a value is said with its place and its JSON pointer.
#include "hiway/plan/program.hpp"

#include <algorithm>
#include <initializer_list>

#include "lib/plan/json.hpp"

namespace hiway::plan {
namespace {

void require(Json const& value, Json::Kind kind, std::string const& pointer) {
  if (value.kind != kind)
    fail_at(value.place, pointer, std::string{name_of(kind)} + " is needed, not " + name_of(value.kind));
}

/// The members of an object: asked for by key; a key that nobody knows is an error.
class Object {
 public:
  Object(Json const& value, std::string pointer, std::initializer_list<std::string_view> known)
      : value_(value), pointer_(std::move(pointer)) {
    require(value, Json::Kind::object, pointer_);
    for (Member const& member : value.members) {
      if (member.key == "comment" || std::ranges::find(known, member.key) != known.end()) continue;
      std::string keys;
      for (std::string_view key : known) keys += (keys.empty() ? "" : ", ") + std::string{key};
      fail_at(member.place, pointer_, "no key '" + member.key + "' here: " + keys);
    }
  }

  [[nodiscard]] Json const* find(std::string_view key) const {
    auto const at = std::ranges::find(value_.members, key, &Member::key);
    return at == value_.members.end() ? nullptr : &at->value;
  }
  [[nodiscard]] Json const& get(std::string_view key) const {
    Json const* const value = find(key);
    if (!value) fail_at(value_.place, pointer_, "'" + std::string{key} + "' is missing");
    return *value;
  }
  [[nodiscard]] std::string pointer(std::string_view key) const { return pointer_ + "/" + std::string{key}; }
  [[nodiscard]] Place place() const { return value_.place; }

  [[nodiscard]] std::string text(std::string_view key) const {
    require(get(key), Json::Kind::text, pointer(key));
    std::string const& text = get(key).text;
    if (text.empty()) fail_at(get(key).place, pointer(key), "a name is empty");
    if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20; }))
      fail_at(get(key).place, pointer(key), "a control character in a name");
    return text;
  }
  [[nodiscard]] Expression expression(std::string_view key) const { return to_expression(get(key), pointer(key)); }
  [[nodiscard]] Expression expression(std::string_view key, std::int64_t otherwise) const {
    return find(key) ? expression(key) : Expression{otherwise};
  }
  /// One expression, or a list of them.
  [[nodiscard]] std::vector<Expression> expressions(std::string_view key) const {
    Json const* const value = find(key);
    std::vector<Expression> all;
    if (!value) return all;
    if (value->kind != Json::Kind::list) return {to_expression(*value, pointer(key))};
    for (Json const& item : value->items)
      all.push_back(to_expression(item, pointer(key) + "/" + std::to_string(all.size())));
    return all;
  }

 private:
  static Expression to_expression(Json const& value, std::string const& pointer) {
    if (value.kind == Json::Kind::integer) return {std::to_string(value.integer), value.place};
    if (value.kind == Json::Kind::text) return {value.text, value.place};
    fail_at(value.place, pointer,
            std::string{"an integer or a text with an expression is needed, not "} + name_of(value.kind));
  }

  Json const& value_;
  std::string pointer_;
};

template <class Read>
auto read_list(Json const& list, std::string const& pointer, Read read) {
  require(list, Json::Kind::list, pointer);
  std::vector<decltype(read(list, pointer))> all;
  for (Json const& item : list.items) all.push_back(read(item, pointer + "/" + std::to_string(all.size())));
  return all;
}

Stream read_stream(Json const& value, std::string const& pointer) {
  Object const object(value, pointer, {"name", "elem_bytes", "dims", "initial"});
  return {object.text("name"), object.expression("elem_bytes"), object.expressions("dims"),
          object.expression("initial", 0), object.place()};
}

Operation read_operation(Json const& value, std::string const& pointer) {
  Object const object(value, pointer, {"stream", "write", "read", "peek", "horizon", "index"});
  Operation operation;
  operation.place = object.place();
  operation.stream = object.text("stream");
  operation.index = object.expressions("index");
  int accesses = 0;
  for (auto const& [key, access] :
       {std::pair{"write", Access::write}, {"read", Access::read}, {"peek", Access::peek}}) {
    if (!object.find(key)) continue;
    ++accesses;
    operation.access = access;
    operation.count = object.expression(key);
  }
  if (accesses != 1) fail_at(value.place, pointer, "one of 'write', 'read' and 'peek' is needed");
  if (object.find("horizon")) {
    if (operation.access != Access::read) fail_at(value.place, pointer, "only a 'read' has a 'horizon'");
    operation.horizon = object.expression("horizon");
  }
  return operation;
}

Body read_body(Json const& value, std::string const& pointer);

Node read_node(Json const& value, std::string const& pointer) {
  require(value, Json::Kind::object, pointer);
  auto const has = [&](std::string_view key) {
    return std::ranges::find(value.members, key, &Member::key) != value.members.end();
  };
  if (has("task")) {
    Object const object(value, pointer, {"task", "ops", "process", "cost"});
    return {Task{object.text("task"), read_list(object.get("ops"), object.pointer("ops"), read_operation),
                 object.find("process") ? object.text("process") : "", object.expression("cost", 1)},
            value.place};
  }
  if (has("for")) {
    Object const object(value, pointer, {"for", "from", "to", "step", "body"});
    return {For{object.text("for"), object.expression("from"), object.expression("to"),
                read_body(object.get("body"), object.pointer("body")), object.expression("step", 1)},
            value.place};
  }
  if (has("if")) {
    Object const object(value, pointer, {"if", "then", "else"});
    Json const* const otherwise = object.find("else");
    return {If{object.expression("if"), read_body(object.get("then"), object.pointer("then")),
               otherwise ? read_body(*otherwise, object.pointer("else")) : Body{}},
            value.place};
  }
  fail_at(value.place, pointer, "a 'task', a 'for' or an 'if' is needed");
}

Body read_body(Json const& value, std::string const& pointer) { return read_list(value, pointer, read_node); }

/// The one of `names` that the text is.
template <class Choice>
Choice read_choice(Object const& object, std::string_view key,
                   std::initializer_list<std::pair<char const*, Choice>> names) {
  std::string const text = object.text(key);
  std::string all;
  for (auto const& [name, choice] : names) {
    if (text == name) return choice;
    all += (all.empty() ? "'" : "' or '") + std::string{name};
  }
  fail_at(object.get(key).place, object.pointer(key), all + "' is needed, not '" + text + "'");
}

}  // namespace

Program read_program(std::string_view json) {
  Json const root = parse_json(json);
  Object const object(root, "", {"name", "params", "streams", "semantics", "body", "segment"});
  if (Json const* const segment = object.find("segment")) fail_at(segment->place, "/segment", "not there yet");
  Program program;
  if (Json const* const params = object.find("params")) {
    require(*params, Json::Kind::object, "/params");
    for (Member const& member : params->members) {
      require(member.value, Json::Kind::integer, "/params/" + member.key);
      program.params[member.key] = member.value.integer;
    }
  }
  if (Json const* const value = object.find("semantics")) {
    Object const semantics(*value, "/semantics", {"discipline", "leftover"});
    if (semantics.find("discipline"))
      program.discipline = read_choice<Discipline>(semantics, "discipline",
                                                   {{"indexed", Discipline::indexed}, {"fifo", Discipline::fifo}});
    if (semantics.find("leftover"))
      program.leftover =
          read_choice<Leftover>(semantics, "leftover", {{"hold", Leftover::hold}, {"drop", Leftover::drop}});
  }
  program.streams = read_list(object.get("streams"), "/streams", read_stream);
  program.body = read_body(object.get("body"), "/body");
  return program;
}

}  // namespace hiway::plan
