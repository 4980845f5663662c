#include "bench/benches.hpp"

namespace bench {

std::vector<std::unique_ptr<Bench>> all_benches() {
  std::vector<std::unique_ptr<Bench>> benches;
  benches.push_back(make_ring());
  benches.push_back(make_contention());
  benches.push_back(make_tunnel());
  benches.push_back(make_movement());
  benches.push_back(make_stencil());
  benches.push_back(make_round_trip());
  benches.push_back(make_end_detection());
  benches.push_back(make_polling());
  return benches;
}

}  // namespace bench
