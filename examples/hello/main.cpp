// The smallest pipeline: numbers go to the GPU, their squares come back. HIWAY_RUN_ON=simt|cuda:0 says where it runs.
#include <cstdio>
#include <hiway/hiway.hpp>

struct Square {  // a GPU stage in value form: what it returns goes into the next tunnel
  HIWAY_DEVICE long operator()(int const& x) const { return static_cast<long>(x) * x; }
};

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_gpu);
  auto& squares = pipe.create_tunnel<long>("squares", hiway::Direction::gpu_to_cpu);
  long sum = 0;
  auto const feed = [](hiway::Inlet<int> out) {
    for (int i = 1; i <= 1000; ++i) out.put_h(i);
  };
  auto const add = [&](long const& square) { sum += square; };
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_gpu_stage("square", Square{}, hiway::from(numbers), hiway::into(squares));
  pipe.add_cpu_stage("add", add, hiway::from(squares));
  pipe.run();
  std::printf("the squares up to 1000 add up to %ld\n", sum);
  return sum == 333833500 ? 0 : 1;
}
