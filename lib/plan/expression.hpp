// Formula: an Expression parsed once, to be evaluated for many values of its variables.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiway/plan/program.hpp"

namespace hiway::plan {

/// What a name stands for: a number, or the loop variable with this slot.
struct Meaning {
  enum class Kind { number, slot };
  Kind kind = Kind::number;
  std::int64_t value = 0;  ///< the number, or the slot
};
struct Scope {
  /// Nothing for a name that is not known.
  std::function<std::optional<Meaning>(std::string_view name)> meaning;
  /// All names that `meaning` knows, for error messages.
  std::function<std::vector<std::string>()> names;
};

/// Whether an expression may use the text as a name: letters, digits and _, no digit first; not `and`, `or`, `not`.
[[nodiscard]] bool is_name(std::string_view text);

/// *Throws* ConfigError with the place and the JSON pointer it was given, in parsing as well as in evaluating.
class Formula {
 public:
  Formula(Expression const& expression, std::string pointer, Scope const& scope);

  /// `slots`: the loop variables' values.
  [[nodiscard]] std::int64_t value(std::vector<std::int64_t> const& slots) const;

  /// Throws, with the place, for a value that is not what it must be.
  [[noreturn]] void fail(std::string const& what) const;
  [[nodiscard]] std::string const& text() const { return expression_.text; }

  enum class Op : std::uint8_t {
    number,
    slot,
    negate,
    add,
    subtract,
    multiply,
    divide,
    modulo,
    lt,
    le,
    gt,
    ge,
    eq,
    ne,
    both,    ///< if the left side is 0, that decides: the right side's steps, as many as `value`, are skipped
    either,  ///< the same if the left side is not 0
    truth,   ///< 1, or 0 for 0
    opposite
  };
  /// Evaluates in another kind of number. `leaf(op, value)` gives the value of a number or slot, `is_true(a)` whether
  /// it is not 0, and `apply(op, a, b)` the result of every other operation. Negation subtracts from 0. `stack` starts
  /// empty.
  template <class Stack, class Leaf, class IsTrue, class Apply>
  [[nodiscard]] auto fold(Stack& stack, Leaf leaf, IsTrue is_true, Apply apply) const {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      Step const& step = steps_[s];
      if (step.op == Op::number || step.op == Op::slot) {
        stack.push_back(leaf(step.op, step.value));
      } else if (step.op == Op::both || step.op == Op::either) {
        bool const left = is_true(stack.back());
        stack.pop_back();
        if (left != (step.op == Op::either)) continue;  // the right side decides
        stack.push_back(leaf(Op::number, left ? 1 : 0));
        s += static_cast<std::size_t>(step.value);
      } else if (step.op == Op::truth || step.op == Op::opposite) {
        bool const holds = is_true(stack.back()) == (step.op == Op::truth);
        stack.back() = leaf(Op::number, holds ? 1 : 0);
      } else if (step.op == Op::negate) {
        stack.back() = apply(Op::subtract, leaf(Op::number, 0), stack.back());
      } else {
        auto const b = stack.back();
        stack.pop_back();
        stack.back() = apply(step.op, stack.back(), b);
      }
    }
    return stack.back();
  }

 private:
  friend class FormulaParser;
  struct Step {
    Op op;
    std::int64_t value;
  };
  [[nodiscard]] std::int64_t apply(Op op, std::int64_t a, std::int64_t b) const;
  /// a / b rounded down, and what is left then: it has the sign of b.
  [[nodiscard]] std::int64_t rounded_down(std::int64_t a, std::int64_t b) const;
  [[nodiscard]] std::int64_t remainder(std::int64_t a, std::int64_t b) const;

  Expression expression_;
  std::string pointer_;
  std::vector<Step> steps_;  // in reverse Polish notation
};

}  // namespace hiway::plan
