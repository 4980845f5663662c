#include "bench/movement_table.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <string>

#include "bench/mover.hpp"

namespace bench {
namespace {

constexpr double near = 1.1;

/// A way to carry the items of one row.
struct Candidate {
  std::string name;
  double items_per_second = 0;
  double round_trip_us = 0;
};

double median_of(std::vector<Row> const& rows, char const* unit, Flow flow, std::size_t bytes,
                 std::string const& variant) {
  for (Row const& row : rows) {
    if (row.unit != unit || row.what.at("direction") != name_of(flow) || row.what.at("item_bytes") != bytes) continue;
    auto const found = std::ranges::find(row.measured, variant, &Measured::variant);
    if (found != row.measured.end()) return found->median;
  }
  throw std::logic_error{std::string{"not measured: "} + name_of(flow) + ", " + std::to_string(bytes) + " bytes, " +
                         variant + ", in " + unit};
}

/// The round trip of an item whose way out, or back, is `movement`'s; the other is direct. Between devices both are.
double round_trip(std::vector<Row> const& rows, Flow flow, std::size_t bytes, hiway::Movement movement) {
  return median_of(rows, "us", flow, bytes, movement == hiway::Movement::dma ? "dma" : "direct");
}

std::size_t choose(std::vector<Candidate> const& all) {
  double most = 0;
  for (Candidate const& c : all) most = std::max(most, c.items_per_second);
  std::size_t chosen = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].items_per_second * near < most) continue;
    if (chosen == all.size() || all[i].round_trip_us < all[chosen].round_trip_us) chosen = i;
  }
  return chosen;
}

std::string reason(std::vector<Candidate> const& all, std::size_t chosen) {
  std::size_t other = chosen == 0 ? 1 : 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != chosen && all[i].items_per_second > all[other].items_per_second) other = i;
  }
  Candidate const& a = all[chosen];
  Candidate const& b = all[other];
  double const ratio = b.items_per_second > 0 ? a.items_per_second / b.items_per_second : 0;
  std::ostringstream text;
  text << a.name << " " << std::fixed << std::setprecision(2) << ratio << " times " << b.name << " in items a second";
  if (ratio < near)
    text << std::setprecision(1) << "; round trip " << a.round_trip_us << " us, not " << b.round_trip_us;
  return text.str();
}

bool has(std::vector<Row> const& rows, Flow flow) {
  return std::ranges::any_of(rows, [&](Row const& row) { return row.what.at("direction") == name_of(flow); });
}

Json row_of(Flow flow, char const* bus, std::size_t up_to, hiway::Movement movement, std::string const& because) {
  return {{"direction", name_of(flow)},
          {"bus", bus},
          {"up_to_bytes", up_to},
          {"movement", movement == hiway::Movement::dma ? "dma" : "direct"},
          {"because", because}};
}

}  // namespace

Json movement_table(std::vector<Row> const& rows) {
  using hiway::Movement;
  Json all = Json::array();
  for (auto const& [bytes, up_to] : classes) {
    for (Flow const flow : {Flow::cpu_to_gpu, Flow::gpu_to_cpu, Flow::gpu_to_gpu}) {
      if (flow == Flow::gpu_to_gpu && !has(rows, flow)) continue;
      constexpr std::array movements{Movement::direct, Movement::dma};
      std::vector<Candidate> candidates;
      for (Movement const movement : movements) {
        char const* const name = movement == Movement::dma ? "dma" : "direct";
        candidates.push_back(
            {name, median_of(rows, "items/s", flow, bytes, name), round_trip(rows, flow, bytes, movement)});
      }
      std::size_t const chosen = choose(candidates);
      all.push_back(row_of(flow, flow == Flow::gpu_to_gpu ? "peer" : "one_way", up_to, movements[chosen],
                           reason(candidates, chosen)));
    }
    std::vector<Candidate> candidates;
    for (BothWays const& ways : both_ways) {
      candidates.push_back({ways.variant, median_of(rows, "items/s", Flow::both, bytes, ways.variant),
                            round_trip(rows, Flow::cpu_to_gpu, bytes, ways.there) +
                                round_trip(rows, Flow::gpu_to_cpu, bytes, ways.back)});
    }
    std::size_t const chosen = choose(candidates);
    std::string const because = reason(candidates, chosen);
    all.push_back(row_of(Flow::cpu_to_gpu, "both_ways", up_to, both_ways[chosen].there, because));
    all.push_back(row_of(Flow::gpu_to_cpu, "both_ways", up_to, both_ways[chosen].back, because));
  }
  return all;
}

}  // namespace bench
