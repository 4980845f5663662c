#include "bench/benches.hpp"

#include "bench/tunnel_benches.hpp"

namespace bench {

std::vector<std::unique_ptr<Bench>> all_benches() {
  std::vector<std::unique_ptr<Bench>> benches;
  benches.push_back(make_tunnel_bench());
  benches.push_back(make_movement_bench());
  benches.push_back(make_round_trip_bench());
  benches.push_back(make_end_detection_bench());
  benches.push_back(make_polling_bench());
  return benches;
}

}  // namespace bench
