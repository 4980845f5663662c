#include "lib/plan/polynomial.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace hiway::plan {
namespace {

namespace number = boost::multiprecision;
using Integer = number::number<number::cpp_int_backend<>, number::et_off>;

Monomial product(Monomial const& a, Monomial const& b) {
  Monomial all;
  std::ranges::merge(a, b, std::back_inserter(all));
  return all;
}

Rational common_denominator(Polynomial const& p) {
  Integer common = 1;
  for (auto const& [monomial, coefficient] : p.terms()) common = lcm(common, denominator(coefficient));
  return Rational(common);
}

}  // namespace

Rational rounded_down(Rational const& value) {
  Integer const n = numerator(value);
  Integer const d = denominator(value);
  return n >= 0 ? Integer(n / d) : Integer(-((-n + d - 1) / d));
}

Polynomial Polynomial::of(Variable variable) {
  Polynomial p;
  p.add({variable}, 1);
  return p;
}

void Polynomial::add(Monomial const& monomial, Rational const& coefficient) {
  if (coefficient == 0) return;
  auto const [at, fresh] = terms_.try_emplace(monomial, coefficient);
  if (fresh) return;
  at->second += coefficient;
  if (at->second == 0) terms_.erase(at);
}

Polynomial& Polynomial::operator+=(Polynomial const& other) {
  for (auto const& [monomial, coefficient] : other.terms_) add(monomial, coefficient);
  return *this;
}
Polynomial& Polynomial::operator-=(Polynomial const& other) {
  for (auto const& [monomial, coefficient] : other.terms_) add(monomial, -coefficient);
  return *this;
}
Polynomial operator*(Polynomial const& a, Polynomial const& b) {
  Polynomial all;
  for (auto const& [m, x] : a.terms_) {
    for (auto const& [n, y] : b.terms_) all.add(product(m, n), x * y);
  }
  return all;
}

Rational Polynomial::coefficient(Monomial const& monomial) const {
  auto const at = terms_.find(monomial);
  return at == terms_.end() ? Rational(0) : at->second;
}

std::size_t Polynomial::degree() const {
  std::size_t most = 0;
  for (auto const& [monomial, coefficient] : terms_) most = std::max(most, monomial.size());
  return most;
}

std::set<Variable> Polynomial::variables() const {
  std::set<Variable> all;
  for (auto const& [monomial, coefficient] : terms_) all.insert(monomial.begin(), monomial.end());
  return all;
}

std::optional<Rational> Polynomial::number() const {
  if (terms_.empty()) return Rational(0);
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

std::optional<Rational> Polynomial::alone(Variable variable) const {
  for (auto const& [monomial, coefficient] : terms_) {
    if (monomial.size() > 1 && std::ranges::find(monomial, variable) != monomial.end()) return std::nullopt;
  }
  Rational const own = coefficient({variable});
  return own == 0 ? std::nullopt : std::optional(own);
}

std::vector<Polynomial> Polynomial::by_powers(Variable variable) const {
  std::vector<Polynomial> powers(1);
  for (auto const& [monomial, coefficient] : terms_) {
    Monomial rest = monomial;
    std::size_t const power = std::erase(rest, variable);
    if (power >= powers.size()) powers.resize(power + 1);
    powers[power].add(rest, coefficient);
  }
  return powers;
}

Polynomial Polynomial::replaced(std::map<Variable, Polynomial> const& by) const {
  Polynomial all;
  for (auto const& [monomial, coefficient] : terms_) {
    Monomial kept;
    Polynomial term(coefficient);
    for (Variable variable : monomial) {
      auto const at = by.find(variable);
      if (at == by.end()) {
        kept.push_back(variable);
      } else {
        term = term * at->second;
      }
    }
    Polynomial rest;
    rest.add(kept, 1);
    all += kept.empty() ? term : term * rest;
  }
  return all;
}

Rational Polynomial::at(std::function<Rational(Variable)> const& value) const {
  Rational sum = 0;
  for (auto const& [monomial, coefficient] : terms_) {
    Rational term = coefficient;
    for (Variable variable : monomial) term *= value(variable);
    sum += term;
  }
  return sum;
}

std::string Polynomial::text(std::function<std::string(Variable)> const& name) const {
  Rational const common = common_denominator(*this);
  std::vector<std::pair<Monomial, Rational>> sorted(terms_.begin(), terms_.end());
  // "N - i" rather than "-i + N"; higher powers first.
  std::ranges::sort(sorted, {}, [](auto const& term) {
    return std::tuple(term.second < 0, -static_cast<std::ptrdiff_t>(term.first.size()), term.first);
  });
  std::string text;
  for (auto const& [monomial, coefficient] : sorted) {
    Rational const scaled = coefficient * common;
    Integer const factor = numerator(abs(scaled));
    std::string term;
    if (factor != 1 || monomial.empty()) term = factor.str();
    for (Variable variable : monomial) {
      if (!term.empty()) term += '*';
      term += name(variable);
    }
    if (!text.empty()) text += scaled < 0 ? " - " : " + ";
    if (text.empty() && scaled < 0) text = "-";
    text += term;
  }
  if (text.empty()) return "0";
  if (common == 1) return text;
  return std::string(1, '(').append(text).append(") / ").append(common.str());
}

Polynomial tightened(Polynomial const& p) {
  Rational const common = common_denominator(p);
  Integer divisor = 0;
  for (auto const& [monomial, coefficient] : p.terms()) {
    if (!monomial.empty()) divisor = gcd(divisor, numerator(coefficient * common));
  }
  if (divisor == 0) return p;
  Rational const factor = common / Rational(divisor);  // in Boost 1.81, 1 / an Integer gives 1
  Polynomial tight;
  for (auto const& [monomial, coefficient] : p.terms()) {
    Rational const scaled = coefficient * factor;
    tight.add(monomial, monomial.empty() ? rounded_down(scaled) : scaled);
  }
  return tight;
}

std::optional<Polynomial> sum(Polynomial const& f, Variable variable, Polynomial const& low, Polynomial const& high) {
  std::vector<Polynomial> const powers = f.by_powers(variable);
  if (powers.size() > 4) return std::nullopt;
  // The sums of v^k for v from 0 to n. The polynomials also hold for n = -1, and their differences for all n.
  auto const from_zero = [](std::size_t k, Polynomial const& n) {
    Polynomial const next = n + 1;
    switch (k) {
      case 0: return next;
      case 1: return n * next * Polynomial(Rational(1, 2));
      case 2: return n * next * (n + next) * Polynomial(Rational(1, 6));
      default: return n * n * next * next * Polynomial(Rational(1, 4));
    }
  };
  Polynomial all;
  for (std::size_t k = 0; k < powers.size(); ++k) all += powers[k] * (from_zero(k, high) - from_zero(k, low - 1));
  return all;
}

}  // namespace hiway::plan
