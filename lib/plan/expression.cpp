#include "lib/plan/expression.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "lib/json.hpp"

namespace hiway::plan {

// By recursive descent:
//
//   comparison = sum [ (< <= > >= == !=) sum ]
//   sum        = product { (+ -) product }
//   product    = factor { (* / %) factor }
//   factor     = - factor | integer | name | ( comparison )
class FormulaParser {
 public:
  FormulaParser(Formula& formula, Scope const& scope) : formula_(formula), text_(formula.text()), scope_(scope) {}

  void whole() {
    comparison();
    if (peek() != '\0') fail("an operator is needed");
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
  bool take(std::string_view word) {
    peek();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void emit(Op op, std::int64_t value = 0) { formula_.steps_.push_back({op, value}); }

  void comparison() {
    sum();
    // The longer word first.
    for (auto const& [word, op] :
         {std::pair{"<=", Op::le}, {">=", Op::ge}, {"==", Op::eq}, {"!=", Op::ne}, {"<", Op::lt}, {">", Op::gt}}) {
      if (!take(word)) continue;
      sum();
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
    } else if (take("(")) {
      comparison();
      if (!take(")")) fail("')' is needed");
    } else if (c >= '0' && c <= '9') {
      integer();
    } else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      name();
    } else {
      fail("a number, a name or '(' is needed");
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
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
    std::string_view const name = text_.substr(at_, end - at_);
    std::optional<Meaning> const meaning = scope_(name);
    if (!meaning) fail("no parameter or loop variable '" + std::string{name} + "' here");
    at_ = end;
    emit(meaning->kind == Meaning::Kind::number ? Op::number : Op::slot, meaning->value);
  }

  Formula& formula_;
  std::string_view text_;
  Scope const& scope_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

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
      [this](Op op, std::int64_t a, std::int64_t b) { return apply(op, a, b); });
}

std::int64_t Formula::apply(Op op, std::int64_t a, std::int64_t b) const {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Op::add: overflow = __builtin_add_overflow(a, b, &result); break;
    case Op::subtract: overflow = __builtin_sub_overflow(a, b, &result); break;
    case Op::multiply: overflow = __builtin_mul_overflow(a, b, &result); break;
    case Op::divide:
    case Op::modulo: {
      if (b == 0) fail("division by 0");
      if (b == -1) return op == Op::modulo ? 0 : apply(Op::subtract, 0, a);
      std::int64_t const floor = a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
      return op == Op::divide ? floor : a - floor * b;
    }
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
