#include "lib/plan/handelman.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace hiway::plan {

Handelman::Handelman(std::vector<Polynomial> const& given, std::size_t degree, std::vector<Polynomial> const& targets) {
  std::vector<Polynomial> values;
  std::set<Polynomial> known;
  auto const add = [&](std::vector<std::size_t> numbers, Polynomial value) {
    if (!known.insert(value).second) return;
    products_.push_back(std::move(numbers));
    values.push_back(std::move(value));
  };
  add({}, Polynomial(1));
  // Extends each product by one factor, whose number is not lower than the product's last.
  for (std::size_t k = 0; k < products_.size(); ++k) {
    for (std::size_t g = products_[k].empty() ? 0 : products_[k].back(); g < given.size(); ++g) {
      if (values[k].degree() + given[g].degree() > degree || given[g].degree() == 0) continue;
      std::vector<std::size_t> numbers = products_[k];
      numbers.push_back(g);
      add(std::move(numbers), values[k] * given[g]);
    }
  }
  // If a number below 0 is among the given, everything follows.
  for (std::size_t g = 0; g < given.size(); ++g) {
    if (given[g].degree() == 0 && given[g].number() < Rational(0)) add({g}, given[g]);
  }
  std::map<Monomial, Simplex::Sum> sums;
  for (std::size_t k = 0; k < values.size(); ++k) {
    simplex_.set_bounds(simplex_.add_variable(), Rational(0), std::nullopt);
    for (auto const& [monomial, factor] : values[k].terms()) sums[monomial].emplace_back(k, factor);
  }
  for (Polynomial const& target : targets) {
    for (auto const& [monomial, factor] : target.terms()) sums[monomial];
  }
  for (auto const& [monomial, sum] : sums) {
    monomials_.push_back(monomial);
    rows_.push_back(simplex_.add_row(sum));
  }
}

bool Handelman::prove(Polynomial const& target) {
  foreign_.reset();
  for (auto const& [monomial, factor] : target.terms()) {
    if (std::ranges::binary_search(monomials_, monomial)) continue;
    foreign_ = monomial;
    foreign_sign_ = factor < 0 ? 1 : -1;
    return false;
  }
  for (std::size_t m = 0; m < rows_.size(); ++m) {
    Rational const factor = target.coefficient(monomials_[m]);
    simplex_.set_bounds(rows_[m], factor, factor);
  }
  return simplex_.check();
}

Proof Handelman::proof() const {
  Proof proof;
  for (std::size_t k = 0; k < products_.size(); ++k) {
    if (simplex_.value(k) != 0) proof.terms.push_back({simplex_.value(k), products_[k]});
  }
  return proof;
}

std::map<Monomial, Rational> Handelman::refutation() const {
  if (foreign_) return {{*foreign_, foreign_sign_}};
  std::map<Monomial, Rational> all;
  for (auto const& [variable, factor] : simplex_.conflict()) {
    auto const row = std::ranges::find(rows_, variable);
    if (row != rows_.end()) all[monomials_[static_cast<std::size_t>(row - rows_.begin())]] = -factor;
  }
  return all;
}

namespace {

/// Also false when it would take too much work to tell.
bool proves(Handelman& handelman, Polynomial const& target) {
  try {
    return handelman.prove(target);
  } catch (TooMuchWork const&) {
    return false;
  }
}

}  // namespace

std::optional<Proof> prove_at_least_0(Polynomial const& target, std::vector<Polynomial> const& given,
                                      std::size_t degree) {
  if (auto const number = target.number(); number && *number >= 0) {
    return *number == 0 ? Proof{} : Proof{{{*number, {}}}};
  }
  for (std::size_t g = 0; g < given.size(); ++g) {
    if (given[g] == target) return Proof{{{1, {g}}}};
  }
  std::set<Variable> near = target.variables();
  std::vector<std::size_t> used;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t g = 0; g < given.size(); ++g) {
      if (std::ranges::find(used, g) != used.end()) continue;
      std::set<Variable> const own = given[g].variables();
      if (!own.empty() && std::ranges::none_of(own, [&](Variable v) { return near.contains(v); })) continue;
      used.push_back(g);
      near.insert(own.begin(), own.end());
      more = true;
    }
  }
  std::vector<Polynomial> relevant;
  for (std::size_t g : used) relevant.push_back(given[g]);
  Handelman handelman(relevant, degree, {target});
  if (!proves(handelman, target)) return std::nullopt;
  Proof proof = handelman.proof();
  for (Proof::Term& term : proof.terms) {
    for (std::size_t& g : term.product) g = used[g];
  }
  return proof;
}

std::optional<Proof> prove_empty(std::vector<Polynomial> const& given, std::size_t degree) {
  for (std::size_t g = 0; g < given.size(); ++g) {
    if (auto const number = given[g].number(); number && *number < 0) return Proof{{{-1 / *number, {g}}}};
  }
  Handelman handelman(given, degree, {});
  if (!proves(handelman, Polynomial(-1))) return std::nullopt;
  return handelman.proof();
}

}  // namespace hiway::plan
