// The benches that the program hiway knows.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "bench/bench.hpp"

namespace bench {

// What crosses tunnels; each in the file of its name.
[[nodiscard]] std::unique_ptr<Bench> make_tunnel();
[[nodiscard]] std::unique_ptr<Bench> make_natural();
[[nodiscard]] std::unique_ptr<Bench> make_movement();
[[nodiscard]] std::unique_ptr<Bench> make_stencil();
[[nodiscard]] std::unique_ptr<Bench> make_round_trip();
[[nodiscard]] std::unique_ptr<Bench> make_peer();
[[nodiscard]] std::unique_ptr<Bench> make_nodes();
[[nodiscard]] std::unique_ptr<Bench> make_end_detection();
[[nodiscard]] std::unique_ptr<Bench> make_services();
[[nodiscard]] std::unique_ptr<Bench> make_polling();
[[nodiscard]] std::unique_ptr<Bench> make_guest();
[[nodiscard]] std::unique_ptr<Bench> make_batch();

/// The program's applications, anew at each call: an App is used once.
using AppList = std::function<std::vector<std::unique_ptr<cli::App>>()>;

/// Every bench, in the order of `hiway list`.
[[nodiscard]] std::vector<std::unique_ptr<Bench>> all_benches(AppList apps = {});

// One function a bench, in the file of its name.
[[nodiscard]] std::unique_ptr<Bench> make_ring();
[[nodiscard]] std::unique_ptr<Bench> make_contention();
[[nodiscard]] std::unique_ptr<Bench> make_loaded(AppList apps);
[[nodiscard]] std::unique_ptr<Bench> make_paper(AppList apps);
[[nodiscard]] std::unique_ptr<Bench> make_hetero_mark(AppList apps);

}  // namespace bench
