// expect: hiway: segment: the node function is of no kind: give it operator\(\) \(filter\), start, more and next
#include <cstdint>

#include <hiway/hiway.hpp>

struct Copies {
#if defined(REPAIRED)
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return x; }
#endif
  HIWAY_DEVICE std::uint32_t at(std::uint32_t const& x, unsigned k) const { return x + k; }
};

int main() {
  using namespace hiway::segment;
  auto tree = node("copies", Copies{}, count<std::uint32_t>("all"));
  hiway::Pipeline pipe;
  pipe.add_segment("copies", indices(10), tree);
}
