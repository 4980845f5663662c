// Tasks: a program with its loops run and its expressions evaluated. Everything after this works on numbers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hiway/plan/program.hpp"

namespace hiway::plan {

/// Larger programs are refused.
inline constexpr std::int64_t max_tasks = 4'000'000;
inline constexpr std::int64_t max_elements = std::int64_t{1} << 40;  // of one stream

/// A task writes elements first to first + count - 1 of a stream.
struct Write {
  std::uint32_t task;
  std::int64_t first;
  std::int64_t count;
  [[nodiscard]] std::int64_t last() const { return first + count - 1; }
};
/// A task needs elements first to first + reach - 1 of a stream, and takes `count` of them off it (0: it peeks).
struct Read {
  std::uint32_t task;
  std::int64_t first;
  std::int64_t count;
  std::int64_t reach;
  [[nodiscard]] std::int64_t last() const { return first + reach - 1; }
};

/// One stream, or one stream of an array. Windows are in the order in which their tasks are created. There is at most
/// one write and one read of each task, none is empty, and their `first` never decreases.
struct Channel {
  std::uint32_t stream = 0;  ///< index into Program::streams, whose capacity it has
  std::string name;          ///< "s", or "s[2,3]"
  std::int64_t initial = 0;
  std::int64_t written = 0;  ///< by all tasks, plus initial
  std::int64_t read = 0;     ///< by all tasks
  std::vector<Write> writes{};
  std::vector<Read> reads{};
};

/// A task of the program's text; its tasks differ in the loop variables' values.
struct Definition {
  std::string name;
  std::vector<std::string> variables;
};

constexpr std::uint32_t no_process = ~std::uint32_t{0};

struct Tasks {
  Parameters params;
  std::vector<Definition> definitions;
  std::vector<std::string> processes;
  std::vector<Channel> channels;

  // One a task, in the order in which they are created.
  std::vector<std::uint32_t> definition;
  std::vector<std::uint32_t> process;
  std::vector<std::int64_t> cost;
  std::vector<std::uint64_t> first_value;  ///< index into values: as many as its definition has variables
  std::vector<std::int64_t> values;

  // One a stream of the program.
  std::vector<std::int64_t> elem_bytes;
  std::vector<std::int64_t> channels_of;  ///< how many channels share its capacity

  [[nodiscard]] std::size_t size() const { return definition.size(); }
  /// "t", or "t(i=2,k=3)".
  [[nodiscard]] std::string label(std::uint32_t task) const;
};

/// Runs the program's loops; `params` override its own. *Throws* ConfigError with the place.
[[nodiscard]] Tasks expand(Program const& program, Parameters const& params);

}  // namespace hiway::plan
