// FromOutside: a put of a CPU thread at an open inlet, while it is under way (admission.hpp).
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/admission.hpp"
#include "hiway/inlet/close.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"

namespace hiway::detail {

/// Of other machines, and at stages' inlets, nothing.
template <class Machine, bool offers_items = RoleOf<Machine>::offers_items>
class FromOutside {
 public:
  HIWAY_DEVICE FromOutside(Machine, InletView const&) {}
};

/// *Waits* while the pipeline is paused. *Throws* Drained.
template <class Machine>
class FromOutside<Machine, true> {
 public:
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE FromOutside(Machine m, InletView const& v) : m_(m), v_(v) {
    if (!v.open) return;
    for (unsigned misses = 0; is_paused(); ++misses) m.relax(misses);
  }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE ~FromOutside() {
    if (is_admitted_) leave_inlet(m_, v_, *v_.ports);
  }
  FromOutside(FromOutside const&) = delete;
  FromOutside& operator=(FromOutside const&) = delete;

 private:
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE bool is_paused() {
    leave_if_aborted(m_, *v_.control, v_.tunnel);
    std::uint32_t const refused = ask_to_put(m_, *v_.ports);
    if ((refused & inlet_drained) != 0) throw_drained();
    is_admitted_ = refused == 0;
    return refused == inlet_paused;  // O4
  }

  Machine m_;
  InletView const& v_;
  bool is_admitted_ = false;
};

/// The same for a put that tries once: false if the pipeline is paused.
template <class Machine, class Try>
HIWAY_DEVICE inline bool try_from_outside(Machine m, InletView const& v, Try&& try_once) {
  if constexpr (RoleOf<Machine>::offers_items) {
    if (v.open) {
      leave_if_aborted(m, *v.control, v.tunnel);
      if (m.load(v.ports->offers, Order::relaxed) % one_put == inlet_paused) return false;
    }
  }
  FromOutside<Machine> const under_way(m, v);
  return try_once();
}

}  // namespace hiway::detail
