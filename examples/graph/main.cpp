// A batch stage of many small kernels, captured as a CUDA graph: a body is called twice for each size of a batch, and
// what it gave the stream is then launched at once. On the emulated device it is called for each batch.
#include <chrono>
#include <cstdio>
#include <hiway/hiway.hpp>

struct Halve {  // one of many small steps
  float* values;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = hiway::thread_index(); i < count; i += hiway::thread_count()) values[i] = values[i] / 2 + 1;
  }
};

struct Copy {
  float const* from;
  float* to;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = hiway::thread_index(); i < count; i += hiway::thread_count()) to[i] = from[i];
  }
};

int main() {
  using namespace std::chrono_literals;
  constexpr int values = 20'000;
  constexpr std::size_t each = 100;  // of a batch: all have the same size, so one graph for each place is enough
  hiway::Pipeline pipe;
  auto& there = pipe.create_tunnel<float>("there", hiway::Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<float>("back", hiway::Direction::gpu_to_cpu);
  int bodies = 0;
  int right = 0;
  auto const feed = [](hiway::Inlet<float> out) {
    for (int i = 0; i < values; ++i) out.put_h(1024.0f * static_cast<float>(i % 7));
  };
  auto const settle = [&](hiway::Batch<float const> in, hiway::Batch<float> out, hiway::Stream stream) {
    ++bodies;
    out.resize(in.size());
    stream.launch(Copy{in.data(), out.data(), in.size()}, 1, 32);
    for (int step = 0; step < 40; ++step) stream.launch(Halve{out.data(), out.size()}, 1, 32);
  };
  auto const check = [&](float const& x) { right += x > 1.99f && x < 2.01f ? 1 : 0; };
  pipe.add_cpu_stage("feed", feed, hiway::into(there));
  pipe.add_batch_stage("settle", settle, hiway::from(there), hiway::into(back),
                       {.max_items = each, .min_items = each, .max_wait = 10s, .device = 0, .capture = true});
  pipe.add_cpu_stage("check", check, hiway::from(back));
  pipe.run();
  std::printf("%d of %d values have come to 2; the body was called %d times\n", right, values, bodies);
  return right == values ? 0 : 1;
}
