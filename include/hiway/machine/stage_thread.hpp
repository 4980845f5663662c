// StageThread: a CPU thread in its role at the ends of tunnels, as a stage's or as one of the user's own. The role says
// what a machine does there besides moving items. It is no property of a processor: the library's own threads and a
// GPU's lanes have none of it, so code for it is left out there.
#pragma once
#include <cstdint>

#include "hiway/machine/thread_machine.hpp"

namespace hiway {

/// The role of a machine that names no other.
struct NoRole {
  /// Does the monitors' steps itself where they would hold it up (relay.hpp M3).
  static constexpr bool helps_monitors = false;
  /// Its ends may have several branches (branches.hpp).
  static constexpr bool has_branches = false;
  /// Notes how it spends its time (trace.hpp).
  static constexpr bool keeps_trace = false;
  /// Copies spans in one piece for each lap of the ring, not item by item.
  static constexpr bool copies_pieces = false;
  /// May take several items by one claim and get them one by one (outlet/hand.hpp).
  static constexpr bool keeps_hand = false;
  /// May put single items into memory of its own first (inlet/staging.hpp).
  static constexpr bool stages_puts = false;
  /// May take items from there.
  static constexpr bool takes_staged = false;
  /// Calls open ends while no run is under way; such a call is refused.
  static constexpr bool outlives_runs = false;
  /// Its tasks give values of scopes back to the host's counts (scope/word.hpp); other machines' tasks mail them.
  static constexpr bool counts_scopes = false;
  /// Offers items (inlet/offer.hpp), also while another thread closes the inlet.
  static constexpr bool offers_items = false;
};

namespace detail {
/// Of the calling thread's own. Numbers of threads that begin one after another differ in their last bits.
[[nodiscard]] std::uint32_t number_of_this_thread() noexcept;
}  // namespace detail

struct StageThread : ThreadMachine {
  [[nodiscard]] std::uint32_t thread_number() const { return detail::number_of_this_thread(); }

  struct Role {
    static constexpr bool helps_monitors = true;
    static constexpr bool has_branches = true;
    static constexpr bool keeps_trace = true;
    static constexpr bool copies_pieces = true;
    static constexpr bool keeps_hand = true;
    static constexpr bool stages_puts = true;
    static constexpr bool takes_staged = true;
    static constexpr bool outlives_runs = true;
    static constexpr bool counts_scopes = true;
    static constexpr bool offers_items = true;
  };
};

template <class Machine>
struct RoleOf : NoRole {};
template <class Machine>
requires requires { typename Machine::Role; }
struct RoleOf<Machine> : Machine::Role {};

}  // namespace hiway
