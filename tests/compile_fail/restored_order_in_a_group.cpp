// expect: hiway: a stage of a group cannot write a tunnel with restored order
#include <hiway/pipeline.hpp>

struct Halve {
  HIWAY_DEVICE int operator()(int const& x) const { return x / 2; }
};

int main() {
  hiway::Pipeline pipe;
  auto& in = pipe.create_tunnel<int>("in", hiway::Direction::gpu_to_gpu);
#if defined(REPAIRED)
  auto& out = pipe.create_tunnel<int>("out", hiway::Direction::gpu_to_gpu);
#else
  auto& out = pipe.create_tunnel<int>("out", hiway::Direction::gpu_to_gpu, {.order = hiway::Order::restored});
#endif
  pipe.add_gpu_group("group", hiway::stage("halve", Halve{}, hiway::from(in), hiway::into(out)));
}
