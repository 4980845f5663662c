// Model: a program whose parameters stay symbols. Statements are the tasks of the program's text, split until every
// window is one polynomial. A task is a point of its statement's domain.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hiway/plan/program.hpp"
#include "lib/plan/domain.hpp"
#include "lib/plan/polynomial.hpp"

namespace hiway::plan {

/// What a task does with one stream. A task may have several reading windows in one stream. They all start at `first`,
/// and the one that reaches farthest counts.
struct Window {
  Access access;       ///< write, or read, for peeks too
  std::size_t stream;  ///< of the program
  std::vector<Polynomial> index;
  Polynomial count;  ///< elements written, or taken off
  Polynomial reach;  ///< of a reader: the elements that it needs
  Polynomial first;
  Polynomial total;  ///< of a reader: all elements that are ever written
};

struct Statement {
  std::string task;
  std::string process{};
  std::size_t position = 0;  ///< in the text, among the tasks
  std::vector<Variable> loops{};
  /// The values of the loops' variables: other than `loops` where a loop has a step.
  std::vector<Polynomial> values{};
  std::vector<Polynomial> domain{};  ///< all are at least 0
  std::vector<Window> windows{};
};

/// What stays in a stream at the end, for each stream of an array.
struct Rest {
  std::size_t stream;
  std::vector<Variable> index{};
  std::vector<Polynomial> domain{};
  Polynomial written{};
  Polynomial read{};
};

/// value = floor(of / by)
struct Floor {
  Variable value;
  Polynomial of;
  Rational by;
};
/// value * by <= of < value * by + by
[[nodiscard]] std::vector<Polynomial> bounds_of(Floor const& floor);

struct SymbolicStream {
  std::vector<Polynomial> dims;
  Polynomial initial;
};

struct Model {
  std::vector<std::string> names;  ///< of variables; the parameters first
  std::vector<Variable> params;    ///< and floors of them
  std::vector<Floor> floors;
  std::vector<Polynomial> domain;  ///< of the parameters
  std::vector<SymbolicStream> streams;
  std::vector<Polynomial> bound;  ///< as it was given, one for each stream; empty if none was
  std::vector<Statement> statements;
  std::vector<Rest> rests;
  /// What a program must meet to have a meaning: no count below 0, every index within its dims.
  struct Need {
    std::string what;
    std::vector<Polynomial> domain;
    Polynomial at_least_0;
  };
  std::vector<Need> needs;
};

struct Symbols {
  std::vector<std::string> names;
  std::int64_t least = 0;  ///< each is at least this
};

/// `values`: of the other parameters. `bound`: capacities by streams' names, or none. *Throws* ConfigError if the
/// program says what no model can express (an index that is not affine), and NoModel.
[[nodiscard]] Model make_model(Program const& program, Parameters const& values, Symbols const& symbols,
                               std::map<std::string, std::string> const& bound, std::size_t degree);

/// Added to a variable, makes it the variable of a second task of the same model.
inline constexpr Variable second = 1'000'000;
/// `p` with all variables but the parameters replaced by the second task's.
[[nodiscard]] Polynomial as_second(Model const& model, Polynomial const& p);
[[nodiscard]] std::vector<Polynomial> as_second(Model const& model, std::vector<Polynomial> const& all);

}  // namespace hiway::plan
