#include "bench/benches.hpp"

namespace bench {

std::vector<std::unique_ptr<Bench>> all_benches() {
  std::vector<std::unique_ptr<Bench>> benches;
  return benches;
}

}  // namespace bench
