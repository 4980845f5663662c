// RegionValues: the values of one aggregate's regions, by the regions' places. The lanes join to them what they have of
// a region's items.
//
// Several warps may join to the same region, so they write one after the other.
#pragma once
#include <bit>
#include <cstdint>
#include <utility>

#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"

namespace hiway::segment {

/// Whether a region has a value already.
enum class HasValue : std::uint8_t { no, yes };

template <class Lanes, class F>
class RegionValues {
  using Value = typename Function<F>::Value;
  using Warp = WholeWarp<decltype(std::declval<Lanes const&>().machine())>;
  /// Rounds of a reduction over a warp: each doubles the distance between lanes that join.
  static constexpr unsigned rounds = std::bit_width(Warp::size) - 1u;

 public:
  HIWAY_DEVICE RegionValues(Lanes& lanes, F const& f, Value* all) : lanes_(lanes), f_(f), all_(all) {}

  [[nodiscard]] HIWAY_DEVICE Value& operator[](std::uint32_t region) const { return all_[region]; }

  /// Joins the values of all lanes to the region's value. If it has none, their join becomes its value.
  HIWAY_DEVICE void join_all(std::uint16_t region, Value value, HasValue has) {
    Warp const warp(lanes_.machine());
    lanes_.sync();  // the region's value has been written
    detail::unrolled<rounds>([&](auto i) { value = f_.join(value, warp.shuffle(value, warp.lane() ^ (1u << i))); });
    warp_by_warp([&](std::uint32_t w) {
      if (warp.lane() == 0) all_[region] = has == HasValue::no && w == 0 ? value : f_.join(all_[region], value);
    });
  }
  /// Joins each lane's value to the value of its region. Lanes of one region are neighbours, unless the row says that
  /// the items come from a node that mixes regions.
  HIWAY_DEVICE void join_runs(NodeRow const& row, std::uint16_t region, Value value) {
    Warp const warp(lanes_.machine());
    unsigned const lane = warp.lane();
    std::uint32_t const left = warp.shuffle(std::uint32_t{region}, lane == 0 ? 0 : lane - 1);
    std::uint32_t const right = warp.shuffle(std::uint32_t{region}, lane + 1 == Warp::size ? lane : lane + 1);
    std::uint32_t const begins = warp.ballot(lane == 0 || left != region);
    bool const ends = region != Boundary::none && (lane + 1 == Warp::size || right != region);
    // The lanes, up to this one, in which a run begins: the highest is the first lane of this lane's run.
    std::uint32_t const upto = begins & (lanes_below(lane) | 1u << lane);
    detail::unrolled<rounds>([&](auto i) {
      constexpr unsigned d = 1u << i;
      Value const other = warp.shuffle(value, lane >= d ? lane - d : lane);
      if (lane >= d && (upto >> (lane - d) >> 1) == 0) value = f_.join(other, value);
    });
    warp_by_warp([&](std::uint32_t) {
      if (!row.is_mixed) {
        if (ends) all_[region] = f_.join(all_[region], value);
      } else {
        for (std::uint32_t who = warp.ballot(ends); who != 0; who &= who - 1) {
          if (lanes_.machine().lowest(who) == lane) all_[region] = f_.join(all_[region], value);
          warp.sync();
        }
      }
    });
  }

 private:
  /// Calls `join_own` in one warp after the other.
  template <class Join>
  HIWAY_DEVICE void warp_by_warp(Join&& join_own) {
    if constexpr (Lanes::is_warp) {
      join_own(0u);
      lanes_.sync();
    } else {
      for (std::uint32_t w = 0; w != lanes_.size() / Warp::size; ++w) {
        if (w == lanes_.rank() / Warp::size) join_own(w);
        lanes_.sync();
      }
    }
  }

  Lanes& lanes_;
  F const& f_;
  Value* all_;
};

}  // namespace hiway::segment
