// The benches of what crosses tunnels, each in the file of its name.
#pragma once
#include <memory>

#include "bench/bench.hpp"

namespace bench {

[[nodiscard]] std::unique_ptr<Bench> make_tunnel_bench();
[[nodiscard]] std::unique_ptr<Bench> make_round_trip_bench();
[[nodiscard]] std::unique_ptr<Bench> make_end_detection_bench();
[[nodiscard]] std::unique_ptr<Bench> make_movement_bench();
[[nodiscard]] std::unique_ptr<Bench> make_polling_bench();

}  // namespace bench
