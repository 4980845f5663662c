// What a row of round trips measures: their median, and what it says beside it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "bench/echo.hpp"
#include "bench/raw_cuda.hpp"
#include "cli/app.hpp"

namespace bench {

/// The quantiles of a turn's times, gathered for facts.
class Quantiles {
 public:
  void take(RoundTrips const& trips) {
    p99_.push_back(trips.at(0.99));
    longest_ = std::max(longest_, trips.at(1));
    count_ = trips.us.size();
  }
  [[nodiscard]] cli::Json facts(bool small) const {
    cli::Json facts = cli::Json::object();
    facts["trips"] = count_;
    if (small || p99_.empty()) return facts;
    std::vector<double> sorted(p99_.begin() + (p99_.size() > 1 ? 1 : 0), p99_.end());  // without the uncounted turn
    std::ranges::sort(sorted);
    facts["p99_us"] = sorted[sorted.size() / 2];
    facts["p99_us_highest"] = sorted.back();
    facts["longest_us"] = longest_;
    return facts;
  }

 private:
  std::vector<double> p99_;
  double longest_ = 0;
  std::size_t count_ = 0;
};

/// `trips` round trips a turn. `alter`: one item is altered, which must be found. `small`: no quantiles.
[[nodiscard]] inline Variant round_trips(std::string name, std::shared_ptr<Echo> echo, unsigned trips, bool alter,
                                         bool small) {
  auto const quantiles = std::make_shared<Quantiles>();
  auto turn = [echo = std::move(echo), quantiles, trips, alter]() -> Turn {
    RoundTrips const made = echo->run(trips, alter);
    quantiles->take(made);
    return {made.at(0.5), made.wrong.empty(), made.wrong};
  };
  return {std::move(name), std::move(turn), [quantiles, small] { return quantiles->facts(small); }};
}

/// A turn of `trips` by what RawCuda has for it.
[[nodiscard]] inline Variant launches_by_hand(std::string name,
                                              std::vector<double> (*time)(std::string const& device, unsigned count),
                                              std::string const& device, unsigned trips) {
  auto const quantiles = std::make_shared<Quantiles>();
  auto turn = [time, quantiles, trips, device]() -> Turn {
    RoundTrips made{time(device, trips)};
    std::ranges::sort(made.us);
    quantiles->take(made);
    return {made.at(0.5), made.us.size() == trips, "a launch is missing"};
  };
  return {std::move(name), std::move(turn), [quantiles] { return quantiles->facts(false); }};
}
/// The floor beside round trips: as many empty launches, each with its synchronization. None where there is no GPU.
[[nodiscard]] inline std::optional<Variant> empty_launches(std::string const& device, unsigned trips) {
  RawCuda const* const raw = raw_cuda(device);
  if (raw == nullptr) return std::nullopt;
  return launches_by_hand("empty launch + sync", raw->launch_and_sync, device, trips);
}

}  // namespace bench
