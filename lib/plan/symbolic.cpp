// make_symbolic_plan: exact plans for small values, a polynomial through them, a proof for all values, a check of it.
#include "hiway/plan/symbolic.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "hiway/plan/plan.hpp"
#include "lib/plan/agreement.hpp"
#include "lib/plan/certificate.hpp"
#include "lib/plan/dependences.hpp"
#include "lib/plan/model.hpp"
#include "lib/plan/prove.hpp"
#include "lib/plan/schedule.hpp"
#include "lib/plan/search.hpp"

namespace hiway::plan {
namespace {

using Point = std::vector<std::int64_t>;  // the symbols' values

constexpr std::int64_t most_least = 8;  // the largest start of symbols that is tried
constexpr int most_attempts = 6;        // proofs that may fail
constexpr std::size_t most_symbols = 3;

enum class Slope { down, up };  // how it is rounded

/// Finds the polynomial of least degree through all points' values, if there is one: in the symbols, or else affine in
/// the symbols and their floors.
class Fit {
 public:
  Fit(Model const& model, std::size_t symbols, std::vector<Point> points) : points_(std::move(points)) {
    symbols_.assign(model.params.begin(), model.params.begin() + static_cast<std::ptrdiff_t>(symbols));
    for (Floor const& floor : model.floors) {
      if (std::ranges::find(model.params, floor.value) != model.params.end()) floors_.push_back(floor);
    }
  }

  [[nodiscard]] std::optional<Polynomial> through(std::vector<std::int64_t> const& values, std::size_t degree) const {
    std::vector<Polynomial> basis{Polynomial(1)};
    std::size_t first = 0;
    for (std::size_t d = 0;; ++d) {
      if (auto fit = solve(basis, values)) return fit;
      if (d == degree) break;
      std::size_t const last = basis.size();
      for (; first < last; ++first) {
        std::set<Variable> const own = basis[first].variables();
        for (Variable symbol : symbols_) {
          if (own.empty() || *own.rbegin() <= symbol) basis.push_back(basis[first] * Polynomial::of(symbol));
        }
      }
    }
    basis = {Polynomial(1)};
    for (Variable symbol : symbols_) basis.push_back(Polynomial::of(symbol));
    for (Floor const& floor : floors_) basis.push_back(Polynomial::of(floor.value));
    return floors_.empty() ? std::nullopt : solve(basis, values);
  }

  /// An affine polynomial that is nowhere below the values. In each symbol it is as steep as the values are from the
  /// symbol's least value to its largest, rounded to a whole number.
  [[nodiscard]] Polynomial above(std::vector<std::int64_t> const& values, Slope slope) const {
    Polynomial all;
    for (std::size_t s = 0; s < symbols_.size(); ++s) {
      Rational steepest = 0;
      for (std::size_t a = 0; a < points_.size(); ++a) {
        for (std::size_t b = 0; b < points_.size(); ++b) {
          Point moved = points_[a];
          moved[s] = points_[b][s];
          if (moved != points_[b] || points_[a][s] != points_.front()[s] || points_[b][s] != points_.back()[s])
            continue;
          steepest = std::max(steepest, Rational(values[b] - values[a]) / Rational(moved[s] - points_[a][s]));
        }
      }
      Rational const whole = slope == Slope::up ? -rounded_down(-steepest) : rounded_down(steepest);
      all += Polynomial(whole) * Polynomial::of(symbols_[s]);
    }
    Rational missing = Rational(values.front()) - at(all, points_.front());
    for (std::size_t p = 0; p < points_.size(); ++p)
      missing = std::max(missing, Rational(values[p]) - at(all, points_[p]));
    return all + Polynomial(missing);
  }

  /// The value at a point of a polynomial in the symbols and their floors.
  [[nodiscard]] Rational at(Polynomial const& p, Point const& point) const {
    return p.at([&](Variable variable) -> Rational {
      auto const symbol = std::ranges::find(symbols_, variable);
      if (symbol != symbols_.end()) return point[static_cast<std::size_t>(symbol - symbols_.begin())];
      Floor const& floor = *std::ranges::find(floors_, variable, &Floor::value);
      return rounded_down(at(floor.of, point) / floor.by);
    });
  }

 private:
  /// By exact elimination. A coefficient that is not determined is 0.
  [[nodiscard]] std::optional<Polynomial> solve(std::vector<Polynomial> const& basis,
                                                std::vector<std::int64_t> const& values) const {
    std::vector<std::vector<Rational>> rows;
    for (std::size_t p = 0; p < points_.size(); ++p) {
      rows.emplace_back();
      for (Polynomial const& one : basis) rows.back().push_back(at(one, points_[p]));
      rows.back().push_back(values[p]);
    }
    std::vector<std::size_t> pivots;  // the column that row r determines
    for (std::size_t column = 0; column < basis.size() && pivots.size() < rows.size(); ++column) {
      std::size_t const r = pivots.size();
      auto const row = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(r), rows.end(),
                                    [&](auto const& one) { return one[column] != 0; });
      if (row == rows.end()) continue;
      std::swap(rows[r], *row);
      for (std::size_t other = 0; other < rows.size(); ++other) {
        if (other == r || rows[other][column] == 0) continue;
        Rational const times = rows[other][column] / rows[r][column];
        for (std::size_t c = column; c <= basis.size(); ++c) rows[other][c] -= times * rows[r][c];
      }
      pivots.push_back(column);
    }
    for (std::size_t r = pivots.size(); r < rows.size(); ++r) {
      if (rows[r].back() != 0) return std::nullopt;
    }
    Polynomial fit;
    for (std::size_t r = 0; r < pivots.size(); ++r)
      fit += basis[pivots[r]] * Polynomial(rows[r].back() / rows[r][pivots[r]]);
    return fit;
  }

  std::vector<Point> points_;
  std::vector<Variable> symbols_;
  std::vector<Floor> floors_;  // of symbols only
};

class SymbolicPlanner {
 public:
  SymbolicPlanner(Program const& program, SymbolicOptions const& options)
      : program_(program), options_(options), degree_(static_cast<std::size_t>(options.degree)) {}

  SymbolicPlan whole() {
    for (Stream const& stream : program_.streams) plan_.streams.push_back(stream.name);
    least_only_ = true;
    bool proven = proven_from_some(0);
    if (!proven && !everywhere_ && options_.bound.empty()) {
      // A bound that is not the least is guessed without the smallest values, which often do not fit the others.
      least_only_ = false;
      proven = proven_from_some(2);
    }
    if (!proven && everywhere_ && counterexample_) disprove();
    return std::move(plan_);
  }

 private:
  /// Tries one least value of the symbols after another. True as soon as a plan is proven.
  bool proven_from_some(std::int64_t first) {
    for (std::int64_t least = first; least <= most_least && failed_attempts_ < most_attempts; ++least) {
      Outcome const outcome = from(least);
      if (outcome == Outcome::proven) return true;
      if (outcome == Outcome::disproven) {
        counterexample_ = true;
      } else if (!refused_ || counterexample_) {  // bad input below some value says nothing
        everywhere_ = false;
      }
    }
    return false;
  }

  void disprove() {
    plan_.outcome = Outcome::disproven;
    for (auto const& [point, why] : failing_) {
      plan_.range += (plan_.range.empty() ? "" : "; ") + text_of(point);
      plan_.why = "no finite capacities: for " + text_of(point) + ", " + why;
    }
    if (!options_.bound.empty()) plan_.why = "the bound is too little for " + plan_.range;
  }

  /// Plans for all symbols at least `least`. Fills in the plan when that is proven.
  Outcome from(std::int64_t least) {
    plan_.bound.clear();
    std::vector<Point> const points = points_from(least);
    std::optional<Model> const model = model_from(least);
    if (auto const decided = decided_by_samples(points, model)) return *decided;
    return model && proven_by_a_guess(*model, points, least) ? Outcome::proven : Outcome::unknown;
  }

  std::optional<Model> model_from(std::int64_t least) {
    try {
      return make_model(program_, options_.params, {options_.symbols, least}, options_.bound, degree_);
    } catch (NoModel const& no) {
      plan_.why = no.why;
      return std::nullopt;
    }
  }

  /// What exact plans at the points show already: disproven, or unknown where the program refuses its parameters.
  std::optional<Outcome> decided_by_samples(std::vector<Point> const& points, std::optional<Model> const& model) {
    refused_ = false;
    bool disproven = false;
    for (Point const& point : points) {
      Sample const& sample = sample_at(point);
      if (!sample.refused.empty()) {
        plan_.why = "for " + text_of(point) + ": " + sample.refused;
        refused_ = true;
        return Outcome::unknown;
      }
      std::string why = sample.plan.feasible ? "" : sample.plan.why;
      if (why.empty() && model && !model->bound.empty() && !runs(point, *model)) why = "the bound is too little";
      if (why.empty()) continue;
      failing_.insert_or_assign(point, why);
      disproven = true;
    }
    return disproven ? std::optional(Outcome::disproven) : std::nullopt;
  }

  /// Tries to prove the given bound, or guesses from the points.
  bool proven_by_a_guess(Model const& model, std::vector<Point> const& points, std::int64_t least) {
    Fit const fit(model, options_.symbols.size(), points);
    std::vector<std::vector<Polynomial>> const guesses =
        model.bound.empty() ? guess(points, fit) : std::vector<std::vector<Polynomial>>(1, model.bound);
    if (guesses.empty())
      plan_.why = "the least capacities for small values are no polynomials of degree " + std::to_string(degree_);
    for (std::vector<Polynomial> const& bound : guesses) {
      plan_.bound.clear();
      for (Polynomial const& one : bound)
        plan_.bound.push_back(one.text([&](Variable variable) { return model.names[variable]; }));
      if (show(model, bound, points, least)) {
        if (options_.bound.empty()) extend_below(least, points);
        return true;
      }
      if (++failed_attempts_ >= most_attempts) break;
    }
    return false;
  }

  /// A bound that was guessed from larger values may suffice for smaller ones, too.
  void extend_below(std::int64_t least, std::vector<Point> const& points) {
    bool further = false;
    for (std::int64_t lower = 0; lower < least && !further; ++lower) further = extend(lower);
    plan_.why = (least_only_ ? "exact plans need no less for " : "enough; exact plans need less for some of ") +
                text_of(points.front()) + " to " + text_of(points.back());
  }
  bool extend(std::int64_t least) {
    std::map<std::string, std::string> bound;
    for (std::size_t s = 0; s < plan_.bound.size(); ++s) bound[plan_.streams[s]] = plan_.bound[s];
    try {
      Model const model = make_model(program_, options_.params, {options_.symbols, least}, bound, degree_);
      std::vector<Point> const points = points_from(least);
      return std::ranges::all_of(
                 points, [&](Point const& point) { return sample_at(point).plan.feasible && runs(point, model); }) &&
             show(model, model.bound, points, least);
    } catch (NoModel const&) {
      return false;
    }
  }

  /// Fills in the plan when the bound has a proof that passes its check.
  bool show(Model const& model, std::vector<Polynomial> const& bound, std::vector<Point> const& points,
            std::int64_t least) {
    for (std::size_t degree = 1; degree <= degree_; ++degree) {
      Attempt const attempt = prove(program_, model, bound, degree);
      plan_.why = attempt.why;
      if (attempt.gave_up) failed_attempts_ += most_attempts / 2;
      if (!attempt.proven) continue;
      std::string certificate = certificate_of(program_, model, *attempt.proven, options_.symbols.size(), least);
      plan_.why = fault_of(certificate);
      for (Point const& point : points) {
        if (plan_.why.empty()) plan_.why = disagreement(program_, model, expand(program_, params_at(point)), point);
      }
      if (!plan_.why.empty()) {  // a defect of the planner, and no proof
        plan_.why = "the proof does not stand its check: " + plan_.why;
        return false;
      }
      plan_.outcome = Outcome::proven;
      plan_.least = least;
      plan_.range.clear();
      for (std::string const& symbol : options_.symbols)
        plan_.range += (plan_.range.empty() ? "" : ", ") + symbol + " >= " + std::to_string(least);
      plan_.certificate = std::move(certificate);
      return true;
    }
    return false;
  }

  // ---- small values
  struct Sample {
    Plan plan;
    std::string refused{};  ///< bad input there
  };
  [[nodiscard]] std::vector<Point> points_from(std::int64_t least) const {
    // For each symbol one value more than a polynomial needs, and more where that is cheap.
    std::int64_t const side = static_cast<std::int64_t>(degree_) + (options_.symbols.size() == 1 ? 4 : 2);
    std::vector<Point> points{{}};
    for (std::size_t s = 0; s < options_.symbols.size(); ++s) {
      std::vector<Point> longer;
      for (Point const& point : points) {
        for (std::int64_t value = least; value < least + side; ++value) {
          longer.push_back(point);
          longer.back().push_back(value);
        }
      }
      points = std::move(longer);
    }
    return points;
  }
  [[nodiscard]] Parameters params_at(Point const& point) const {
    Parameters params = options_.params;
    for (std::size_t s = 0; s < point.size(); ++s) params[options_.symbols[s]] = point[s];
    return params;
  }
  [[nodiscard]] std::string text_of(Point const& point) const {
    std::string text;
    for (std::size_t s = 0; s < point.size(); ++s)
      text += (s == 0 ? "" : ", ") + options_.symbols[s] + "=" + std::to_string(point[s]);
    return text;
  }
  Sample const& sample_at(Point const& point) {
    auto const known = samples_.find(point);
    if (known != samples_.end()) return known->second;
    Sample sample;
    try {
      sample.plan = make_plan(program_, {.params = params_at(point), .max_states = 2'000, .max_steps = 5'000'000});
    } catch (ConfigError const& error) {
      sample.refused = error.what();
    }
    return samples_.emplace(point, std::move(sample)).first->second;
  }
  /// Whether the program runs with the model's bound.
  [[nodiscard]] bool runs(Point const& point, Model const& model) const {
    Fit const fit(model, options_.symbols.size(), {});
    Tasks const tasks = expand(program_, params_at(point));
    Dependences const dependences = find_dependences(tasks, program_.discipline);
    Capacities const floor = floor_of(tasks, program_.leftover);
    Capacities const top = unbounded(tasks);
    Capacities capacities;
    for (std::size_t s = 0; s < model.bound.size(); ++s) {
      Rational const value = rounded_down(fit.at(model.bound[s], point));
      if (value < floor[s]) return false;
      capacities.push_back(value > top[s] ? top[s] : static_cast<std::int64_t>(value));
    }
    return Schedule(tasks, dependences).run(capacities);
  }

  /// Guesses bounds: polynomials through the least capacities at all points; several if the points have several
  /// corners. Unless least_only_, an affine bound above them where no polynomial goes through.
  std::vector<std::vector<Polynomial>> guess(std::vector<Point> const& points, Fit const& fit) {
    std::size_t const streams = program_.streams.size();
    // How to choose a corner: the cheapest, or the one with the least of one stream.
    std::vector<std::vector<Polynomial>> all;
    for (std::size_t way = 0; way <= streams; ++way) {
      std::vector<Capacities> chosen;
      for (Point const& point : points) {
        std::vector<Corner> const& corners = sample_at(point).plan.pareto;
        auto const least = std::ranges::min_element(corners, {}, [&](Corner const& corner) {
          return std::pair{way == 0 ? corner.bytes : corner.capacities[way - 1], corner.capacities};
        });
        chosen.push_back(least->capacities);
      }
      for (Slope const slope : {Slope::down, Slope::up}) {
        std::vector<Polynomial> bound;
        for (std::size_t s = 0; s < streams; ++s) {
          std::vector<std::int64_t> values;
          for (Capacities const& one : chosen) values.push_back(one[s]);
          std::optional<Polynomial> own = fit.through(values, degree_);
          if (!own && !least_only_) own = fit.above(values, slope);
          if (!own) break;
          bound.push_back(*own);
        }
        if (bound.size() == streams && std::ranges::find(all, bound) == all.end()) all.push_back(std::move(bound));
      }
    }
    return all;
  }

  Program const& program_;
  SymbolicOptions const& options_;
  std::size_t degree_;
  std::map<Point, Sample> samples_;
  std::map<Point, std::string> failing_;  // where no capacities work, and why
  int failed_attempts_ = 0;
  bool least_only_ = true;
  bool refused_ = false;    // the last start had bad input
  bool everywhere_ = true;  // wherever the symbols start, some value stands in the way
  bool counterexample_ = false;
  SymbolicPlan plan_;
};

}  // namespace

char const* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::proven: return "proven";
    case Outcome::disproven: return "disproven";
    case Outcome::unknown: return "unknown";
  }
  return "?";
}

SymbolicPlan make_symbolic_plan(Program const& program, SymbolicOptions const& options) {
  if (options.symbols.empty() || options.symbols.size() > most_symbols)
    throw ConfigError{"1 to " + std::to_string(most_symbols) + " parameters are symbols, not " +
                      std::to_string(options.symbols.size())};
  for (std::size_t s = 0; s < options.symbols.size(); ++s) {
    if (options.params.contains(options.symbols[s]) || std::ranges::count(options.symbols, options.symbols[s]) > 1)
      throw ConfigError{"the symbol '" + options.symbols[s] + "' is given twice, or has a value"};
  }
  if (options.degree < 1 || options.degree > 3)
    throw ConfigError{"the degree is 1 to 3, not " + std::to_string(options.degree)};
  return SymbolicPlanner(program, options).whole();
}

}  // namespace hiway::plan
