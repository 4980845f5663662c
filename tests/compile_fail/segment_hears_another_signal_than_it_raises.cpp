// expect: hiway: segment: a node function hears another type of signal than it raises
#include <cstdint>

#include <hiway/hiway.hpp>

using namespace hiway::segment;

struct Tick {
  std::uint32_t at;
};
#if defined(REPAIRED)
using Heard = Tick;
#else
using Heard = std::uint32_t;
#endif
struct Raise {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, Emit<std::uint32_t>& out, EmitSignal<Tick>& signal) const {
    out.put(x);
    signal.put({x});
  }
  HIWAY_DEVICE bool on(Heard const&) const { return false; }
};

int main() {
  hiway::Pipeline pipe;
  pipe.add_segment("numbers", indices(10), node("raise", Raise{}, count<std::uint32_t>("all")));
}
