// expect: hiway: segment: all nodes of a segment hear and raise one type of signal
#include <cstdint>

#include <hiway/hiway.hpp>

struct Copies {
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return x; }
  HIWAY_DEVICE std::uint64_t at(std::uint32_t const&, unsigned k) const { return k; }
};
struct Tick {
  std::uint32_t at;
};
struct Hear {
  HIWAY_DEVICE std::uint64_t operator()(std::uint64_t const& x) const { return x; }
#if !defined(REPAIRED)
  HIWAY_DEVICE bool on(Tick const&) const { return false; }  // a segment with regions has their signals alone
#endif
};

int main() {
  using namespace hiway::segment;
  hiway::Pipeline pipe;
  pipe.add_segment("numbers", indices(10),
                   chain(enumerate("copies", Copies{}), node("hear", Hear{}), count<std::uint64_t>("all")));
}
