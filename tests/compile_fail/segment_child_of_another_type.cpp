// expect: hiway: segment: a child takes another type of item than its channel gives
#include <cstdint>

#include <hiway/hiway.hpp>

struct Halve {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x / 2; }
};
struct Widen {
#if defined(REPAIRED)
  using Item = std::uint32_t;
#else
  using Item = std::uint64_t;  // the channel gives std::uint32_t
#endif
  HIWAY_DEVICE std::uint64_t operator()(Item const& x) const { return x; }
};

int main() {
  using namespace hiway::segment;
  auto tree = node("halve", Halve{}, node("widen", Widen{}, count<std::uint64_t>("all")));
  hiway::Pipeline pipe;
  pipe.add_segment("halves", indices(10), tree);
}
