#include "lib/plan/simplex.hpp"

namespace hiway::plan {

Simplex::Number Simplex::add_variable() {
  variables_.emplace_back();
  return variables_.size() - 1;
}

Simplex::Number Simplex::add_row(Sum const& sum) {
  Number const own = add_variable();
  Row row{own, std::vector<Rational>(variables_.size())};
  Rational value = 0;
  for (auto const& [variable, factor] : sum) {
    value += factor * variables_[variable].value;
    if (variables_[variable].row == not_basic) {
      row.of[variable] += factor;
      continue;
    }
    std::vector<Rational> const& other = rows_[variables_[variable].row].of;
    for (Number v = 0; v < other.size(); ++v) {
      if (other[v] != 0) row.of[v] += factor * other[v];
    }
  }
  variables_[own].value = value;
  variables_[own].row = rows_.size();
  rows_.push_back(std::move(row));
  return own;
}

void Simplex::set_bounds(Number variable, std::optional<Rational> least, std::optional<Rational> most) {
  OfVariable& own = variables_[variable];
  own.least = std::move(least);
  own.most = std::move(most);
  if (own.row != not_basic) return;
  if (own.least && own.value < *own.least) {
    move(variable, *own.least);
  } else if (own.most && own.value > *own.most) {
    move(variable, *own.most);
  }
}

Rational const& Simplex::coefficient(Row const& row, Number variable) const {
  static Rational const zero = 0;
  return variable < row.of.size() ? row.of[variable] : zero;
}

bool Simplex::may_rise(Number variable) const {
  return !variables_[variable].most || variables_[variable].value < *variables_[variable].most;
}
bool Simplex::may_fall(Number variable) const {
  return !variables_[variable].least || variables_[variable].value > *variables_[variable].least;
}

/// Moves a variable that is not basic.
void Simplex::move(Number variable, Rational const& value) {
  Rational const by = value - variables_[variable].value;
  if (by == 0) return;
  for (Row const& row : rows_) {
    Rational const& factor = coefficient(row, variable);
    if (factor != 0) variables_[row.basic].value += factor * by;
  }
  variables_[variable].value = value;
}

void Simplex::pivot(std::size_t r, Number entering) {
  Row& row = rows_[r];
  Number const leaving = row.basic;
  Rational const factor = row.of[entering];
  if (row.of.size() <= leaving) row.of.resize(leaving + 1);
  row.of[entering] = 0;
  for (Rational& one : row.of) {
    if (one != 0) one /= -factor;
  }
  row.of[leaving] = 1 / factor;
  row.basic = entering;
  variables_[entering].row = r;
  variables_[leaving].row = not_basic;
  for (std::size_t other = 0; other < rows_.size(); ++other) {
    Row& changed = rows_[other];
    if (other == r || coefficient(changed, entering) == 0) continue;
    Rational const times = changed.of[entering];
    changed.of[entering] = 0;
    if (changed.of.size() < row.of.size()) changed.of.resize(row.of.size());
    for (Number v = 0; v < row.of.size(); ++v) {
      if (row.of[v] == 0) continue;
      changed.of[v] += times * row.of[v];
      ++work_;
    }
  }
  if (work_ > most_work_) throw TooMuchWork{};
}

bool Simplex::check() {
  for (;;) {
    Number leaving = variables_.size();
    bool below = false;
    for (Row const& row : rows_) {
      OfVariable const& own = variables_[row.basic];
      bool const too_low = own.least && own.value < *own.least;
      if (row.basic < leaving && (too_low || (own.most && own.value > *own.most))) {
        leaving = row.basic;
        below = too_low;
      }
    }
    if (leaving == variables_.size()) return true;
    std::size_t const r = variables_[leaving].row;
    Row const& row = rows_[r];
    Number entering = 0;
    for (; entering < row.of.size(); ++entering) {
      if (row.of[entering] == 0) continue;
      if ((row.of[entering] > 0) == below ? may_rise(entering) : may_fall(entering)) break;
    }
    if (entering == row.of.size()) {
      explain(row, below);
      return false;
    }
    Rational const target = below ? *variables_[leaving].least : *variables_[leaving].most;
    move(entering, variables_[entering].value + (target - variables_[leaving].value) / row.of[entering]);
    pivot(r, entering);
  }
}

/// The row's variable cannot rise to its least value (or fall to its most): the row minus (or plus) its variable is 0
/// everywhere.
void Simplex::explain(Row const& row, bool below) {
  conflict_.clear();
  Rational const sign = below ? 1 : -1;
  conflict_.emplace_back(row.basic, sign);
  for (Number v = 0; v < row.of.size(); ++v) {
    if (row.of[v] != 0) conflict_.emplace_back(v, -sign * row.of[v]);
  }
}

}  // namespace hiway::plan
