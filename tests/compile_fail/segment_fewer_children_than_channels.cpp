// expect: hiway: segment: a node has one child for each channel of its function
#include <cstdint>

#include <hiway/hiway.hpp>

struct Split {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, hiway::segment::Emit<std::uint32_t>& even,
                               hiway::segment::Emit<std::uint32_t>& odd) const {
    (x % 2 == 0 ? even : odd).put(x);
  }
};

int main() {
  using namespace hiway::segment;
  auto const even = count<std::uint32_t>("even");
#if defined(REPAIRED)
  auto tree = node("split", Split{}, even, count<std::uint32_t>("odd"));
#else
  auto tree = node("split", Split{}, even);
#endif
  hiway::Pipeline pipe;
  pipe.add_segment("halves", indices(10), tree);
}
