// expect: hiway: segment: a segment with signals has no loops: they do not keep the order of items
#include <cstdint>

#include <hiway/hiway.hpp>

using namespace hiway::segment;

struct Turn {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, Emit<std::uint32_t>& again, Emit<std::uint32_t>& done) const {
    x % 8 == 0 ? done.put(x) : again.put(x + 1);
  }
};
struct Hear {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x; }
#if !defined(REPAIRED)
  HIWAY_DEVICE void on(std::uint32_t const&) const {}
#endif
};
struct Head;

int main() {
  hiway::Pipeline pipe;
  pipe.add_segment("turns", indices(10),
                   node<Head>("turn", Turn{}, back_to<Head>(), chain(node("hear", Hear{}), count<std::uint32_t>("all"))));
}
