// expect: hiway: segment: back_to<Tag>\(\) gives another type of item than the loop's first node takes
#include <cstdint>

#include <hiway/hiway.hpp>

#if defined(REPAIRED)
using Again = std::uint32_t;
#else
using Again = std::uint64_t;  // the loop's first node takes std::uint32_t
#endif
struct Turn {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, hiway::segment::Emit<Again>& again,
                               hiway::segment::Emit<std::uint32_t>& done) const {
    if (x > 9) {
      again.put(x / 2);
    } else {
      done.put(x);
    }
  }
};
struct Head;

int main() {
  using namespace hiway::segment;
  hiway::Pipeline pipe;
  pipe.add_segment("turns", indices(10), node<Head>("turn", Turn{}, back_to<Head>(), count<std::uint32_t>("done")));
}
