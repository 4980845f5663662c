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
std::uint64_t start_range(char const* name) noexcept { return calls().start != nullptr ? calls().start(name) : 0; }
void stop_range(std::uint64_t range) noexcept {
  if (calls().stop != nullptr) calls().stop(range);
}

}  // namespace hiway
