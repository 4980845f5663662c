// Proofs about a model under symbolic capacities: no task waits for itself, nothing starves, what stays finds its place.
//
//   P1  each task has a time: a list of polynomials in its loops' variables and the parameters, one for its statement
//   P2  a task that must run before another: their times' first entries differ by 0 or more; where by 1 or more is not
//       proven, the second entries, and so on
//   P3  hence no cycle: around it the first entries' differences, all 0 or more, are 0 in sum, so all are 0; by P2 all
//       second entries' then are 0 or more, and so on to an entry where one is 1 or more
//
// Times are found by cuts: any values for their coefficients; what has no proof then says why (Handelman::refutation), and
// the next values heed it. No values left: no times of this degree with proofs of this degree.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/plan/handelman.hpp"
#include "lib/plan/model.hpp"

namespace hiway::plan {

/// `later`, whose variables are its own, waits for `earlier`, whose are the second's.
struct Need {
  std::string what;       ///< "flow", "room", "process", "writers", "readers"
  std::size_t later = 0;  ///< statements
  std::size_t earlier = 0;
  std::size_t later_window = 0;  ///< flow, room, writers, readers: of the statements' windows
  std::size_t earlier_window = 0;
  std::size_t order = 0;  ///< process, writers, readers: of orders()
  /// From equalities: each variable stands for a polynomial in those that are left.
  std::vector<std::pair<Variable, Polynomial>> replaced{};
  std::vector<Polynomial> given{};  ///< all at least 0: they and `replaced` say when it waits
  /// Of the times' difference, less 1 for the last one, entry by entry. Or, where `empty`: that it never waits.
  std::vector<Proof> proofs{};
  bool empty = false;
};

struct Fact {
  std::string what;
  std::vector<Polynomial> given{};
  Polynomial at_least_0{};
  Proof proof{};
};

struct Proven {
  std::vector<Polynomial> bound;               ///< one for each stream
  std::vector<std::vector<Polynomial>> times;  ///< one list for each statement
  std::vector<Need> needs;
  std::vector<Fact> facts;
};

/// What the model asks of capacities, or what has no proof, in one line.
struct Attempt {
  std::optional<Proven> proven{};
  std::string why{};
  bool gave_up = false;  ///< at the limit of work
};
[[nodiscard]] Attempt prove(Program const& program, Model const& model, std::vector<Polynomial> const& bound,
                            std::size_t degree);

}  // namespace hiway::plan
