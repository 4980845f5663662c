// Input: a random number for each option; and the prices that come of it.
#pragma once
#include <cstdint>
#include <vector>

namespace bs {

inline constexpr std::uint32_t tile_options = 4096;

/// From 0 to 1.
using Numbers = std::vector<float>;

/// Of all options, in their order.
struct Prices {
  std::vector<float> calls;
  std::vector<float> puts;

  void resize(std::size_t options) {
    calls.assign(options, 0);
    puts.assign(options, 0);
  }
};

struct InputOptions {
  std::uint64_t options = 65536;
  std::uint64_t seed = 1;
};
/// *Throws* BadInput.
Numbers make_numbers(InputOptions const& options);

/// The largest one, of calls and puts; infinite where one is not a number.
double difference(Prices const& prices, Prices const& oracle);

}  // namespace bs
