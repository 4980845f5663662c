// expect: hiway: a stage of a group is given per item, not as a loop
#include <hiway/pipeline.hpp>

struct Halve {
#if defined(REPAIRED)
  HIWAY_DEVICE void operator()(int const& x, hiway::Inlet<int> out) const { out.put_d(x / 2); }
#else
  HIWAY_DEVICE void operator()(hiway::Outlet<int> in, hiway::Inlet<int> out) const {
    in.for_each_d([&](int x) { out.put_d(x / 2); });
  }
#endif
};

int main() {
  hiway::Pipeline pipe;
  auto& in = pipe.create_tunnel<int>("in", hiway::Direction::gpu_to_gpu);
  auto& out = pipe.create_tunnel<int>("out", hiway::Direction::gpu_to_gpu);
  pipe.add_gpu_group("group", hiway::stage("halve", Halve{}, hiway::from(in), hiway::into(out)));
}
