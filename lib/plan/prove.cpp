#include "lib/plan/prove.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "lib/plan/windows.hpp"

namespace hiway::plan {
namespace {

// ---- what waits for what
class Waits {
 public:
  Waits(Program const& program, Model const& model, std::vector<Polynomial> const& bound)
      : program_(program), model_(model), bound_(bound) {}

  std::vector<Need> all() {
    for (std::size_t later = 0; later < model_.statements.size(); ++later) {
      for (std::size_t earlier = 0; earlier < model_.statements.size(); ++earlier) {
        add_process(later, earlier);
        add_windows(later, earlier);
      }
    }
    return std::move(needs_);
  }

 private:
  void add_process(std::size_t later, std::size_t earlier) {
    Statement const& first = model_.statements[later];
    Statement const& other = model_.statements[earlier];
    if (first.process.empty() || first.process != other.process) return;
    std::vector<Order> const ways = orders(first, other);
    for (std::size_t o = 0; o < ways.size(); ++o)
      add({"process", later, earlier, 0, 0, o}, ways[o].equal, ways[o].at_least_0);
  }
  void add_windows(std::size_t later, std::size_t earlier) {
    for (std::size_t l = 0; l < model_.statements[later].windows.size(); ++l) {
      for (std::size_t e = 0; e < model_.statements[earlier].windows.size(); ++e) {
        Window const& own = model_.statements[later].windows[l];
        Window const& other = model_.statements[earlier].windows[e];
        if (own.stream == other.stream) add_pair({"", later, earlier, l, e}, own, other);
      }
    }
  }
  void add_pair(Need need, Window const& own, Window const& other) {
    std::vector<Polynomial> same;
    for (std::size_t d = 0; d < own.index.size(); ++d) same.push_back(as_second(model_, other.index[d]) - own.index[d]);
    Polynomial const first = as_second(model_, other.first);
    Polynomial const count = as_second(model_, other.count);
    Polynomial const reach = as_second(model_, other.reach);
    bool const writes = own.access == Access::write;
    if (writes != (other.access == Access::write)) {
      std::vector<Polynomial> given{(writes ? own.count : own.reach) - 1, (writes ? reach : count) - 1};
      if (writes) {
        given.push_back(own.first + own.count - bound_[own.stream] - 1 - first);
      } else {
        given.push_back(own.first + own.reach - 1 - first);
        given.push_back(first + count - 1 - own.first);
      }
      need.what = writes ? "room" : "flow";
      add(std::move(need), std::move(same), std::move(given));
    } else if (program_.discipline == Discipline::fifo) {
      std::vector<Order> const ways = orders(model_.statements[need.later], model_.statements[need.earlier]);
      for (std::size_t o = 0; o < ways.size(); ++o) {
        need.what = writes ? "writers" : "readers";
        need.order = o;
        std::vector<Polynomial> equal = ways[o].equal;
        equal.insert(equal.end(), same.begin(), same.end());
        std::vector<Polynomial> given = ways[o].at_least_0;
        given.push_back((writes ? own.count : own.reach) - 1);
        given.push_back((writes ? count : reach) - 1);
        add(need, std::move(equal), std::move(given));
      }
    }
  }

  void add(Need need, std::vector<Polynomial> equal, std::vector<Polynomial> given) {
    std::vector<Polynomial> const& own = model_.statements[need.later].domain;
    std::vector<Polynomial> const other = as_second(model_, model_.statements[need.earlier].domain);
    given.insert(given.end(), own.begin(), own.end());
    given.insert(given.end(), other.begin(), other.end());
    for (bool more = true; more;) {
      more = false;
      for (Polynomial& one : equal) {
        one = tightened(one);
        std::optional<Variable> const variable = replaceable(one);
        if (!variable) continue;
        Polynomial const by = Polynomial::of(*variable) - one * Polynomial(*one.alone(*variable));
        std::map<Variable, Polynomial> const replace{{*variable, by}};
        for (Polynomial& p : equal) p = p.replaced(replace);
        for (Polynomial& p : given) p = p.replaced(replace);
        need.replaced.emplace_back(*variable, by);
        more = true;
        break;
      }
    }
    Domain domain(1);
    for (Polynomial const& one : given) domain.add(one);
    for (Polynomial const& one : equal) domain.add_equal_0(one);
    need.given = domain.all();
    needs_.push_back(std::move(need));
  }
  /// A variable with factor 1 or -1 in `one`, so that the rest can replace it. Rather one of the second task; never a
  /// parameter.
  std::optional<Variable> replaceable(Polynomial const& one) const {
    std::set<Variable> const variables = one.variables();
    for (auto at = variables.rbegin(); at != variables.rend(); ++at) {
      auto const factor = one.alone(*at);
      if (factor && abs(*factor) == 1 && std::ranges::find(model_.params, *at) == model_.params.end()) return *at;
    }
    return std::nullopt;
  }

  Program const& program_;
  Model const& model_;
  std::vector<Polynomial> const& bound_;
  std::vector<Need> needs_;
};

// ---- times
class Timer {
 public:
  Timer(Model const& model, std::vector<Need>& needs, std::size_t degree)
      : model_(model), needs_(needs), degree_(degree) {
    for (Statement const& statement : model.statements) add_coefficients(statement);
    for (Need const& need : needs) {
      if (!need.empty) add_arc(need);
    }
  }

  /// False when there are no such times. *Throws* TooMuchWork.
  bool find() {
    constexpr int most_entries = 4;
    std::vector<std::size_t> open(arcs_.size());
    for (std::size_t a = 0; a < open.size(); ++a) open[a] = a;
    for (int entry = 0; entry < most_entries; ++entry) {
      std::vector<bool> strict(arcs_.size(), true);
      if (!solve(open, strict)) {
        strict.assign(arcs_.size(), false);
        for (std::size_t a : open) {
          strict[a] = true;
          if (!solve(open, strict)) strict[a] = false;
        }
        if (!solve(open, strict)) return false;  // the last one that succeeded, again
      }
      keep(open);
      if (std::erase_if(open, [&](std::size_t a) { return strict[a]; }) == 0 && !open.empty()) return false;
      if (open.empty()) return true;
    }
    return false;
  }

  [[nodiscard]] std::vector<std::vector<Polynomial>> const& times() const { return times_; }
  /// After find() failed: the needs that contradict each other.
  [[nodiscard]] std::vector<Need const*> blamed() const {
    std::vector<Need const*> all;
    for (std::size_t a : blamed_) all.push_back(arcs_[a].need);
    return all;
  }

 private:
  /// The difference of two times is the sum of its parts: coefficient times `of`.
  struct Part {
    std::size_t coefficient;
    Polynomial of;
  };
  struct Arc {
    Need* need;
    std::vector<Part> parts;
    std::unique_ptr<Handelman> proofs;
  };
  /// A condition that the coefficients must meet for the arc to have a proof.
  struct Cut {
    std::size_t arc;
    Simplex::Sum of_coefficients;
    Rational of_1;
  };

  void add_coefficients(Statement const& statement) {
    std::set<Variable> variables(model_.params.begin(), model_.params.end());
    variables.insert(statement.loops.begin(), statement.loops.end());
    for (Polynomial const& one : statement.domain) variables.merge(one.variables());
    std::vector<Monomial> monomials{{}};
    for (std::size_t m = 0; m < monomials.size(); ++m) {
      if (monomials[m].size() == degree_) continue;
      for (Variable variable : variables) {
        if (!monomials[m].empty() && variable < monomials[m].back()) continue;
        monomials.push_back(monomials[m]);
        monomials.back().push_back(variable);
      }
    }
    first_.push_back(monomials_.size());
    monomials_.insert(monomials_.end(), monomials.begin(), monomials.end());
    times_.emplace_back();
  }
  [[nodiscard]] std::size_t end_of(std::size_t statement) const {
    return statement + 1 < first_.size() ? first_[statement + 1] : monomials_.size();
  }
  void add_arc(Need const& need) {
    auto const in_what_is_left = [&](Polynomial p) {
      for (auto const& [variable, by] : need.replaced) p = p.replaced({{variable, by}});
      return p;
    };
    Arc arc{&needs_[static_cast<std::size_t>(&need - needs_.data())], {}, nullptr};
    std::vector<Polynomial> targets{Polynomial(1)};
    auto const add = [&](std::size_t statement, bool later) {
      for (std::size_t c = first_[statement]; c < end_of(statement); ++c) {
        Polynomial p;
        p.add(monomials_[c], 1);
        p = in_what_is_left(later ? p : -as_second(model_, p));
        targets.push_back(p);
        arc.parts.push_back({c, std::move(p)});
      }
    };
    add(need.later, true);
    add(need.earlier, false);
    arc.proofs = std::make_unique<Handelman>(need.given, degree_, targets);
    arcs_.push_back(std::move(arc));
  }

  bool solve(std::vector<std::size_t> const& open, std::vector<bool> const& strict) {
    constexpr int most_rounds = 400;
    Simplex simplex;
    simplex.limit_work(work_left_);
    std::int64_t work = 0;
    for (std::size_t c = 0; c < monomials_.size(); ++c) (void)simplex.add_variable();
    std::map<Simplex::Number, std::size_t> arc_of;
    auto const heed = [&](Cut const& cut) {
      Simplex::Number const row = simplex.add_row(cut.of_coefficients);
      simplex.set_bounds(row, strict[cut.arc] ? cut.of_1 : Rational(0), std::nullopt);
      arc_of[row] = cut.arc;
    };
    for (Cut const& cut : cuts_) {
      if (std::ranges::find(open, cut.arc) != open.end()) heed(cut);
    }
    for (int round = 0; round < most_rounds; ++round) {
      bool const possible = simplex.check();
      work_left_ -= simplex.work() - std::exchange(work, simplex.work());
      if (!possible) {
        blamed_.clear();
        for (auto const& [row, factor] : simplex.conflict()) blamed_.insert(arc_of.at(row));
        return false;
      }
      values_.clear();
      for (std::size_t c = 0; c < monomials_.size(); ++c) values_.push_back(simplex.value(c));
      bool proven = true;
      for (std::size_t a : open) {
        if (arcs_[a].proofs->prove(difference(arcs_[a]) - Polynomial(strict[a] ? 1 : 0))) continue;
        proven = false;
        cuts_.push_back(cut_from(a));
        heed(cuts_.back());
      }
      if (proven) return true;
    }
    return false;
  }
  [[nodiscard]] Polynomial difference(Arc const& arc) const {
    Polynomial all;
    for (Part const& part : arc.parts) {
      if (values_[part.coefficient] != 0) all += part.of * Polynomial(values_[part.coefficient]);
    }
    return all;
  }
  [[nodiscard]] Cut cut_from(std::size_t arc) const {
    std::map<Monomial, Rational> const counts = arcs_[arc].proofs->refutation();
    auto const value = [&](Polynomial const& p) {
      Rational all = 0;
      for (auto const& [monomial, factor] : p.terms()) {
        auto const at = counts.find(monomial);
        if (at != counts.end()) all += factor * at->second;
      }
      return all;
    };
    Cut cut{arc, {}, value(Polynomial(1))};
    std::map<std::size_t, Rational> sum;  // a statement may wait for itself
    for (Part const& part : arcs_[arc].parts) sum[part.coefficient] += value(part.of);
    for (auto const& [coefficient, factor] : sum) {
      if (factor != 0) cut.of_coefficients.emplace_back(coefficient, factor);
    }
    return cut;
  }

  void keep(std::vector<std::size_t> const& open) {
    for (std::size_t s = 0; s < first_.size(); ++s) {
      Polynomial time;
      for (std::size_t c = first_[s]; c < end_of(s); ++c) time.add(monomials_[c], values_[c]);
      times_[s].push_back(std::move(time));
    }
    for (std::size_t a : open) arcs_[a].need->proofs.push_back(arcs_[a].proofs->proof());
  }

  Model const& model_;
  std::vector<Need>& needs_;
  std::size_t degree_;
  std::vector<Monomial> monomials_;  // of all coefficients, statement by statement
  std::vector<std::size_t> first_;   // a statement's first coefficient
  std::vector<Arc> arcs_;
  std::vector<Cut> cuts_;
  std::int64_t work_left_ = 10'000'000;  // of all simplexes that look for coefficients
  std::set<std::size_t> blamed_;
  std::vector<Rational> values_;
  std::vector<std::vector<Polynomial>> times_;
};

// ---- facts
std::vector<Fact> facts_of(Program const& program, Model const& model, std::vector<Polynomial> const& bound) {
  std::vector<Fact> facts;
  for (Model::Need const& need : model.needs) facts.push_back({need.what, need.domain, need.at_least_0});
  for (Statement const& statement : model.statements) {
    for (Window const& window : statement.windows) {
      if (window.access == Access::write) continue;
      Domain domain(1);
      for (Polynomial const& one : statement.domain) domain.add(one);
      domain.add(window.reach - 1);
      facts.push_back({"elements of '" + program.streams[window.stream].name + "' for '" + statement.task + "'",
                       domain.all(), window.total - window.first - window.reach});
    }
  }
  for (std::size_t s = 0; s < bound.size(); ++s) {
    std::string const room = "room for what is in '" + program.streams[s].name + "' at the ";
    facts.push_back({room + "start", model.domain, bound[s] - model.streams[s].initial});
  }
  if (program.leftover == Leftover::hold) {
    for (Rest const& rest : model.rests) {
      facts.push_back({"room for what is in '" + program.streams[rest.stream].name + "' at the end", rest.domain,
                       bound[rest.stream] - rest.written + rest.read});
    }
  }
  for (Fact& fact : facts) fact.at_least_0 = tightened(fact.at_least_0);
  return facts;
}

std::string name_of(Model const& model, Need const& need) {
  return "'" + model.statements[need.later].task + "' after '" + model.statements[need.earlier].task + "' (" +
         need.what + ")";
}

}  // namespace

Attempt prove(Program const& program, Model const& model, std::vector<Polynomial> const& bound, std::size_t degree) {
  Proven proven{bound, {}, Waits(program, model, bound).all(), facts_of(program, model, bound)};
  for (Fact& fact : proven.facts) {
    std::optional<Proof> proof = prove_at_least_0(fact.at_least_0, fact.given, degree);
    if (!proof) return {std::nullopt, "no proof of degree " + std::to_string(degree) + " for " + fact.what};
    fact.proof = std::move(*proof);
  }
  for (Need& need : proven.needs) {
    if (std::optional<Proof> proof = prove_empty(need.given, degree)) {
      need.empty = true;
      need.proofs.push_back(std::move(*proof));
    }
  }
  Timer timer(model, proven.needs, degree);
  std::string const no_times = "no times of degree " + std::to_string(degree);
  try {
    if (!timer.find()) {
      std::set<std::string> names;
      for (Need const* need : timer.blamed()) names.insert(name_of(model, *need));
      std::string list;
      for (std::string const& name : names) list += (list.empty() ? "" : ", ") + name;
      return {std::nullopt, no_times + " have proofs for " + list};
    }
  } catch (TooMuchWork const&) {
    return {std::nullopt, no_times + " were found before the limit of work", true};
  }
  proven.times = timer.times();
  return {std::move(proven), ""};
}

}  // namespace hiway::plan
