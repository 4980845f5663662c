// expect: hiway: segment: a node function is copied to the device and must be trivially copyable
#include <cstdint>
#include <vector>

#include <hiway/hiway.hpp>

struct Scale {
#if !defined(REPAIRED)
  std::vector<std::uint32_t> factors;
#endif
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return 2 * x; }
};

int main() {
  using namespace hiway::segment;
  auto tree = node("scale", Scale{}, count<std::uint32_t>("all"));
  hiway::Pipeline pipe;
  pipe.add_segment("scaled", indices(10), tree);
}
