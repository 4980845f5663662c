// Turns the program's text into statements: loops become variables, comparisons split a statement, floors become
// variables of their own. windows.cpp then places the windows.
#include "lib/plan/model.hpp"

#include <algorithm>
#include <utility>

#include "lib/plan/expression.hpp"
#include "lib/plan/windows.hpp"

namespace hiway::plan {
namespace {

class Modeler {
 public:
  Modeler(Program const& program, Parameters const& values, Symbols const& symbols, std::size_t degree)
      : program_(program), degree_(degree) {
    for (auto const& [name, value] : program.params) {
      auto const given = values.find(name);
      numbers_[name] = given == values.end() ? value : given->second;
    }
    for (std::string const& symbol : symbols.names) {
      if (numbers_.erase(symbol) == 0) throw ConfigError{"no parameter '" + symbol + "' in the program"};
      Variable const variable = new_variable(symbol);
      model_.params.push_back(variable);
      model_.domain.push_back(Polynomial::of(variable) - symbols.least);
      scope_.emplace_back(symbol, Polynomial::of(variable));
    }
  }

  Model whole(std::map<std::string, std::string> const& bound) {
    add_streams();
    add_bound(bound);
    walk(program_.body, "/body");
    for (Statement& statement : model_.statements) add_context(statement.domain);
    for (Rest& rest : model_.rests) add_context(rest.domain);
    for (Model::Need& need : model_.needs) add_context(need.domain);
    place_windows(model_, degree_);
    return std::move(model_);
  }

 private:
  struct PathStep {
    Node const* node;
    bool then;  ///< of an If: in its `then`, not in its `else`
    std::string pointer;
  };

  Variable new_variable(std::string name) {
    model_.names.push_back(std::move(name));
    return static_cast<Variable>(model_.names.size() - 1);
  }
  /// What is known of the parameters.
  [[nodiscard]] Domain context() const {
    Domain domain(degree_);
    for (Polynomial const& one : model_.domain) domain.add(one);
    return domain;
  }
  void add_context(std::vector<Polynomial>& domain) const {
    Domain all = context();
    for (Polynomial const& one : domain) all.add(one);
    domain = all.all();
  }

  // ---- expressions
  Formula formula(Expression const& expression, std::string const& pointer) const {
    auto const meaning = [this](std::string_view name) -> std::optional<Meaning> {
      auto const slot = std::ranges::find(scope_, name, [](auto const& one) { return one.first; });
      if (slot != scope_.end()) return Meaning{Meaning::Kind::slot, slot - scope_.begin()};
      auto const number = numbers_.find(std::string{name});
      if (number != numbers_.end()) return Meaning{Meaning::Kind::number, number->second};
      return std::nullopt;
    };
    auto const names = [this] {
      std::vector<std::string> all;
      for (auto const& [name, number] : numbers_) all.push_back(name);
      for (auto const& [name, value] : scope_) all.push_back(name);
      return all;
    };
    return {expression, pointer, {meaning, names}};
  }
  Polynomial value(Expression const& expression, std::string const& pointer, Domain& domain) {
    using Op = Formula::Op;
    Formula const f = formula(expression, pointer);
    std::vector<Polynomial> stack;
    return f.fold(
        stack,
        [&](Op op, std::int64_t number) {
          return op == Op::slot ? scope_[static_cast<std::size_t>(number)].second : Polynomial(number);
        },
        [&](Polynomial const& a) { return is_true(a, domain); },
        [&](Op op, Polynomial const& a, Polynomial const& b) { return apply(f, op, a, b, domain); });
  }
  /// *Throws* Split if it is 0 in only a part of the domain. So `and`, `or` and `not` are numbers in each part.
  static bool is_true(Polynomial const& p, Domain const& domain) {
    return domain.decide(p - 1) || domain.decide(-p - 1);
  }
  Polynomial apply(Formula const& f, Formula::Op op, Polynomial const& a, Polynomial const& b, Domain& domain) {
    using Op = Formula::Op;
    auto const truth = [](bool holds) { return Polynomial(holds ? 1 : 0); };
    switch (op) {
      case Op::add: return a + b;
      case Op::subtract: return a - b;
      case Op::multiply: return a * b;
      case Op::divide: return floor(f, a, b, domain);
      case Op::modulo: return a - b * floor(f, a, b, domain);
      case Op::lt: return truth(domain.decide(b - a - 1));
      case Op::le: return truth(domain.decide(b - a));
      case Op::gt: return truth(domain.decide(a - b - 1));
      case Op::ge: return truth(domain.decide(a - b));
      case Op::eq: return truth(domain.decide(a - b) && domain.decide(b - a));
      default: return truth(!(domain.decide(a - b) && domain.decide(b - a)));
    }
  }
  Polynomial floor(Formula const& f, Polynomial const& of, Polynomial const& by, Domain& domain) {
    std::optional<Rational> const divisor = by.number();
    if (!divisor || *divisor <= 0) f.fail("a symbol is divided by a number above 0 only");
    // floor((N + 3) / 2) is floor((N + 1) / 2) + 1, so the factors left are at least 0 and less than the divisor.
    Polynomial whole;
    Polynomial rest;
    for (auto const& [monomial, factor] : of.terms()) {
      Rational const quotient = rounded_down(factor / *divisor);
      whole.add(monomial, quotient);
      rest.add(monomial, factor - quotient * *divisor);
    }
    if (rest.number()) return whole;
    return whole + Polynomial::of(floor_variable(rest, *divisor, domain));
  }
  Variable floor_variable(Polynomial const& of, Rational const& by, Domain& domain) {
    auto known = std::ranges::find_if(model_.floors, [&](Floor const& one) { return one.of == of && one.by == by; });
    if (known == model_.floors.end()) {
      std::string const text = of.text([this](Variable v) { return model_.names[v]; });
      Variable const variable =
          new_variable("(" + (of.terms().size() > 1 ? "(" + text + ")" : text) + " / " + numerator(by).str() + ")");
      model_.floors.push_back({variable, of, by});
      known = model_.floors.end() - 1;
      if (std::ranges::all_of(of.variables(),
                              [&](Variable v) { return std::ranges::find(model_.params, v) != model_.params.end(); })) {
        model_.params.push_back(variable);
        for (Polynomial const& one : bounds_of(*known)) model_.domain.push_back(one);
      }
    }
    for (Polynomial const& one : bounds_of(*known)) domain.add(one);
    return known->value;
  }

  // ---- streams
  void add_streams() {
    Domain domain = context();
    for (std::size_t s = 0; s < program_.streams.size(); ++s) {
      Stream const& stream = program_.streams[s];
      std::string const pointer = "/streams/" + std::to_string(s);
      SymbolicStream own;
      try {
        own.initial = value(stream.initial, pointer + "/initial", domain);
        for (std::size_t d = 0; d < stream.dims.size(); ++d)
          own.dims.push_back(value(stream.dims[d], pointer + "/dims/" + std::to_string(d), domain));
      } catch (Split const&) {
        throw NoModel{"the size of '" + stream.name + "' is not one polynomial"};
      }
      model_.needs.push_back({"elements of '" + stream.name + "' at the start", {}, own.initial});
      Rest rest{s};
      for (std::size_t d = 0; d < own.dims.size(); ++d) {
        model_.needs.push_back({"streams of '" + stream.name + "'", {}, own.dims[d]});
        Variable const index = new_variable(stream.name + "[" + std::to_string(d) + "]");
        rest.index.push_back(index);
        rest.domain.push_back(Polynomial::of(index));
        rest.domain.push_back(own.dims[d] - Polynomial::of(index) - 1);
      }
      model_.streams.push_back(std::move(own));
      model_.rests.push_back(std::move(rest));
    }
  }

  void add_bound(std::map<std::string, std::string> const& bound) {
    if (bound.empty()) return;
    for (auto const& [name, capacity] : bound) {
      if (std::ranges::find(program_.streams, name, &Stream::name) == program_.streams.end())
        throw ConfigError{"the bound names a stream '" + name + "' that is not in the program"};
    }
    Domain domain = context();
    for (Stream const& stream : program_.streams) {
      auto const own = bound.find(stream.name);
      if (own == bound.end()) throw ConfigError{"the bound has no capacity for '" + stream.name + "'"};
      try {
        model_.bound.push_back(value(own->second, "the bound of '" + stream.name + "'", domain));
      } catch (Split const&) {
        throw NoModel{"the bound of '" + stream.name + "' is not one polynomial"};
      }
    }
  }

  // ---- the body
  void walk(Body const& body, std::string const& pointer) {
    for (std::size_t n = 0; n < body.size(); ++n) {
      Node const& node = body[n];
      std::string const own = pointer + "/" + std::to_string(n);
      if (Task const* const task = std::get_if<Task>(&node.is)) {
        add_statements(*task, own);
        ++position_;
      } else if (For const* const loop = std::get_if<For>(&node.is)) {
        loops_[loop] = new_variable(loop->variable);
        path_.push_back({&node, false, own});
        walk(loop->body, own + "/body");
        path_.pop_back();
      } else {
        If const& branch = std::get<If>(node.is);
        path_.push_back({&node, true, own});
        walk(branch.then, own + "/then");
        path_.back().then = false;
        walk(branch.otherwise, own + "/else");
        path_.pop_back();
      }
    }
  }

  void add_statements(Task const& task, std::string const& pointer) {
    for_each_piece({}, [&](std::vector<Polynomial> const& assumed) {
      Domain domain = context();
      for (Polynomial const& one : assumed) domain.add(one);
      std::size_t const outside = scope_.size();
      try {
        add_statement(task, pointer, domain);
      } catch (Split const&) {
        scope_.resize(outside);
        throw;
      }
      scope_.resize(outside);
    });
  }
  void add_statement(Task const& task, std::string const& pointer, Domain& domain) {
    Statement statement{task.name, task.process, position_};
    for (PathStep const& step : path_) {
      if (For const* const loop = std::get_if<For>(&step.node->is)) {
        enter(*loop, step.pointer, domain, statement);
      } else {
        If const& branch = std::get<If>(step.node->is);
        Polynomial const condition = value(branch.condition, step.pointer + "/if", domain);
        if (is_true(condition, domain) != step.then) return;
      }
      if (domain.empty()) return;
    }
    std::vector<Model::Need> needs;
    for (std::size_t o = 0; o < task.operations.size(); ++o)
      add_operation(task.operations[o], pointer + "/ops/" + std::to_string(o), domain, statement, needs);
    if (domain.empty()) return;
    statement.domain = domain.all();
    for (Model::Need& need : needs) {
      need.domain = statement.domain;
      model_.needs.push_back(std::move(need));
    }
    model_.statements.push_back(std::move(statement));
  }
  void enter(For const& loop, std::string const& pointer, Domain& domain, Statement& statement) {
    Variable const variable = loops_.at(&loop);
    Polynomial const own = Polynomial::of(variable);
    Polynomial const from = value(loop.from, pointer + "/from", domain);
    Polynomial const to = value(loop.to, pointer + "/to", domain);
    Polynomial const step = value(loop.step, pointer + "/step", domain);
    Formula const by = formula(loop.step, pointer + "/step");
    if (!step.number()) by.fail("a step is a number where parameters are symbols");
    // Where the step is not 1, the variable counts the iterations.
    bool const plain = step == Polynomial(1);
    Polynomial const is = plain ? own : from + step * own;
    domain.add(plain ? own - from : own);
    domain.add(plain ? to - 1 - own : floor(by, to - 1 - from, step, domain) - own);
    scope_.emplace_back(loop.variable, is);
    statement.loops.push_back(variable);
    statement.values.push_back(is);
  }

  void add_operation(Operation const& operation, std::string const& pointer, Domain& domain, Statement& statement,
                     std::vector<Model::Need>& needs) {
    auto const stream = static_cast<std::size_t>(std::ranges::find(program_.streams, operation.stream, &Stream::name) -
                                                 program_.streams.begin());
    std::string const of = "'" + operation.stream + "' by '" + statement.task + "'";
    Window window{operation.access == Access::write ? Access::write : Access::read, stream, {}, {}, {}, {}, {}};
    for (std::size_t d = 0; d < operation.index.size(); ++d) {
      std::string const own = pointer + "/index/" + std::to_string(d);
      Polynomial const index = value(operation.index[d], own, domain);
      if (index.degree() > 1) formula(operation.index[d], own).fail("an index is affine where parameters are symbols");
      needs.push_back({"the index of " + of, {}, index});
      needs.push_back({"the index of " + of, {}, model_.streams[stream].dims[d] - index - 1});
      window.index.push_back(index);
    }
    window.reach = value(operation.count, pointer + member_of(operation.access), domain);
    if (operation.access != Access::peek) window.count = window.reach;
    needs.push_back({"elements of " + of, {}, window.reach});
    if (operation.horizon) {
      window.reach = value(*operation.horizon, pointer + "/horizon", domain);
      needs.push_back({"the horizon of " + of, {}, window.reach - window.count});
    }
    add_window(std::move(window), statement, domain);
  }
  /// The member of an operation in the program's text that says how many elements it is about.
  static char const* member_of(Access access) {
    switch (access) {
      case Access::write: return "/write";
      case Access::read: return "/read";
      case Access::peek: return "/peek";
    }
    return "";
  }
  /// A task's operations on one stream act as one. Writes add up. So do reads, and each reaches as far as it says.
  static void add_window(Window window, Statement& statement, Domain const& domain) {
    Polynomial total = window.count;
    for (Window& other : statement.windows) {
      if (other.stream != window.stream || other.access != window.access || window.count == Polynomial{} ||
          other.count == Polynomial{} || !same(window.index, other.index, domain))
        continue;
      if (window.access == Access::write) {
        other.count += window.count;
        return;
      }
      total += other.count;
    }
    bool const several = total != window.count;
    statement.windows.push_back(window);
    if (several) {
      window.count = {};
      window.reach = total;
      statement.windows.push_back(std::move(window));
    }
  }
  static bool same(std::vector<Polynomial> const& a, std::vector<Polynomial> const& b, Domain const& domain) {
    for (std::size_t d = 0; d < a.size(); ++d) {
      if (!domain.decide(a[d] - b[d]) || !domain.decide(b[d] - a[d])) return false;
    }
    return true;
  }

  Program const& program_;
  std::size_t degree_;
  Parameters numbers_;
  Model model_;
  std::vector<std::pair<std::string, Polynomial>> scope_;  // symbols, and the loops around
  std::map<For const*, Variable> loops_;
  std::vector<PathStep> path_;
  std::size_t position_ = 0;
};

}  // namespace

std::vector<Polynomial> bounds_of(Floor const& floor) {
  Polynomial const rest = floor.of - Polynomial(floor.by) * Polynomial::of(floor.value);
  return {rest, Polynomial(floor.by) - 1 - rest};
}

Polynomial as_second(Model const& model, Polynomial const& p) {
  std::map<Variable, Polynomial> by;
  for (Variable variable : p.variables()) {
    if (std::ranges::find(model.params, variable) == model.params.end())
      by.emplace(variable, Polynomial::of(variable + second));
  }
  return p.replaced(by);
}
std::vector<Polynomial> as_second(Model const& model, std::vector<Polynomial> const& all) {
  std::vector<Polynomial> renamed;
  for (Polynomial const& p : all) renamed.push_back(as_second(model, p));
  return renamed;
}

Model make_model(Program const& program, Parameters const& values, Symbols const& symbols,
                 std::map<std::string, std::string> const& bound, std::size_t degree) {
  return Modeler(program, values, symbols, degree).whole(bound);
}

}  // namespace hiway::plan
