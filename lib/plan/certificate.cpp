#include "lib/plan/certificate.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "lib/text.hpp"

namespace hiway::plan {
namespace {

// ---- JSON. Not with operator+ of a literal and a text: g++ 12 warns about the code that it makes of that.
std::string quoted(std::string const& text) { return json_text(text); }
std::string quoted(Rational const& number) { return quoted(number.str()); }

template <class List, class Text>
std::string list_of(List const& list, Text const& text) {
  std::string all(1, '[');
  for (auto const& one : list) {
    if (all.size() > 1) all += ", ";
    all += text(one);
  }
  return all += ']';
}

/// Keys, and values as JSON text.
using Members = std::vector<std::pair<std::string, std::string>>;
std::string object(Members const& members) {
  std::string all(1, '{');
  for (auto const& [key, value] : members) {
    if (all.size() > 1) all += ", ";
    all += quoted(key);
    all += ": ";
    all += value;
  }
  return all += '}';
}

class Writer {
 public:
  Writer(Program const& program, Model const& model) : program_(program), model_(model) {
    // Loops may share a variable's name, and a floor has none.
    std::set<std::string> known;
    for (std::size_t v = 0; v < model.names.size(); ++v) {
      bool const floor = std::ranges::find(model.floors, v, &Floor::value) != model.floors.end();
      std::string name = floor ? "" : model.names[v];
      if (floor || known.contains(name)) name.append(1, '#').append(std::to_string(v));
      known.insert(name);
      names_.push_back(std::move(name));
    }
  }

  [[nodiscard]] std::string whole(Proven const& proven, std::size_t symbols, std::int64_t least) const {
    Members bound;
    for (std::size_t s = 0; s < proven.bound.size(); ++s)
      bound.emplace_back(program_.streams[s].name, json(proven.bound[s]));
    std::vector<std::string> statements;
    for (std::size_t s = 0; s < model_.statements.size(); ++s)
      statements.push_back(json(model_.statements[s], proven.times[s]));
    std::vector<Variable> const own(model_.params.begin(),
                                    model_.params.begin() + static_cast<std::ptrdiff_t>(symbols));
    auto const as_json = [this](auto const& one) { return this->json(one); };
    return object({{"symbols", names(own)},
                   {"least", std::to_string(least)},
                   {"params", names(model_.params)},
                   {"bound", object(bound)},
                   {"floors", list_of(model_.floors, as_json)},
                   {"domain", json(model_.domain)},
                   {"statements", list_of(statements, std::identity{})},
                   {"rests", list_of(model_.rests, as_json)},
                   {"waits", list_of(proven.needs, as_json)},
                   {"facts", list_of(proven.facts, as_json)}}) +
           "\n";
  }

 private:
  [[nodiscard]] std::string plain(Variable variable) const {
    return variable >= second ? names_[variable - second] + "'" : names_[variable];
  }
  [[nodiscard]] std::string names(std::vector<Variable> const& all) const {
    return list_of(all, [this](Variable v) { return quoted(plain(v)); });
  }
  [[nodiscard]] std::string json(Polynomial const& p) const {
    Members terms;
    for (auto const& [monomial, factor] : p.terms()) {
      std::string product;
      for (Variable variable : monomial) {
        if (!product.empty()) product += '*';
        product += plain(variable);
      }
      terms.emplace_back(product, quoted(factor));
    }
    return object(terms);
  }
  [[nodiscard]] std::string json(std::vector<Polynomial> const& all) const {
    return list_of(all, [this](Polynomial const& p) { return json(p); });
  }
  [[nodiscard]] std::string json(Floor const& floor) const {
    return object({{"value", quoted(plain(floor.value))}, {"of", json(floor.of)}, {"by", quoted(floor.by)}});
  }
  [[nodiscard]] static std::string json(Proof const& proof) {
    return list_of(proof.terms, [](Proof::Term const& term) {
      std::vector<std::string> const pair{quoted(term.factor),
                                          list_of(term.product, [](std::size_t g) { return std::to_string(g); })};
      return list_of(pair, std::identity{});
    });
  }
  [[nodiscard]] std::string json(Statement const& statement, std::vector<Polynomial> const& times) const {
    return object({{"task", quoted(statement.task)},
                   {"process", quoted(statement.process)},
                   {"position", std::to_string(statement.position)},
                   {"loops", names(statement.loops)},
                   {"values", json(statement.values)},
                   {"domain", json(statement.domain)},
                   {"windows", list_of(statement.windows, [this](Window const& w) { return json(w); })},
                   {"times", json(times)}});
  }
  [[nodiscard]] std::string json(Window const& window) const {
    bool const writes = window.access == Access::write;
    Members members{{"access", quoted(writes ? "write" : "read")},
                    {"stream", quoted(program_.streams[window.stream].name)},
                    {"index", json(window.index)},
                    {"first", json(window.first)}};
    members.emplace_back(writes ? "count" : "reach", json(writes ? window.count : window.reach));
    if (!writes) members.emplace_back("total", json(window.total));
    return object(members);
  }
  [[nodiscard]] std::string json(Rest const& rest) const {
    return object({{"stream", quoted(program_.streams[rest.stream].name)},
                   {"index", names(rest.index)},
                   {"domain", json(rest.domain)},
                   {"written", json(rest.written)},
                   {"read", json(rest.read)}});
  }
  [[nodiscard]] std::string json(Need const& need) const {
    auto const replaced = [this](std::pair<Variable, Polynomial> const& one) {
      std::vector<std::string> const pair{quoted(plain(one.first)), json(one.second)};
      return list_of(pair, std::identity{});
    };
    return object({{"what", quoted(need.what)},
                   {"later", std::to_string(need.later)},
                   {"earlier", std::to_string(need.earlier)},
                   {"later_window", std::to_string(need.later_window)},
                   {"earlier_window", std::to_string(need.earlier_window)},
                   {"order", std::to_string(need.order)},
                   {"empty", need.empty ? "true" : "false"},
                   {"replaced", list_of(need.replaced, replaced)},
                   {"given", json(need.given)},
                   {"proofs", list_of(need.proofs, [](Proof const& proof) { return json(proof); })}});
  }
  [[nodiscard]] std::string json(Fact const& fact) const {
    return object({{"what", quoted(fact.what)},
                   {"given", json(fact.given)},
                   {"at_least_0", json(fact.at_least_0)},
                   {"proof", json(fact.proof)}});
  }

  Program const& program_;
  Model const& model_;
  std::vector<std::string> names_;
};

}  // namespace

std::string certificate_of(Program const& program, Model const& model, Proven const& proven, std::size_t symbols,
                           std::int64_t least) {
  return Writer(program, model).whole(proven, symbols, least);
}

}  // namespace hiway::plan
