// A pipeline whose memory is the program's: a resource of the standard library, and a buffer over an array that is
// there.
//
// On a GPU the resource would be CUDA's, or one derived from hiway::MemoryResource, and the array in the GPU's memory.
#include <cstdio>
#include <hiway/hiway.hpp>
#include <memory_resource>
#include <numeric>
#include <vector>

struct Look {
  hiway::View<long> table;
  HIWAY_DEVICE long operator()(int const& place) const { return table[place]; }
};

int main() {
  std::pmr::unsynchronized_pool_resource pool;
  hiway::MemoryFrom memory(pool, pool);  // device memory, pinned memory
  std::vector<long> squares(1000);
  for (long i = 0; i < 1000; ++i) squares[i] = i * i;

  hiway::Pipeline pipe({.device = "simt", .memory = &memory});
  hiway::Buffer<long>& table = pipe.create_buffer(hiway::View<long>{squares.data(), squares.size()});
  auto& places = pipe.create_tunnel<int>("places", hiway::Direction::cpu_to_gpu);
  auto& found = pipe.create_tunnel<long>("found", hiway::Direction::gpu_to_cpu);
  long sum = 0;
  auto const ask = [](hiway::Inlet<int> out) {
    for (int i = 0; i < 1000; ++i) out.put_h(i);
  };
  pipe.add_cpu_stage("ask", ask, hiway::into(places));
  pipe.add_gpu_stage("look", Look{table.view()}, hiway::from(places), hiway::into(found));
  pipe.add_cpu_stage(
      "add", [&](long const& x) { sum += x; }, hiway::from(found));
  pipe.run();
  std::printf("the squares add up to %ld\n", sum);
  return sum == std::accumulate(squares.begin(), squares.end(), 0L) ? 0 : 1;
}
