// expect: hiway: Outlet<T>: no spans of items above 256 bytes on a device: work on each in its slot with for_each_d
#include <hiway/pipeline.hpp>

#if defined(REPAIRED)
constexpr int size_bytes = 256;
#else
constexpr int size_bytes = 257;
#endif

struct Page {
  char bytes[size_bytes];
};

struct GetPages {
  HIWAY_DEVICE void operator()(hiway::Outlet<Page> in) const {
    Page pages[2];
    while (std::size_t const n = in.next_d(std::span<Page>(pages))) in.end_task_d(n);
  }
};

int main() {
  hiway::Pipeline pipe;
  auto& pages = pipe.create_tunnel<Page>("pages", hiway::Direction::gpu_to_gpu);
  pipe.add_gpu_stage("get", GetPages{}, hiway::from(pages));
}
