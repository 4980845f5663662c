// expect: hiway: add_batch_stage: it makes items for a tunnel with scopes, and gets none from one
#include <hiway/pipeline.hpp>

int main() {
  hiway::Pipeline pipe;
  auto& jobs = pipe.create_scopes("jobs");
#if defined(REPAIRED)
  auto& in = pipe.create_tunnel<int>("in", hiway::Direction::cpu_to_cpu, {.scopes = &jobs});
#else
  auto& in = pipe.create_tunnel<int>("in", hiway::Direction::cpu_to_cpu);
#endif
  auto& out = pipe.create_tunnel<int>("out", hiway::Direction::cpu_to_cpu, {.scopes = &jobs});
  pipe.add_batch_stage(
      "copy", [](hiway::Batch<int const>, hiway::Batch<int>, hiway::Stream) {}, hiway::from(in), hiway::into(out));
}
