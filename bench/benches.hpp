// The benches that the program hiway knows.
#pragma once
#include <memory>
#include <vector>

#include "bench/bench.hpp"

namespace bench {

/// Every bench, in the order of `hiway list`.
[[nodiscard]] std::vector<std::unique_ptr<Bench>> all_benches();

// One function a bench, in the file of its name.
[[nodiscard]] std::unique_ptr<Bench> make_ring();
[[nodiscard]] std::unique_ptr<Bench> make_contention();

}  // namespace bench
