// Domain: the integer points where some polynomials are at least 0.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lib/plan/polynomial.hpp"

namespace hiway::plan {

/// Thrown where part of the points lies on each side, or nobody knows.
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
  /// False: there may still be no integer point.
  [[nodiscard]] bool empty() const;
  /// Whether it holds everywhere, or nowhere. *Throws* Split.
  [[nodiscard]] bool decide(Polynomial const& at_least_0) const;

 private:
  std::size_t degree_;
  std::vector<Polynomial> all_;  // tightened
};

/// Calls `piece` with what is assumed, and again with more wherever it throws Split. *Throws* NoModel.
void for_each_piece(std::vector<Polynomial> const& assumed,
                    std::function<void(std::vector<Polynomial> const&)> const& piece);

}  // namespace hiway::plan
