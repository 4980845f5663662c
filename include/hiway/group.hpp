// A group: item-form stages in one persistent kernel. For each step a warp takes the stage with most work.
#pragma once
#include <cstdint>
#include <utility>

#include "hiway/launch/stage_words.hpp"
#include "hiway/stage.hpp"

namespace hiway {

/// Runs several StageRunners in one kernel; recursive, because std::tuple is no device type. The stages' ends lie one
/// after another in the arrays.
template <class... Runners>
struct GroupRunner;

template <>
struct GroupRunner<> {
  static constexpr unsigned outlet_count = 0;
  static constexpr unsigned inlet_count = 0;
  static constexpr unsigned stage_count = 0;
  static constexpr bool keeps_nothing = true;
  static constexpr bool has_scopes = false;

  template <class Machine>
  HIWAY_DEVICE void most_work(Machine, OutletView const*, unsigned, std::int32_t&, unsigned&) const {}
  template <class Machine>
  HIWAY_DEVICE bool step(Machine, std::uint32_t, unsigned, OutletView const*, InletView const*) {
    return false;
  }
  template <class Machine>
  HIWAY_DEVICE bool ended(Machine, OutletView const*) const {
    return true;
  }
};

template <class First, class... Rest>
struct GroupRunner<First, Rest...> {
  static constexpr unsigned outlet_count = First::outlet_count + GroupRunner<Rest...>::outlet_count;
  static constexpr unsigned inlet_count = First::inlet_count + GroupRunner<Rest...>::inlet_count;
  static constexpr unsigned stage_count = 1 + GroupRunner<Rest...>::stage_count;
  static constexpr Leaves leaves = Leaves::between_tasks;
  static constexpr bool keeps_nothing = First::keeps_nothing && GroupRunner<Rest...>::keeps_nothing;
  static constexpr bool has_scopes = First::has_scopes || GroupRunner<Rest...>::has_scopes;
  static constexpr std::size_t held_bytes = 0;

  First first;
  GroupRunner<Rest...> rest;

  /// All lanes of a block call it; returns when every stage of the group has ended, or its slice is over.
  template <class Machine>
  HIWAY_DEVICE void operator()(Machine m, OutletView const* outlets, InletView const* inlets, Slice const& slice) {
    std::uint32_t const group = m.lanes();
    SliceClock<Machine> clock(m, slice);
    for (unsigned misses = 0;;) {
      std::int32_t most = 0;
      unsigned which = 0;
      if (m.lane() == 0) most_work(m, outlets, 0, most, which);
      which = m.shuffle(group, which, 0);
      if (step(m, group, which, outlets, inlets)) {
        clock.note_work(m, misses);
        if (clock.is_over(m, group)) return;
        misses = 0;
        continue;
      }
      if (m.ballot(group, ended(m, outlets)) == group) return;
      if (clock.is_over_idle(m, group, misses)) return;
      m.relax(misses++);
    }
  }

  /// The stage whose outlets hold most items.
  template <class Machine>
  HIWAY_DEVICE void most_work(Machine m, OutletView const* outlets, unsigned index, std::int32_t& most,
                              unsigned& which) const {
    std::int32_t items = 0;
    for (unsigned i = 0; i != First::outlet_count; ++i) {
      items += items_about(m, outlets[i].ring);
      if (has_spill(outlets[i].spill)) items += items_about(m, *outlets[i].spill);
    }
    if (items > most) {
      most = items;
      which = index;
    }
    rest.most_work(m, outlets + First::outlet_count, index + 1, most, which);
  }
  template <class Machine>
  HIWAY_DEVICE bool step(Machine m, std::uint32_t group, unsigned which, OutletView const* outlets,
                         InletView const* inlets) {
    if (which == 0) {
      enter_stage(outlets[0].stage);
      typename First::Next next{};
      return first.step(m, group, outlets, inlets, Credits::doubtful, next);
    }
    return rest.step(m, group, which - 1, outlets + First::outlet_count, inlets + First::inlet_count);
  }
  template <class Machine>
  HIWAY_DEVICE bool ended(Machine m, OutletView const* outlets) const {
    return detail::stage_ended(m, outlets[0]) && rest.ended(m, outlets + First::outlet_count);
  }
};

HIWAY_DEVICE inline GroupRunner<> make_group() { return {}; }
template <class F, class In, class Out, class... Fs, class... Ins, class... Outs>
GroupRunner<StageRunner<F, In, Out>, StageRunner<Fs, Ins, Outs>...> make_group(
    StageSpec<F, In, Out> const& first, StageSpec<Fs, Ins, Outs> const&... rest) {
  return {{first.body}, make_group(rest...)};
}

}  // namespace hiway
