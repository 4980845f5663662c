// expect: hiway: segment: the nodes of a loop are filters: each puts at most one item into the loop for one it takes
#include <cstdint>

#include <hiway/hiway.hpp>

struct Grow {
#if defined(REPAIRED)
  HIWAY_DEVICE hiway::segment::Maybe<std::uint32_t> operator()(std::uint32_t const& x) const {
    return x < 9 ? hiway::segment::Maybe<std::uint32_t>(x + 1) : hiway::segment::Maybe<std::uint32_t>::none();
  }
#else
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return x < 9 ? 2 : 0; }
  HIWAY_DEVICE std::uint32_t at(std::uint32_t const& x, unsigned k) const { return x + 1 + k; }
#endif
};
struct Head;

int main() {
  using namespace hiway::segment;
  hiway::Pipeline pipe;
  pipe.add_segment("growth", indices(10), node<Head>("grow", Grow{}, back_to<Head>()));
}
