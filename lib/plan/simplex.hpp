// Simplex: is there a point where each variable lies within its bounds, and each row's variable is the sum it stands
// for? In exact rationals; rows and bounds may be added after a check, and the next one starts from where the last one
// ended.
//
// As Dutertre and de Moura do it for SMT solvers: every row's variable is basic at first; a basic variable outside its
// bounds changes places with one that can move it there. The variable with the least number goes first (Bland), so it
// ends.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "lib/plan/polynomial.hpp"

namespace hiway::plan {

/// Thrown where a check would take too long.
struct TooMuchWork {};

class Simplex {
 public:
  using Number = std::size_t;  ///< of a variable
  using Sum = std::vector<std::pair<Number, Rational>>;

  /// A variable without bounds; its value is 0.
  Number add_variable();
  /// A variable that is the sum.
  Number add_row(Sum const& sum);

  void set_bounds(Number variable, std::optional<Rational> least, std::optional<Rational> most);

  /// Checks *throw* TooMuchWork when all together they change more row coefficients than that. The same on every
  /// machine.
  void limit_work(std::int64_t most) { most_work_ = most; }
  [[nodiscard]] std::int64_t work() const { return work_; }

  /// Moves to such a point; false when there is none.
  [[nodiscard]] bool check();
  [[nodiscard]] Rational const& value(Number variable) const { return variables_[variable].value; }
  /// After a check that failed: a sum that is 0 at every point of the rows, and above 0 within all bounds.
  [[nodiscard]] Sum const& conflict() const { return conflict_; }

 private:
  static constexpr std::size_t not_basic = ~std::size_t{0};
  struct OfVariable {
    Rational value = 0;
    std::optional<Rational> least{};
    std::optional<Rational> most{};
    std::size_t row = not_basic;  ///< basic: the row that it stands for
  };
  struct Row {
    Number basic;
    std::vector<Rational> of;  ///< the factors of the variables that are not basic; those past the end are 0
  };

  [[nodiscard]] Rational const& coefficient(Row const& row, Number variable) const;
  [[nodiscard]] bool may_rise(Number variable) const;
  [[nodiscard]] bool may_fall(Number variable) const;
  void move(Number variable, Rational const& value);
  void pivot(std::size_t row, Number entering);
  void explain(Row const& row, bool below);

  std::vector<OfVariable> variables_;
  std::vector<Row> rows_;
  Sum conflict_;
  std::int64_t work_ = 0;
  std::int64_t most_work_ = 5'000'000;  // a second or two
};

}  // namespace hiway::plan
