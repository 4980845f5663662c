// RandomStream: the numbers of glibc's rand_r, which anybody may begin to read anywhere.
#pragma once
#include <array>
#include <cstdint>

#include "hiway/config.hpp"

namespace evolutionary_program {

class RandomStream {
 public:
  HIWAY_DEVICE constexpr explicit RandomStream(std::uint32_t seed) : state_(seed) {}

  /// 0 to 2^31 - 1: three steps of the state, of which the upper bits.
  HIWAY_DEVICE constexpr std::uint32_t next() {
    std::uint32_t number = (step() >> 16) & 0x7ff;
    number = number << 10 ^ ((step() >> 16) & 0x3ff);
    return number << 10 ^ ((step() >> 16) & 0x3ff);
  }
  /// next() % 2, which is one bit of the last of its three states.
  HIWAY_DEVICE constexpr std::uint32_t next_bit() {
    // Three steps at once.
    constexpr std::uint32_t factor_of_three = factor * factor * factor;
    constexpr std::uint32_t addend_of_three = (factor * factor + factor + 1) * addend;
    state_ = factor_of_three * state_ + addend_of_three;
    return state_ >> 16 & 1;
  }
  /// As `count` calls of next().
  HIWAY_DEVICE constexpr void skip(std::uint64_t count) {
    // n steps are s -> a s + b; twice as many are a (a s + b) + b.
    std::uint32_t a = factor;
    std::uint32_t b = addend;
    for (std::uint64_t steps = 3 * count; steps != 0; steps >>= 1) {
      if ((steps & 1) != 0) state_ = a * state_ + b;
      b = a * b + b;
      a = a * a;
    }
  }

 private:
  static constexpr std::uint32_t factor = 1103515245;
  static constexpr std::uint32_t addend = 12345;
  HIWAY_DEVICE constexpr std::uint32_t step() { return state_ = factor * state_ + addend; }

  std::uint32_t state_;
};

}  // namespace evolutionary_program
