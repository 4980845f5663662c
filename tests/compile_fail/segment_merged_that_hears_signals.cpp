// expect: hiway: segment: merge: expanders, and filters that return their item; neither hears signals
#include <cstdint>

#include <hiway/hiway.hpp>

struct Add {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x + 1; }
};
struct Hear : Add {
#if !defined(REPAIRED)
  HIWAY_DEVICE void on(std::uint32_t const&) const {}
#endif
};

int main() {
  using namespace hiway::segment;
  hiway::Pipeline pipe;
  pipe.add_segment("sums", indices(10), node("both", merge(Add{}, Hear{}), count<std::uint32_t>("all")));
}
