// FromOutside: a put of a CPU thread at an open inlet, while it is under way (admission.hpp).
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/admission.hpp"
#include "hiway/inlet/close.hpp"
#include "hiway/inlet/lateness.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"

namespace hiway::detail {

/// Of a put that was refused for good: the bits of InletStripe::puts say why. *Throws* Drained; raises put_after_close.
template <class Machine>
void refuse_if_closed(Machine m, InletView const& v, std::uint32_t refused) {
  if ((refused & inlet_drained) != 0) throw_drained();
  if ((refused & inlet_closed) == 0) return;
  std::uint64_t const ticket = m.load(v.ring.words->claimed, MemoryOrder::relaxed);
  raise(m, *v.control, FaultKind::put_after_close, v.stage, v.tunnel, item_number(m, v, ticket));  // O4
}

/// Of other machines, and at stages' inlets, nothing.
template <class Machine, bool offers_items = RoleOf<Machine>::offers_items>
class FromOutside {
 public:
  HIWAY_DEVICE FromOutside(Machine, InletView const&) {}
};

/// *Waits* while the pipeline is paused. *Throws* as refuse_if_closed.
template <class Machine>
class FromOutside<Machine, true> {
 public:
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE FromOutside(Machine m, InletView const& v) : m_(m), v_(v) {
    if (!v.open) return;
    for (unsigned misses = 0; is_paused(); ++misses) m.relax(misses);
  }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE ~FromOutside() {
    if (admitted_by_ != nullptr) leave_stripe(m_, v_, *admitted_by_, one_put);
  }
  FromOutside(FromOutside const&) = delete;
  FromOutside& operator=(FromOutside const&) = delete;

 private:
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE bool is_paused() {
    leave_if_aborted(m_, *v_.control, v_.tunnel);
    InletStripe& stripe = stripe_of(m_, *v_.ports);
    std::uint32_t const refused = ask_to_put(m_, stripe);
    refuse_if_closed(m_, v_, refused);
    if (refused == 0) admitted_by_ = &stripe;
    return refused != 0;
  }

  Machine m_;
  InletView const& v_;
  InletStripe* admitted_by_ = nullptr;
};

}  // namespace hiway::detail
