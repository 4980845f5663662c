// expect: hiway: segment: back_to<Tag>\(\) leads to no ancestor of its node
#include <cstdint>

#include <hiway/hiway.hpp>

struct Turn {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, hiway::segment::Emit<std::uint32_t>& again,
                               hiway::segment::Emit<std::uint32_t>& done) const {
    (x > 9 ? again : done).put(x / 2);
  }
};
struct Left;
struct Right;

int main() {
  using namespace hiway::segment;
  auto const done = count<std::uint32_t>("done");
#if defined(REPAIRED)
  using Head = Right;
#else
  using Head = Left;  // beside it
#endif
  hiway::Pipeline pipe;
  pipe.add_segment("turns", indices(10),
                   node("split", Turn{}, node<Left>("left", Turn{}, done, done),
                        node<Right>("right", Turn{}, back_to<Head>(), done)));
}
