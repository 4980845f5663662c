// expect: hiway: segment: loops neither nest nor overlap
#include <cstdint>

#include <hiway/hiway.hpp>

struct Turn {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, hiway::segment::Emit<std::uint32_t>& again,
                               hiway::segment::Emit<std::uint32_t>& done) const {
    (x > 9 ? again : done).put(x / 2);
  }
};
struct First;
struct Second;

int main() {
  using namespace hiway::segment;
  auto const done = count<std::uint32_t>("done");
#if defined(REPAIRED)
  auto const again = done;
#else
  auto const again = back_to<First>();  // from within the second's loop
#endif
  hiway::Pipeline pipe;
  pipe.add_segment(
      "turns", indices(10),
      node<First>("first", Turn{},
                  node<Second>("second", Turn{}, node("third", Turn{}, back_to<Second>(), done), again), done));
}
