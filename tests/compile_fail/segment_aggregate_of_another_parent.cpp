// expect: hiway: segment: aggregate: close takes another type of parent than the innermost enumerate opens
#include <cstdint>

#include <hiway/hiway.hpp>

struct Copies {
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return x; }
  HIWAY_DEVICE std::uint64_t at(std::uint32_t const&, unsigned k) const { return k; }
};
struct Parts {
  HIWAY_DEVICE unsigned count(std::uint64_t const& x) const { return static_cast<unsigned>(x); }
  HIWAY_DEVICE std::uint64_t at(std::uint64_t const&, unsigned k) const { return k; }
};
#if defined(REPAIRED)
using Parent = std::uint64_t;
#else
using Parent = std::uint32_t;  // the outer region's: the inner one is closed first
#endif
struct Sum {
  HIWAY_DEVICE std::uint64_t identity() const { return 0; }
  HIWAY_DEVICE std::uint64_t value(std::uint64_t const& x) const { return x; }
  HIWAY_DEVICE std::uint64_t join(std::uint64_t const& a, std::uint64_t const& b) const { return a + b; }
  HIWAY_DEVICE std::uint64_t close(Parent const&, std::uint64_t const& sum) const { return sum; }
};

int main() {
  using namespace hiway::segment;
  hiway::Pipeline pipe;
  pipe.add_segment("sums", indices(10),
                   chain(enumerate("copies", Copies{}), enumerate("parts", Parts{}), aggregate("sum", Sum{}),
                         count<std::uint64_t>("all")));
}
