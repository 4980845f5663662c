// The smallest stencil tunnel: on a map of heights, which places are higher than the eight around them?
//
// Every task needs nine values, and neighbours share most of them. So not tasks cross the bus but values, each once, in
// regions; a place becomes a task on the GPU as soon as its nine values are there.
#include <cstdint>
#include <cstdio>
#include <hiway/hiway.hpp>

constexpr std::int64_t width = 64;
constexpr std::int64_t height = 48;

HIWAY_DEVICE std::uint32_t height_at(std::int64_t x, std::int64_t y) {
  return static_cast<std::uint32_t>(y * width + x + 1) * 2654435761u >> 16;
}

/// Whether the place is higher than those around it; `at(x, y)` is a height.
template <class At>
HIWAY_DEVICE bool is_peak(std::int64_t x, std::int64_t y, At at) {
  for (std::int64_t dy = -1; dy <= 1; ++dy) {
    for (std::int64_t dx = -1; dx <= 1; ++dx) {
      if ((dx != 0 || dy != 0) && at(x + dx, y + dy) >= at(x, y)) return false;
    }
  }
  return true;
}

struct FindPeaks {
  HIWAY_DEVICE void operator()(hiway::StencilOutlet<std::uint32_t> map, hiway::Inlet<hiway::StencilTask> peaks) const {
    map.for_each_d([&](hiway::StencilTask const& task) {
      if (is_peak(task.x, task.y, [&](std::int64_t x, std::int64_t y) { return map.fetch_d(x, y); })) peaks.put_d(task);
    });
  }
};

int main() {
  hiway::Pipeline pipe;
  auto& map = pipe.create_stencil_tunnel<std::uint32_t>("map", hiway::Direction::cpu_to_gpu,
                                                        {.width = width, .height = height});
  auto& peaks = pipe.create_tunnel<hiway::StencilTask>("peaks", hiway::Direction::gpu_to_cpu);
  unsigned found = 0;
  auto const survey = [](hiway::StencilInlet<std::uint32_t> out) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) out.set_h(x, y, height_at(x, y));
    }
  };
  pipe.add_cpu_stage("survey", survey, hiway::into(map));
  pipe.add_gpu_stage("find peaks", FindPeaks{}, hiway::from(map), hiway::into(peaks));
  pipe.add_cpu_stage(
      "count", [&](hiway::StencilTask const&) { ++found; }, hiway::from(peaks));
  hiway::RunReport const report = pipe.run();

  unsigned expected = 0;
  for (std::int64_t y = 1; y + 1 < height; ++y) {
    for (std::int64_t x = 1; x + 1 < width; ++x) expected += is_peak(x, y, height_at) ? 1 : 0;
  }
  std::printf("%u peaks, expected %u; %llu tasks of nine values, %llu bytes moved\n", found, expected,
              static_cast<unsigned long long>(report.stencils[0].tasks),
              static_cast<unsigned long long>(report.stencils[0].bytes_moved));
  return found == expected ? 0 : 1;
}
