// expect: hiway: create_tunnel<T>: T must be trivially copyable
#include <string>

#include <hiway/pipeline.hpp>

#if defined(REPAIRED)
using Item = char;
#else
using Item = std::string;
#endif

int main() {
  hiway::Pipeline pipe;
  pipe.create_tunnel<Item>("names", hiway::Direction::gpu_to_gpu);
}
