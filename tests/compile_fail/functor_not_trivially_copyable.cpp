// expect: hiway: add_gpu_stage: the functor is copied into the kernel and must be trivially copyable
#include <vector>

#include <hiway/pipeline.hpp>

struct Scale {
#if !defined(REPAIRED)
  std::vector<int> factors;
#endif
  HIWAY_DEVICE void operator()(hiway::Outlet<int> in, hiway::Inlet<int> out) const {
    in.for_each_d([&](int x) { out.put_d(2 * x); });
  }
};

int main() {
  hiway::Pipeline pipe;
  auto& in = pipe.create_tunnel<int>("in", hiway::Direction::gpu_to_gpu);
  auto& out = pipe.create_tunnel<int>("out", hiway::Direction::gpu_to_gpu);
  pipe.add_gpu_stage("scale", Scale{}, hiway::from(in), hiway::into(out));
}
