// expect: hiway: segment: loops neither nest nor overlap
#include <cstdint>

#include <hiway/hiway.hpp>

struct Turn {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, hiway::segment::Emit<std::uint32_t>& again,
                               hiway::segment::Emit<std::uint32_t>& done) const {
    (x > 9 ? again : done).put(x / 2);
  }
};
struct Outer;
struct Inner;

int main() {
  using namespace hiway::segment;
  auto const done = count<std::uint32_t>("done");
#if defined(REPAIRED)
  auto const outer = done;
#else
  auto const outer = back_to<Outer>();  // around the inner one
#endif
  hiway::Pipeline pipe;
  pipe.add_segment("turns", indices(10),
                   node<Outer>("outer", Turn{}, node<Inner>("inner", Turn{}, back_to<Inner>(), outer), done));
}
