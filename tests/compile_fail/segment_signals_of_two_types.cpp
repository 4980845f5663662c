// expect: hiway: segment: all nodes of a segment hear and raise one type of signal
#include <cstdint>

#include <hiway/hiway.hpp>

struct Raise {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, hiway::segment::Emit<std::uint32_t>& out,
                               hiway::segment::EmitSignal<std::uint32_t>& signal) const {
    out.put(x);
    if (x % 8 == 0) signal.put(x);
  }
};
#if defined(REPAIRED)
using Heard = std::uint32_t;
#else
using Heard = float;
#endif
struct Hear {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x; }
  HIWAY_DEVICE bool on(Heard const& signal) const { return signal != 0; }
};

int main() {
  using namespace hiway::segment;
  hiway::Pipeline pipe;
  pipe.add_segment("numbers", indices(10),
                   chain(node("raise", Raise{}), node("hear", Hear{}), count<std::uint32_t>("all")));
}
