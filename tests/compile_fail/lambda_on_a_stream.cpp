// expect: hiway: Stream::launch: this lambda cannot run on a GPU
#include <hiway/pipeline.hpp>
#include <string>

struct Nothing {
  HIWAY_DEVICE void operator()() const {}
};

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_cpu);
  auto const body = [](hiway::Batch<int const>, hiway::Stream stream) {
#if defined(REPAIRED)
    stream.launch(Nothing{}, 1, 32);
#else
    std::string const text = "text";
    stream.launch([text] {}, 1, 32);
#endif
  };
  pipe.add_batch_stage("all", body, hiway::from(numbers));
}
