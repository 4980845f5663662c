// expect: hiway: into: a tunnel with restored order is written by a stage in value form
#include <hiway/pipeline.hpp>

struct Halve {
#if defined(REPAIRED)
  HIWAY_DEVICE int operator()(int const& x) const { return x / 2; }
#else
  HIWAY_DEVICE void operator()(int const& x, hiway::Inlet<int> out) const { out.put_d(x / 2); }
#endif
};

int main() {
  hiway::Pipeline pipe;
  auto& in = pipe.create_tunnel<int>("in", hiway::Direction::gpu_to_gpu);
  auto& out = pipe.create_tunnel<int>("out", hiway::Direction::gpu_to_gpu, {.order = hiway::Order::restored});
  pipe.add_gpu_stage("halve", Halve{}, hiway::from(in), hiway::into(out));
}
