// expect: hiway: segment: two nodes have the same tag: one path leads to each node of a segment
#include <cstdint>

#include <hiway/hiway.hpp>

struct Split {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, hiway::segment::Emit<std::uint32_t>& even,
                               hiway::segment::Emit<std::uint32_t>& odd) const {
    (x % 2 == 0 ? even : odd).put(x);
  }
};
struct Halve {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x / 2; }
};
struct FirstHalving;
#if defined(REPAIRED)
struct SecondHalving;
#else
using SecondHalving = FirstHalving;  // one node behind both channels
#endif

int main() {
  using namespace hiway::segment;
  auto const all = count<std::uint32_t>("all");
  hiway::Pipeline pipe;
  pipe.add_segment(
      "halves", indices(10),
      node("split", Split{}, node<FirstHalving>("halve", Halve{}, all), node<SecondHalving>("halve", Halve{}, all)));
}
