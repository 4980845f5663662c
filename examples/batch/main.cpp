// The smallest batch stage: a function that takes an array is called for as many items as there are, not for each.
//
// Here it is the standard library's inner product; it could be a BLAS's, or a kernel of your own by stream.launch.
#include <cstdio>
#include <hiway/hiway.hpp>
#include <numeric>

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<long>("numbers", hiway::Direction::cpu_to_cpu);
  auto& sums = pipe.create_tunnel<long>("sums", hiway::Direction::cpu_to_cpu);
  long sum = 0;
  auto const feed = [](hiway::Inlet<long> out) {
    for (long i = 1; i <= 100000; ++i) out.put_h(i);
  };
  auto const multiply = [](hiway::Batch<long const> in, hiway::Batch<long> out, hiway::Stream) {
    out.resize(1);  // whatever the number of items, one comes of them
    out.data()[0] = std::inner_product(in.span().begin(), in.span().end(), in.data(), 0L);
  };
  auto const add = [&](long const& squares) { sum += squares; };
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_batch_stage("multiply", multiply, hiway::from(numbers), hiway::into(sums), {.max_items = 256});
  pipe.add_cpu_stage("add", add, hiway::from(sums));
  pipe.run();
  std::printf("the squares up to 100000 add up to %ld\n", sum);
  return sum == 333338333350000 ? 0 : 1;
}
