// Program: tasks and the streams between them, as the planner reads them. Plain data, from JSON or built in C++.
// docs/planner.md describes the format and its meaning.
#pragma once
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hiway/error.hpp"

namespace hiway::plan {

using Place = TextPlace;

/// An integer, or text with integers, parameters, loop variables, + - * / (floor) %, comparisons, and, or, not. The
/// text is read when the program is expanded.
struct Expression {
  template <std::integral Value>
  Expression(Value value) : text(std::to_string(value)) {}
  Expression(char const* expression) : text(expression) {}
  Expression(std::string expression, Place at = {}) : text(std::move(expression)), place(at) {}

  std::string text;
  Place place;
};

struct Stream {
  std::string name;
  Expression elem_bytes = 1;
  std::vector<Expression> dims{};  ///< an array of streams that all have the same capacity
  Expression initial = 0;          ///< elements in each stream of the array at the start
  Place place{};
};

enum class Access { write, read, peek };

/// What a task does with one stream.
struct Operation {
  Access access = Access::write;
  std::string stream;
  Expression count = 0;                 ///< elements written, read, or (peek) looked at and left in the stream
  std::vector<Expression> index{};      ///< which stream of an array: one for each of its dims
  std::optional<Expression> horizon{};  ///< read: elements looked at, from the first one read on; default: count
  Place place{};
};

inline Operation write(std::string stream, Expression count, std::vector<Expression> index = {}) {
  return {Access::write, std::move(stream), std::move(count), std::move(index)};
}
inline Operation read(std::string stream, Expression count, std::vector<Expression> index = {}) {
  return {Access::read, std::move(stream), std::move(count), std::move(index)};
}
inline Operation peek(std::string stream, Expression count, std::vector<Expression> index = {}) {
  return {Access::peek, std::move(stream), std::move(count), std::move(index)};
}

struct Node;
/// Tasks, loops and branches, created in this order.
using Body = std::vector<Node>;

/// A task. Its operations on one stream act as one: counts add up, and it looks as far as the farthest of them.
struct Task {
  std::string name;
  std::vector<Operation> operations;
  std::string process{};  ///< tasks of one process run in the order in which they are created; "": no process
  Expression cost = 1;    ///< time that the task takes
};
struct For {
  std::string variable;
  Expression from;
  Expression to;  ///< exclusive
  Body body;
  Expression step = 1;
};
struct If {
  Expression condition;
  Body then;
  Body otherwise;
};
struct Node {
  std::variant<Task, For, If> is;
  Place place{};
};

/// fifo: a stream's writers run in the order in which they are created, and so do its readers.
enum class Discipline { indexed, fifo };
/// hold: elements that no task reads keep their places. drop: they need no place.
enum class Leftover { hold, drop };

using Parameters = std::map<std::string, std::int64_t>;

struct Program {
  Parameters params{};
  std::vector<Stream> streams;
  Body body;
  Discipline discipline = Discipline::indexed;
  Leftover leftover = Leftover::hold;
};

/// Reads the JSON input. *Throws* ConfigError, whose text is one line with the place in `json`.
[[nodiscard]] Program read_program(std::string_view json);

}  // namespace hiway::plan
