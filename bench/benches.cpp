#include "bench/benches.hpp"

#include <utility>

namespace bench {

std::vector<std::unique_ptr<Bench>> all_benches(AppList apps) {
  std::vector<std::unique_ptr<Bench>> benches;
  benches.push_back(make_ring());
  benches.push_back(make_contention());
  benches.push_back(make_tunnel());
  benches.push_back(make_natural());
  benches.push_back(make_movement());
  benches.push_back(make_stencil());
  benches.push_back(make_round_trip());
  benches.push_back(make_peer());
  benches.push_back(make_nodes());
  benches.push_back(make_end_detection());
  benches.push_back(make_services());
  benches.push_back(make_polling());
  benches.push_back(make_guest());
  benches.push_back(make_batch());
  benches.push_back(make_loaded(apps));
  benches.push_back(make_paper(apps));
  benches.push_back(make_hetero_mark(std::move(apps)));
  return benches;
}

}  // namespace bench
