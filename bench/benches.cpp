#include "bench/benches.hpp"

namespace bench {

std::vector<std::unique_ptr<Bench>> all_benches() {
  std::vector<std::unique_ptr<Bench>> benches;
  benches.push_back(make_ring());
  return benches;
}

}  // namespace bench
