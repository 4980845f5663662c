// Proofs about a model under symbolic capacities: no task waits for itself, nothing starves, leftovers have room.
//
//   P1  each task has a time: a list of polynomials in its loops' variables and the parameters, one for its statement
//   P2  if a task must run before another, the first entries of their times differ by 0 or more. Where 1 or more is not
//       proven, the second entries differ by 0 or more, and so on
//   P3  hence there is no cycle. Around a cycle the differences of first entries, all 0 or more, sum up to 0, so all
//       are 0. By P2 all differences of second entries then are 0 or more, and so on to an entry where one is 1 or more
//
// Times are found by cuts. The coefficients start with any values. A need that has no proof with these says why
// (Handelman::refutation), and the next values heed that. When no values are left, there are no times of this degree
// with proofs of this degree.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/plan/handelman.hpp"
#include "lib/plan/model.hpp"

namespace hiway::plan {

/// `later` waits for `earlier`. The variables of `earlier` are those of the second task.
struct Need {
  std::string what;       ///< "flow", "room", "process", "writers", "readers"
  std::size_t later = 0;  ///< statements
  std::size_t earlier = 0;
  std::size_t later_window = 0;  ///< flow, room, writers, readers: of the statements' windows
  std::size_t earlier_window = 0;
  std::size_t order = 0;  ///< process, writers, readers: of orders()
  /// From equalities: each of these variables is replaced by a polynomial in those that are left.
  std::vector<std::pair<Variable, Polynomial>> replaced{};
  std::vector<Polynomial> given{};  ///< all at least 0; with `replaced` they say when it waits
  /// Entry by entry, that the times' difference is at least 0, and for the last entry at least 1. If `empty`: one
  /// proof, that it never waits.
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

/// What was proven, or in one line what has no proof.
struct Attempt {
  std::optional<Proven> proven{};
  std::string why{};
  bool gave_up = false;  ///< at the limit of work
};
[[nodiscard]] Attempt prove(Program const& program, Model const& model, std::vector<Polynomial> const& bound,
                            std::size_t degree);

}  // namespace hiway::plan
