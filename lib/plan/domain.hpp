// Domain: the integer points where some polynomials are at least 0.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lib/plan/polynomial.hpp"

namespace hiway::plan {

/// Thrown when neither all points nor none can be shown to meet it.
struct Split {
  Polynomial at_least_0;
};

/// Why a program has no model.
struct NoModel {
  std::string why;
};

class Domain {
 public:
  explicit Domain(std::size_t degree) : degree_(degree) {}

  void add(Polynomial const& at_least_0);
  void add_equal_0(Polynomial const& p) {
    add(p);
    add(-p);
  }
  [[nodiscard]] std::vector<Polynomial> const& all() const { return all_; }

  [[nodiscard]] bool implies(Polynomial const& at_least_0) const;
  /// When false, there may still be no integer point.
  [[nodiscard]] bool empty() const;
  /// True if it holds everywhere, false if nowhere. *Throws* Split otherwise.
  [[nodiscard]] bool decide(Polynomial const& at_least_0) const;

 private:
  std::size_t degree_;
  std::vector<Polynomial> all_;  // tightened
};

/// Calls `piece` with what is assumed. Where it throws Split, calls it for each of the two sides, with that side
/// assumed, too. *Throws* NoModel.
void for_each_piece(std::vector<Polynomial> const& assumed,
                    std::function<void(std::vector<Polynomial> const&)> const& piece);

}  // namespace hiway::plan
