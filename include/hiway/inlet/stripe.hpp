// Puts of single items from outside, at an open inlet of CPU threads whose stripes have stagings (admission.hpp,
// staging.hpp): a put touches words that other threads seldom write, and the ring's words are written for many items at
// once. That is done where items cross the bus, where the monitor moves what clients leave there.
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/admission.hpp"
#include "hiway/inlet/close.hpp"
#include "hiway/inlet/from_outside.hpp"
#include "hiway/inlet/staging.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/relay.hpp"

namespace hiway::detail {

/// What has come of one try: the item is staged; or `refused`: the bits of InletStripe::puts that say why not; or both
/// are 0: there is no room.
struct Staged {
  bool done = false;
  std::uint32_t refused = 0;
};

/// Whether the first item that a stripe stages is moved at once: nothing is under way, or nothing was moved from there
/// for some time. So a client that waits for its answer does not wait for the monitor, and items of one that puts fast
/// are moved many at a time.
template <class Machine>
bool moves_at_once(Machine m, InletView const& v, InletStripe& stripe) {
  constexpr std::uint64_t rest_ns = 4'000;
  std::uint64_t const now = m.now_ns();
  bool const is_busy = v.relays != nullptr && !is_answered(m, *v.relays);
  if (is_busy && now - stripe.moved_ns < rest_ns) return false;
  stripe.moved_ns = now;
  return true;
}

/// What follows put number `put` of a stripe.
template <class Machine>
void follow_put_from_outside(Machine m, InletView const& v, InletStripe& stripe, std::uint64_t put) {
  Staging& staging = *stripe.staging;
  bool const is_first = staging.count(m) == 1;
  if (is_first && moves_at_once(m, v, stripe)) (void)move_staged(m, staging);
  if (staging.owner().has_nappers()) wake_other_end(m, v, staging);
  if (is_first) {
    staging.look_later(m);
  } else if (staging.owner().is_look_due(put)) {
    look_across(m, v, staging);
  }
}

/// One try to stage an item.
template <class Machine, class Write>
Staged try_stage(Machine m, InletView const& v, InletStripe& stripe, Write&& write) {
  constexpr unsigned patience = 16;  // another thread's put takes some 20 ns
  std::uint32_t refused = ask_to_stage(m, stripe);
  for (unsigned misses = 0; refused == staging_held && misses < patience; ++misses) {
    m.relax(misses);
    refused = ask_to_stage(m, stripe);
  }
  if (refused != 0) return {.refused = refused};
  UnderWay<Machine> const held{m, v, stripe, staging_held};
  Staging& staging = *stripe.staging;
  if (staging.is_full(m)) {
    (void)move_staged(m, staging);
    if (staging.is_full(m)) return {};
  }
  write(staging.slot<Write>());
  follow_put_from_outside(m, v, stripe, staging.publish(m));
  return {.done = true};
}

/// A step of the monitor for an inlet that has been closed: it moves what is still staged, and counts the stripes
/// (O1). True if something was moved.
template <class Machine>
bool tend_stripes(Machine m, InletView const& v) {
  InletPort& port = *v.ports;
  if ((m.load(port.stripes[0].puts, MemoryOrder::relaxed) & inlet_closed) == 0) return false;  // the first to be closed
  bool moved = false;
  for (std::uint32_t i = 0; i < port.stripe_count; ++i) {
    InletStripe& stripe = port.stripes[i];
    if (stripe.staging != nullptr) moved = move_staged(m, *stripe.staging) || moved;
    count_stripe(m, v, stripe);
  }
  return moved;
}

}  // namespace hiway::detail
