// expect: hiway: Inlet<T>: no spans of items above 256 bytes on a device: put each with put_in_place_d
#include <hiway/pipeline.hpp>

#if defined(REPAIRED)
constexpr int size_bytes = 256;
#else
constexpr int size_bytes = 257;
#endif

struct Page {
  char bytes[size_bytes];
};

struct PutPages {
  hiway::View<Page const> pages;
  HIWAY_DEVICE void operator()(hiway::Inlet<Page> out) const {
    out.put_block_d(std::span<Page const>(pages.data, pages.size));
  }
};

int main() {
  hiway::Pipeline pipe;
  auto& pages = pipe.create_tunnel<Page>("pages", hiway::Direction::gpu_to_gpu);
  pipe.add_gpu_stage("put", PutPages{}, hiway::into(pages));
}
