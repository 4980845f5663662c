#include "knn/sharing.hpp"

#include <bit>
#include <cmath>
#include <cstddef>

namespace knn {

Sharing::Sharing(Input const& input, Shares& shares, std::span<float> distances, unsigned threads,
                 std::uint32_t at_once)
    : input_(input),
      shares_(shares),
      distances_(distances),
      at_once_(at_once),
      parts_(threads + 1, Nearest{input.k}),
      meet_(threads + 1) {
  for (unsigned t = 1; t <= threads; ++t) {
    others_.emplace_back([this, t] {
      while (true) {
        meet_.arrive_and_wait();
        if (is_over_) return;
        compute();
        meet_.arrive_and_wait();
        select_part(t);
        meet_.arrive_and_wait();
      }
    });
  }
}

Sharing::~Sharing() {
  is_over_ = true;
  meet_.arrive_and_wait();
}

void Sharing::compute() {
  for (Range some; !(some = shares_.from_back(at_once_)).is_empty();) {
    for (std::uint32_t i = some.first; i < some.end; ++i)
      distances_[i] = std::sqrt(squared_distance(input_.from, input_.places[i]));
  }
}

void Sharing::select_part(unsigned thread) {
  Nearest& part = parts_[thread];
  part.clear();
  std::size_t const first = distances_.size() * thread / parts_.size();
  std::size_t const end = distances_.size() * (thread + 1) / parts_.size();
  for (std::size_t i = first; i < end; ++i)
    part.add(Key{std::bit_cast<std::uint32_t>(distances_[i])} << 32 | static_cast<std::uint32_t>(i));
}

std::span<Key const> Sharing::select() {
  meet_.arrive_and_wait();
  select_part(0);
  meet_.arrive_and_wait();
  for (std::size_t t = 1; t < parts_.size(); ++t) {
    for (Key const key : parts_[t].keys()) parts_[0].add(key);
  }
  return parts_[0].keys();
}

}  // namespace knn
