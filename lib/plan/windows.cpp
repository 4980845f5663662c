#include "lib/plan/windows.hpp"

#include <algorithm>
#include <ranges>

namespace hiway::plan {
namespace {

/// Sums over the tasks of one statement, as the second task, seen from a task of `domain`.
class Sum {
 public:
  Sum(Model const& model, Domain& domain, std::size_t degree) : model_(model), domain_(domain), degree_(degree) {}

  /// The sum of `of` over the loops' iterations that meet `equal` (0) and `given` (at least 0). *Throws* Split,
  /// NoModel.
  Polynomial over(Statement const& statement, std::vector<Polynomial> equal, std::vector<Polynomial> given,
                  Polynomial of) {
    equal_ = std::move(equal);
    given_ = as_second(model_, statement.domain);
    given_.insert(given_.end(), given.begin(), given.end());
    of_ = as_second(model_, of);
    loops_.clear();
    for (Variable loop : statement.loops) loops_.push_back(loop + second);
    floors_.clear();
    for (Floor const& floor : model_.floors) {
      if (std::ranges::find(model_.params, floor.value) == model_.params.end())
        floors_.push_back({floor.value + second, as_second(model_, floor.of), floor.by});
    }
    if (with_given().empty() || !use_equalities()) return {};
    use_floors();
    while (!loops_.empty()) sum_innermost();
    for (Polynomial const& one : given_) {
      check_known(one);
      if (!domain_.decide(one)) return {};
    }
    check_known(of_);
    return of_;
  }

 private:
  [[noreturn]] static void give_up(std::string const& why) { throw NoModel{why}; }

  [[nodiscard]] Domain with_given() const {
    Domain all = domain_;
    for (Polynomial const& one : given_) all.add(one);
    for (Polynomial const& one : equal_) all.add_equal_0(one);
    return all;
  }
  static bool has(Polynomial const& p, Variable variable) { return p.variables().contains(variable); }
  static bool has_second(Polynomial const& p) {
    return std::ranges::any_of(p.variables(), [](Variable v) { return v >= second; });
  }
  static void check_known(Polynomial const& p) {
    if (has_second(p)) give_up("a count depends on a division or a product of loop variables");
  }

  void replace(Variable variable, Polynomial const& by) {
    std::map<Variable, Polynomial> const all{{variable, by}};
    for (Polynomial& one : equal_) one = one.replaced(all);
    for (Polynomial& one : given_) one = one.replaced(all);
    for (Floor& one : floors_) one.of = one.of.replaced(all);
    of_ = of_.replaced(all);
    std::erase(loops_, variable);
  }

  /// False if they cannot be met.
  bool use_equalities() {
    for (bool more = true; more;) {
      more = false;
      for (Polynomial& one : equal_) {
        Polynomial const tight = tightened(one);
        if (tight != -tightened(-one)) return false;  // a fraction would be needed
        one = tight;
        auto const loop = std::ranges::find_if(loops_, [&](Variable v) {
          auto const factor = one.alone(v);
          return factor && (*factor == 1 || *factor == -1);
        });
        if (loop == loops_.end()) continue;
        Variable const variable = *loop;
        Rational const factor = *one.alone(variable);
        replace(variable, Polynomial::of(variable) - one * Polynomial(factor));
        more = true;
        break;
      }
    }
    for (Polynomial const& one : equal_) {
      check_known(one);
      if (!domain_.decide(one) || !domain_.decide(-one)) return false;
    }
    equal_.clear();
    return true;
  }

  /// A floor whose expression has only the first task's variables by now is replaced by the first task's floor. Bounds
  /// of a floor that nothing else uses say nothing; they are removed.
  void use_floors() {
    for (std::size_t f = 0; f < floors_.size(); ++f) {
      auto const own = std::ranges::find_if(
          model_.floors, [&](Floor const& one) { return one.of == floors_[f].of && one.by == floors_[f].by; });
      if (own != model_.floors.end()) {
        for (Polynomial const& one : bounds_of(*own)) domain_.add(one);
        replace(floors_[f].value, Polynomial::of(own->value));
      }
    }
    for (Floor const& floor : floors_ | std::views::reverse) {
      Domain bounds(degree_);
      for (Polynomial const& one : bounds_of(floor)) bounds.add(one);
      auto const is_bound = [&](Polynomial const& p) {
        return std::ranges::find(bounds.all(), tightened(p)) != bounds.all().end();
      };
      bool const used = has(of_, floor.value) || std::ranges::any_of(given_, [&](Polynomial const& p) {
                          return has(p, floor.value) && !is_bound(p);
                        });
      if (!used) std::erase_if(given_, is_bound);
    }
  }

  /// The one of two bounds that counts everywhere: of upper bounds the lower one.
  Polynomial tighter(Polynomial const& a, Polynomial const& b, bool upper, Domain const& rest) const {
    Polynomial const a_counts = upper ? b - a : a - b;
    if (rest.implies(a_counts)) return a;
    if (rest.implies(-a_counts)) return b;
    if (has_second(a_counts)) give_up("a loop's bound is the least of several");
    return domain_.decide(a_counts) ? a : b;
  }

  void sum_innermost() {
    Variable const variable = loops_.back();
    loops_.pop_back();
    std::vector<Polynomial> lows;
    std::vector<Polynomial> highs;
    std::vector<Polynomial> rest;
    for (Polynomial const& one : given_) {
      if (!has(one, variable)) {
        rest.push_back(one);
        continue;
      }
      Polynomial const tight = tightened(one);
      auto const factor = tight.alone(variable);
      if (!factor || abs(*factor) != 1) give_up("a loop's bound is not a whole number of iterations");
      Polynomial const others = tight - Polynomial(*factor) * Polynomial::of(variable);
      if (*factor > 0) {
        lows.push_back(-others);
      } else {
        highs.push_back(others);
      }
    }
    if (lows.empty() || highs.empty()) give_up("a loop has no bound");
    given_ = rest;
    Domain const all = with_given();
    Polynomial low = lows[0];
    Polynomial high = highs[0];
    for (Polynomial const& one : lows) low = tighter(low, one, false, all);
    for (Polynomial const& one : highs) high = tighter(high, one, true, all);
    // The sum is right down to high = low - 1. If `high` may be lower, only those iterations of the outer loops count
    // that have iterations of this one.
    if (!all.implies(high - low + 1)) given_.push_back(high - low);
    std::optional<Polynomial> const summed = sum(of_, variable, low, high);
    if (!summed) give_up("a count grows faster than the fourth power");
    of_ = *summed;
  }

  Model const& model_;
  Domain& domain_;
  std::size_t degree_;
  std::vector<Polynomial> equal_;
  std::vector<Polynomial> given_;
  Polynomial of_;
  std::vector<Variable> loops_;  // outer ones first
  std::vector<Floor> floors_;
};

class Placer {
 public:
  Placer(Model& model, std::size_t degree) : model_(model), degree_(degree), text_(model.statements) {}

  void whole() {
    std::vector<Statement> placed;
    for (Statement const& statement : text_) {
      for_each_piece(statement.domain, [&](std::vector<Polynomial> const& assumed) {
        Domain domain = domain_of(assumed);
        if (domain.empty()) return;
        Statement piece = statement;
        for (Window& window : piece.windows) place(piece, window, domain);
        piece.domain = domain.all();
        placed.push_back(std::move(piece));
      });
    }
    model_.statements = std::move(placed);
    std::vector<Rest> rests;
    for (Rest const& rest : model_.rests) {
      for_each_piece(rest.domain, [&](std::vector<Polynomial> const& assumed) {
        Domain domain = domain_of(assumed);
        if (domain.empty()) return;
        Rest piece = rest;
        std::vector<Polynomial> index;
        for (Variable variable : rest.index) index.push_back(Polynomial::of(variable));
        piece.written = model_.streams[rest.stream].initial + count(nullptr, Access::write, rest.stream, index, domain);
        piece.read = count(nullptr, Access::read, rest.stream, index, domain);
        piece.domain = domain.all();
        rests.push_back(std::move(piece));
      });
    }
    model_.rests = std::move(rests);
  }

 private:
  [[nodiscard]] Domain domain_of(std::vector<Polynomial> const& all) const {
    Domain domain(degree_);
    for (Polynomial const& one : all) domain.add(one);
    return domain;
  }
  void place(Statement const& statement, Window& window, Domain& domain) {
    Polynomial const& initial = model_.streams[window.stream].initial;
    window.first = count(&statement, window.access, window.stream, window.index, domain);
    if (window.access == Access::write) {
      window.first += initial;
    } else {
      window.total = initial + count(nullptr, Access::write, window.stream, window.index, domain);
    }
  }
  /// What is written or taken off by the tasks created before one of `before`; by all tasks if `before` is null.
  Polynomial count(Statement const* before, Access access, std::size_t stream, std::vector<Polynomial> const& index,
                   Domain& domain) {
    Polynomial all;
    for (Statement const& earlier : text_) {
      for (Window const& window : earlier.windows) {
        if (window.stream != stream || window.access != access || window.count == Polynomial{}) continue;
        std::vector<Polynomial> same;
        for (std::size_t d = 0; d < index.size(); ++d) same.push_back(as_second(model_, window.index[d]) - index[d]);
        for (Order const& order : before ? orders(*before, earlier) : std::vector<Order>(1)) {
          std::vector<Polynomial> equal = order.equal;
          equal.insert(equal.end(), same.begin(), same.end());
          try {
            all += Sum(model_, domain, degree_).over(earlier, std::move(equal), order.at_least_0, window.count);
          } catch (NoModel const& no) {
            throw NoModel{"what '" + earlier.task + "' " + (access == Access::write ? "writes" : "reads") +
                          " is not counted: " + no.why};
          }
        }
      }
    }
    return all;
  }

  Model& model_;
  std::size_t degree_;
  std::vector<Statement> text_;
};

}  // namespace

void place_windows(Model& model, std::size_t degree) { Placer(model, degree).whole(); }

std::vector<Order> orders(Statement const& later, Statement const& earlier) {
  std::vector<Order> all;
  std::vector<Polynomial> equal;
  for (std::size_t l = 0; l < later.loops.size() && l < earlier.loops.size() && later.loops[l] == earlier.loops[l];
       ++l) {
    Polynomial const ahead = Polynomial::of(later.loops[l]) - Polynomial::of(earlier.loops[l] + second);
    all.push_back({equal, {ahead - 1}});
    equal.push_back(ahead);
  }
  if (earlier.position < later.position) all.push_back({equal, {}});
  return all;
}

}  // namespace hiway::plan
