// Reads a Program from the JSON tree. An error about a value names its place and its JSON pointer.
#include "hiway/plan/program.hpp"

#include <algorithm>

#include "lib/json.hpp"

namespace hiway::plan {
namespace {

/// An object that may have expressions.
class Object : public JsonObject {
 public:
  using JsonObject::JsonObject;

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
};

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
    return std::ranges::find(value.members, key, &JsonMember::key) != value.members.end();
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

}  // namespace

Program read_program(std::string_view json) {
  Json const root = parse_json(json);
  Object const object(root, "", {"name", "params", "streams", "semantics", "body", "segment"});
  if (Json const* const segment = object.find("segment"))
    fail_at(segment->place, "/segment", "a segment stands in a file of its own");
  Program program;
  if (Json const* const params = object.find("params")) {
    require(*params, Json::Kind::object, "/params");
    for (JsonMember const& member : params->members) {
      require(member.value, Json::Kind::integer, "/params/" + member.key);
      program.params[member.key] = member.value.integer;
    }
  }
  if (Json const* const value = object.find("semantics")) {
    Object const semantics(*value, "/semantics", {"discipline", "leftover"});
    if (semantics.find("discipline"))
      program.discipline =
          semantics.choice<Discipline>("discipline", {{"indexed", Discipline::indexed}, {"fifo", Discipline::fifo}});
    if (semantics.find("leftover"))
      program.leftover = semantics.choice<Leftover>("leftover", {{"hold", Leftover::hold}, {"drop", Leftover::drop}});
  }
  program.streams = read_list(object.get("streams"), "/streams", read_stream);
  program.body = read_body(object.get("body"), "/body");
  return program;
}

}  // namespace hiway::plan
