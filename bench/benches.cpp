#include "bench/benches.hpp"

namespace bench {

std::vector<std::unique_ptr<Bench>> all_benches() {
  std::vector<std::unique_ptr<Bench>> benches;
  benches.push_back(make_ring());
  benches.push_back(make_contention());
  return benches;
}

}  // namespace bench
