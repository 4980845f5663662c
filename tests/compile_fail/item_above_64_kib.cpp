// expect: hiway: create_tunnel<T>: T must be at most 64 KiB
#include <hiway/pipeline.hpp>

#if defined(REPAIRED)
constexpr int size_bytes = 64 * 1024;
#else
constexpr int size_bytes = 64 * 1024 + 1;
#endif

struct Page {
  char bytes[size_bytes];
};

int main() {
  hiway::Pipeline pipe;
  pipe.create_tunnel<Page>("pages", hiway::Direction::gpu_to_gpu);
}
