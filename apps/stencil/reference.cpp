// Method reference: one thread, the rule in its plainest form.
#include <chrono>
#include <cstddef>
#include <utility>

#include "stencil/methods.hpp"

namespace stencil {

Values reference_values(Problem const& p) {
  Values all;
  all.reserve(p.values() * p.frames);
  for (std::uint32_t frame = 0; frame < p.frames; ++frame) {
    Values now;
    for (std::uint32_t y = 0; y < p.height; ++y) {
      for (std::uint32_t x = 0; x < p.width; ++x) now.push_back(input_value(p, x, y, frame));
    }
    for (std::uint32_t pass = 0; pass < p.iterations; ++pass) {
      Values next = now;
      for (std::size_t y = 1; y + 1 < p.height; ++y) {
        for (std::size_t x = 1; x + 1 < p.width; ++x) {
          std::size_t const at = y * p.width + x;
          float const sum = now[at] + now[at - 1] + now[at + 1] + now[at - p.width] + now[at + p.width];
          next[at] = 0.2f * sum;
        }
      }
      now = std::move(next);
    }
    all.insert(all.end(), now.begin(), now.end());
  }
  return all;
}

std::uint64_t checksum(Values const& values) {
  auto const* const bytes = reinterpret_cast<unsigned char const*>(values.data());
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < values.size() * sizeof(float); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

std::vector<Measurement> run_reference(Problem const& problem, Job const& job) {
  std::vector<Measurement> runs;
  for (unsigned i = 0; i < job.repeat; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    Values const values = reference_values(problem);
    Measurement measured;
    measured.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    measured.checksum = checksum(values);
    measured.items = problem.values() * problem.frames * problem.iterations;
    runs.push_back(measured);
    job.ran();
  }
  return runs;
}

}  // namespace stencil
