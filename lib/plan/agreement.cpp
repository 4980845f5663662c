#include "lib/plan/agreement.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace hiway::plan {
namespace {

/// What a task writes (first, count), or needs (first, reach), by channel.
using Seen = std::map<std::tuple<std::uint32_t, bool, std::string>, std::pair<Rational, Rational>>;

class Comparer {
 public:
  Comparer(Program const& program, Model const& model, Tasks const& tasks, std::vector<std::int64_t> const& symbols)
      : program_(program), model_(model), tasks_(tasks) {
    for (std::size_t s = 0; s < symbols.size(); ++s) values_[model.params[s]] = symbols[s];
  }

  std::string whole() {
    Seen seen;
    for (std::uint32_t task = 0; task < tasks_.size(); ++task) {
      if (!add_windows(task, seen)) return tasks_.label(task) + " is no point of one statement";
    }
    Seen expected;
    for (Channel const& channel : tasks_.channels) {
      for (Write const& write : channel.writes)
        expected[{write.task, true, channel.name}] = {Rational(write.first), Rational(write.count)};
      for (Read const& read : channel.reads)
        expected[{read.task, false, channel.name}] = {Rational(read.first), Rational(read.reach)};
    }
    if (seen == expected) return "";
    for (auto const& [key, window] : expected) {
      auto const at = seen.find(key);
      if (at == seen.end() || at->second != window)
        return tasks_.label(std::get<0>(key)) + " has another window in " + std::get<2>(key);
    }
    return "windows that no task has";
  }

 private:
  [[nodiscard]] Rational at(Polynomial const& p) const {
    return p.at([this](Variable variable) { return values_.at(variable); });
  }
  /// Sets the loops' variables, and the floors as far as they are known.
  void set_values(Statement const& statement, std::uint32_t task) {
    for (std::size_t l = 0; l < statement.loops.size(); ++l) {
      set_floors();
      Rational& own = values_[statement.loops[l]];
      own = 0;
      Rational const from = at(statement.values[l]);
      own = 1;
      Rational const step = at(statement.values[l]) - from;
      own = (Rational(tasks_.values[tasks_.first_value[task] + l]) - from) / step;
    }
    set_floors();
  }
  void set_floors() {
    for (Floor const& floor : model_.floors) {
      std::set<Variable> const needed = floor.of.variables();
      if (std::ranges::all_of(needed, [this](Variable v) { return values_.contains(v); }))
        values_[floor.value] = rounded_down(at(floor.of) / floor.by);
    }
  }
  bool add_windows(std::uint32_t task, Seen& seen) {
    int statements = 0;
    std::map<Variable, Rational> const outside = values_;
    for (Statement const& statement : model_.statements) {
      if (statement.position != tasks_.definition[task]) continue;
      values_ = outside;
      set_values(statement, task);
      if (!std::ranges::all_of(statement.domain, [this](Polynomial const& p) { return at(p) >= 0; })) continue;
      ++statements;
      for (Window const& window : statement.windows) add_window(task, window, seen);
    }
    values_ = outside;
    return statements == 1;
  }
  void add_window(std::uint32_t task, Window const& window, Seen& seen) {
    bool const writes = window.access == Access::write;
    Rational const elements = at(writes ? window.count : window.reach);
    if (elements == 0) return;
    std::string channel = program_.streams[window.stream].name;
    for (std::size_t d = 0; d < window.index.size(); ++d) {
      channel += d == 0 ? '[' : ',';
      channel += at(window.index[d]).str();
    }
    if (!window.index.empty()) channel += ']';
    auto const [own, fresh] = seen.try_emplace({task, writes, channel}, at(window.first), elements);
    if (!fresh) own->second.second = std::max(own->second.second, elements);
  }

  Program const& program_;
  Model const& model_;
  Tasks const& tasks_;
  std::map<Variable, Rational> values_;
};

}  // namespace

std::string disagreement(Program const& program, Model const& model, Tasks const& tasks,
                         std::vector<std::int64_t> const& symbols) {
  return Comparer(program, model, tasks, symbols).whole();
}

}  // namespace hiway::plan
