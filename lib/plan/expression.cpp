#include "lib/plan/expression.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "lib/json.hpp"

namespace hiway::plan {
namespace {

/// The same in every locale.
bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

// By recursive descent:
//
//   condition   = conjunction { (or ||) conjunction }
//   conjunction = negation { (and &&) negation }
//   negation    = not negation | comparison
//   comparison  = sum [ (< <= > >= == !=) sum ]
//   sum         = product { (+ -) product }
//   product     = factor { (* / %) factor }
//   factor      = (- !) factor | integer | name | ( condition )
class FormulaParser {
 public:
  FormulaParser(Formula& formula, Scope const& scope) : formula_(formula), text_(formula.text()), scope_(scope) {}

  void whole() {
    condition();
    if (at_end()) return;
    if (compared_ && is_any_of("<>=!")) fail("a comparison of a comparison: write a < b and b < c, or brackets");
    if (is_any_of("=")) fail("== compares");
    fail("an operator is needed: + - * / % < <= > >= == != and or");
  }

 private:
  using Op = Formula::Op;
  static constexpr int deepest = 200;

  [[noreturn]] void fail(std::string const& what) const {
    formula_.fail("column " + std::to_string(at_ + 1) + ": " + what);
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool at_end() {
    peek();
    return at_ == text_.size();
  }
  bool is_any_of(std::string_view signs) { return !at_end() && signs.find(text_[at_]) != signs.npos; }
  bool take(std::string_view word) {
    peek();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  /// Takes a whole word, not the beginning of a longer name.
  bool take_word(std::string_view word) {
    peek();
    if (name_here() != word) return false;
    at_ += word.size();
    return true;
  }
  std::string_view name_here() const {
    std::size_t end = at_;
    while (end < text_.size() && is_letter_or_digit(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  void emit(Op op, std::int64_t value = 0) { formula_.steps_.push_back({op, value}); }

  void condition() {
    conjunction();
    while (take_word("or") || take("||")) right_side(Op::either, [this] { conjunction(); });
  }
  void conjunction() {
    negation();
    while (take_word("and") || take("&&")) right_side(Op::both, [this] { negation(); });
  }
  /// The right side's steps follow `op`, whose value is their number.
  template <class Parse>
  void right_side(Op op, Parse parse) {
    std::size_t const at = formula_.steps_.size();
    emit(op);
    parse();
    emit(Op::truth);
    formula_.steps_[at].value = static_cast<std::int64_t>(formula_.steps_.size() - at - 1);
  }
  void negation() {
    if (!take_word("not")) return comparison();
    if (++depth_ > deepest) fail("nested more than 200 deep");
    negation();
    emit(Op::opposite);
    --depth_;
  }
  void comparison() {
    sum();
    compared_ = false;
    // The longer words first.
    for (auto const& [word, op] :
         {std::pair{"<=", Op::le}, {">=", Op::ge}, {"==", Op::eq}, {"!=", Op::ne}, {"<", Op::lt}, {">", Op::gt}}) {
      if (!take(word)) continue;
      sum();
      compared_ = true;
      return emit(op);
    }
  }
  void sum() {
    product();
    for (;;) {
      if (take("+")) {
        product();
        emit(Op::add);
      } else if (take("-")) {
        product();
        emit(Op::subtract);
      } else {
        return;
      }
    }
  }
  void product() {
    factor();
    for (;;) {
      if (take("*")) {
        factor();
        emit(Op::multiply);
      } else if (take("/")) {
        factor();
        emit(Op::divide);
      } else if (take("%")) {
        factor();
        emit(Op::modulo);
      } else {
        return;
      }
    }
  }
  void factor() {
    if (++depth_ > deepest) fail("nested more than 200 deep");
    char const c = peek();
    if (take("-")) {
      factor();
      emit(Op::negate);
    } else if (text_.substr(at_, 2) != "!=" && take("!")) {
      factor();
      emit(Op::opposite);
    } else if (take("(")) {
      condition();
      if (!take(")")) fail("')' or an operator is needed");
    } else if (c >= '0' && c <= '9') {
      integer();
    } else if (is_name(name_here())) {
      name();
    } else {
      fail("a number, a name, '-', '!' or '(' is needed");
    }
    --depth_;
  }
  void integer() {
    std::int64_t value = 0;
    auto const [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail("a number of more than 64 bits");
    at_ = static_cast<std::size_t>(stop - text_.data());
    emit(Op::number, value);
  }
  void name() {
    std::string_view const name = name_here();
    std::optional<Meaning> const meaning = scope_.meaning(name);
    if (!meaning) fail("no parameter or loop variable '" + std::string{name} + "' here" + known_names());
    at_ += name.size();
    emit(meaning->kind == Meaning::Kind::number ? Op::number : Op::slot, meaning->value);
  }
  /// ": N, i", or a note that there are none.
  [[nodiscard]] std::string known_names() const {
    constexpr std::size_t most = 20;
    std::string text;
    std::vector<std::string> const names = scope_.names();
    for (std::size_t n = 0; n < names.size() && n < most; ++n) text += (n == 0 ? ": " : ", ") + names[n];
    if (names.size() > most) text += ", ...";
    return names.empty() ? ": there are none" : text;
  }

  Formula& formula_;
  std::string_view text_;
  Scope const& scope_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool compared_ = false;  // the last comparison had an operator
};

bool is_name(std::string_view text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::ranges::all_of(text, is_letter_or_digit) &&
         text != "and" && text != "or" && text != "not";
}

Formula::Formula(Expression const& expression, std::string pointer, Scope const& scope)
    : expression_(expression), pointer_(std::move(pointer)) {
  FormulaParser(*this, scope).whole();
}

void Formula::fail(std::string const& what) const {
  fail_at(expression_.place, pointer_, "'" + expression_.text + "': " + what);
}

std::int64_t Formula::value(std::vector<std::int64_t> const& slots) const {
  struct {
    std::array<std::int64_t, 1024> values;  // each level of nesting keeps at most three
    std::size_t depth = 0;
    void push_back(std::int64_t value) { values[depth++] = value; }
    void pop_back() { --depth; }
    std::int64_t& back() { return values[depth - 1]; }
  } stack;
  return fold(
      stack, [&](Op op, std::int64_t value) { return op == Op::slot ? slots[static_cast<std::size_t>(value)] : value; },
      [](std::int64_t value) { return value != 0; },
      [this](Op op, std::int64_t a, std::int64_t b) { return apply(op, a, b); });
}

std::int64_t Formula::rounded_down(std::int64_t a, std::int64_t b) const {
  std::int64_t const rest = remainder(a, b);
  if (b == -1) return apply(Op::subtract, 0, a);
  return rest == a % b ? a / b : a / b - 1;
}

std::int64_t Formula::remainder(std::int64_t a, std::int64_t b) const {
  if (b == 0) fail("division by 0");
  if (b == -1) return 0;
  std::int64_t const rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t Formula::apply(Op op, std::int64_t a, std::int64_t b) const {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Op::add: overflow = __builtin_add_overflow(a, b, &result); break;
    case Op::subtract: overflow = __builtin_sub_overflow(a, b, &result); break;
    case Op::multiply: overflow = __builtin_mul_overflow(a, b, &result); break;
    case Op::divide: return rounded_down(a, b);
    case Op::modulo: return remainder(a, b);
    case Op::lt: return a < b;
    case Op::le: return a <= b;
    case Op::gt: return a > b;
    case Op::ge: return a >= b;
    case Op::eq: return a == b;
    case Op::ne: return a != b;
    default: break;
  }
  if (overflow) fail("more than 64 bits");
  return result;
}

}  // namespace hiway::plan
