#include "bench/asked.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "bench/mover.hpp"
#include "bench/raw_cuda.hpp"

namespace bench {
namespace {

bool is_floor(Row const& row, Measured const& measured) {
  return measured.variant == row.beside || measured.variant == name_of(ByHand::stores_of_64_blocks);
}

/// The best that is a floor, or the best that is none; null where there is none such.
Measured const* best_of(Row const& row, bool floors) {
  Measured const* best = nullptr;
  for (Measured const& measured : row.measured) {
    if (is_floor(row, measured) != floors) continue;
    bool const better = best == nullptr ||
                        (row.better == Better::more ? measured.median > best->median : measured.median < best->median);
    if (better) best = &measured;
  }
  return best;
}

Row beside_what_is_asked(Row const& of, Measured measured, double scale, std::string unit, double limit) {
  bool const more = of.better == Better::more;
  Json what = of.what;
  what["asked"] = std::string(more ? "at least " : "at most ").append(Json(limit).dump());
  for (double* value : {&measured.median, &measured.lowest, &measured.highest}) *value *= scale;
  for (double& value : measured.values) value *= scale;
  measured.ratio.reset();
  double const beside = more ? measured.median / limit : measured.median > 0 ? limit / measured.median : 0;
  measured.facts = {{"as_asked", beside >= 1}, {"beside_what_is_asked", beside}};
  return {std::move(what), std::move(unit), of.better, "", {std::move(measured)}};
}

}  // namespace

std::vector<Row> asked(std::vector<Row> const& rows) {
  std::vector<Row> all;
  for (Row const& row : rows) {
    Measured const* const floor = best_of(row, true);
    Measured const* const best = best_of(row, false);
    if (floor == nullptr || best == nullptr || floor->median <= 0) continue;
    std::string const measures = row.what.at("measures");
    double const share = 1 / floor->median;
    if (measures == small_items)
      all.push_back(beside_what_is_asked(row, *best, share, "of " + floor->variant, asked_of_raw_stores));
    if (measures == large_items)
      all.push_back(beside_what_is_asked(row, *best, share, "of " + floor->variant, asked_of_the_copy));
    if (measures == there_and_back) all.push_back(beside_what_is_asked(row, *best, 1, "us", asked_round_trip_us));
  }
  return all;
}

}  // namespace bench
