// The serial oracle: all distances, and a sort.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "knn/methods.hpp"

namespace knn {

std::vector<Measurement> run_reference(Input const& input, Job const& job) {
  return cli::repeated(job, [&] {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    std::vector<std::pair<float, std::uint32_t>> all;
    for (Place const& place : input.places) {
      float const latitudes = input.from.latitude - place.latitude;
      float const longitudes = input.from.longitude - place.longitude;
      float const first = latitudes * latitudes;
      float const second = longitudes * longitudes;
      all.emplace_back(std::sqrt(first + second), static_cast<std::uint32_t>(all.size()));
    }
    auto const end = all.begin() + static_cast<std::ptrdiff_t>(input.k);
    std::partial_sort(all.begin(), end, all.end());
    for (auto it = all.begin(); it != end; ++it)
      run.summary.push_back(Key{std::bit_cast<std::uint32_t>(it->first)} << 32 | it->second);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.items = input.places.size();
    return run;
  });
}

}  // namespace knn
