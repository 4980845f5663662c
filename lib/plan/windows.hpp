// Windows: where in a stream a task writes and reads, as a polynomial. It is a sum over all tasks created before.
#pragma once
#include <vector>

#include "lib/plan/domain.hpp"
#include "lib/plan/model.hpp"

namespace hiway::plan {

/// Sets `first` and `total` of all windows, and the rests. Splits statements where one polynomial is not enough.
/// *Throws* NoModel.
void place_windows(Model& model, std::size_t degree);

/// A way in which a task is created before another: all of `equal` are 0, and all of `at_least_0` are at least 0.
struct Order {
  std::vector<Polynomial> equal;
  std::vector<Polynomial> at_least_0;
};
/// The ways in which `earlier`, as the second task, is created before `later`. They share no point.
[[nodiscard]] std::vector<Order> orders(Statement const& later, Statement const& earlier);

}  // namespace hiway::plan
