// expect: hiway: segment: items_per_lane is 1 to 8, of a filter that returns its item
#include <cstdint>

#include <hiway/hiway.hpp>

struct Grow {
#if !defined(REPAIRED)
  static constexpr unsigned items_per_lane = 2;
#endif
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return x; }
  HIWAY_DEVICE std::uint32_t at(std::uint32_t const& x, unsigned k) const { return x + k; }
};

int main() {
  using namespace hiway::segment;
  hiway::Pipeline pipe;
  pipe.add_segment("growth", indices(10), node("grow", Grow{}, count<std::uint32_t>("all")));
}
