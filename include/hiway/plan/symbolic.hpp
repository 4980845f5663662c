// Symbolic plans: capacities as expressions in parameters, proven for all values of these. docs/planner.md says how.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hiway/plan/program.hpp"

namespace hiway::plan {

enum class Outcome {
  proven,     ///< the bound suffices for all values, and the certificate has been checked
  disproven,  ///< the bound does not suffice for some values
  unknown     ///< neither; this says nothing against the bound
};
[[nodiscard]] char const* name_of(Outcome outcome);

struct SymbolicOptions {
  std::vector<std::string> symbols{};  ///< the parameters that take all values; at least one, at most three
  Parameters params{};                 ///< values of the other parameters, instead of the program's own
  int degree = 2;                      ///< degree of times, products and bounds: 1 to 3
  /// Capacities to prove, by the streams' names; guessed if there are none.
  std::map<std::string, std::string> bound{};
};

struct SymbolicPlan {
  Outcome outcome = Outcome::unknown;
  std::vector<std::string> streams{};  ///< the names, in the program's order
  /// One expression per stream. Empty if none was guessed.
  std::vector<std::string> bound{};
  std::int64_t least = 0;     ///< proven if every symbol is at least this
  std::string range{};        ///< proven: "N >= 1"; disproven: the values tried, "N=2, N=3"
  std::string why{};          ///< one line
  std::string certificate{};  ///< proven: JSON, for docs/planner.md's checker
};

/// *Throws* ConfigError if the program or an option is wrong, or an index is not affine.
[[nodiscard]] SymbolicPlan make_symbolic_plan(Program const& program, SymbolicOptions const& options);

}  // namespace hiway::plan
