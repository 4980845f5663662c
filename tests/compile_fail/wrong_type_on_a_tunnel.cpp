// expect: hiway: the stage cannot be called with its tunnels
#include <hiway/pipeline.hpp>

#if defined(REPAIRED)
using Sent = long;
#else
using Sent = int;  // the stage puts long
#endif

struct Widen {
  HIWAY_DEVICE void operator()(hiway::Outlet<int> in, hiway::Inlet<long> out) const {
    in.for_each_d([&](int x) { out.put_d(x); });
  }
};

int main() {
  hiway::Pipeline pipe;
  auto& in = pipe.create_tunnel<int>("in", hiway::Direction::gpu_to_gpu);
  auto& out = pipe.create_tunnel<Sent>("out", hiway::Direction::gpu_to_gpu);
  pipe.add_gpu_stage("widen", Widen{}, hiway::from(in), hiway::into(out));
}
