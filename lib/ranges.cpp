#include "hiway/ranges.hpp"

namespace hiway {
namespace {

RangeCalls& calls() {
  static RangeCalls set;
  return set;
}

}  // namespace

void set_range_calls(RangeCalls set) noexcept { calls() = set; }

void push_range(char const* name) noexcept {
  if (calls().push != nullptr) calls().push(name);
}
void pop_range() noexcept {
  if (calls().pop != nullptr) calls().pop();
}

}  // namespace hiway
