// Polynomial: over integer variables, with exact rational coefficients. What the symbolic planner calculates with.
#pragma once
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hiway::plan {

using Rational =
    boost::multiprecision::number<boost::multiprecision::cpp_rational_backend, boost::multiprecision::et_off>;
using Variable = std::uint32_t;
/// In increasing order; a variable occurs as often as its power.
using Monomial = std::vector<Variable>;

[[nodiscard]] Rational rounded_down(Rational const& value);

class Polynomial {
 public:
  Polynomial() = default;
  Polynomial(Rational const& number) { add({}, number); }
  Polynomial(std::int64_t number) : Polynomial(Rational(number)) {}
  static Polynomial of(Variable variable);

  /// No coefficient is 0.
  [[nodiscard]] std::map<Monomial, Rational> const& terms() const { return terms_; }
  [[nodiscard]] Rational coefficient(Monomial const& monomial) const;
  [[nodiscard]] std::size_t degree() const;
  [[nodiscard]] std::set<Variable> variables() const;
  /// Its value, if it is a number.
  [[nodiscard]] std::optional<Rational> number() const;
  /// The variable's coefficient, if it occurs in one term only, and alone.
  [[nodiscard]] std::optional<Rational> alone(Variable variable) const;
  /// [k] is the factor of the variable's k-th power.
  [[nodiscard]] std::vector<Polynomial> by_powers(Variable variable) const;

  [[nodiscard]] Polynomial replaced(std::map<Variable, Polynomial> const& by) const;
  [[nodiscard]] Rational at(std::function<Rational(Variable)> const& value) const;
  /// "(N*N + N) / 2", with `name` of the variables: an Expression that has the same value wherever that is an integer.
  [[nodiscard]] std::string text(std::function<std::string(Variable)> const& name) const;

  void add(Monomial const& monomial, Rational const& coefficient);
  Polynomial& operator+=(Polynomial const& other);
  Polynomial& operator-=(Polynomial const& other);
  friend Polynomial operator+(Polynomial a, Polynomial const& b) { return a += b; }
  friend Polynomial operator-(Polynomial a, Polynomial const& b) { return a -= b; }
  friend Polynomial operator-(Polynomial const& a) { return Polynomial{} - a; }
  friend Polynomial operator*(Polynomial const& a, Polynomial const& b);
  bool operator==(Polynomial const&) const = default;
  bool operator<(Polynomial const& other) const { return terms_ < other.terms_; }

 private:
  std::map<Monomial, Rational> terms_;
};

/// For p >= 0 over the integers: an equivalent, with coprime integers as coefficients and the constant rounded down.
[[nodiscard]] Polynomial tightened(Polynomial const& p);

/// The sum of f for the variable from `low` to `high`, for high >= low - 1. Nothing if the variable's power is above 3.
[[nodiscard]] std::optional<Polynomial> sum(Polynomial const& f, Variable variable, Polynomial const& low,
                                            Polynomial const& high);

}  // namespace hiway::plan
