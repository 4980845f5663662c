// Windows: where in its stream a task writes and reads, as a polynomial: a sum over all tasks created before it.
#pragma once
#include <vector>

#include "lib/plan/domain.hpp"
#include "lib/plan/model.hpp"

namespace hiway::plan {

/// Sets first and total of all windows, and the rests; splits statements where one polynomial does not do. *Throws*
/// NoModel.
void place_windows(Model& model, std::size_t degree);

/// A way to be created before: these are 0, and those at least 0.
struct Order {
  std::vector<Polynomial> equal;
  std::vector<Polynomial> at_least_0;
};
/// The ways in which `earlier`, as the second, is created before `later`; they share no point.
[[nodiscard]] std::vector<Order> orders(Statement const& later, Statement const& earlier);

}  // namespace hiway::plan
