// Puts past a staging: of another form, or tries. They come after what their thread has staged (staging.hpp P3).
#pragma once
#include "hiway/inlet/admission.hpp"
#include "hiway/inlet/staging.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/stage_thread.hpp"

namespace hiway::detail {

/// Where the calling thread's puts may be staged: at its own end, or at an open inlet, beside others'; or null.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline Staging* staging_before([[maybe_unused]] Machine m, [[maybe_unused]] InletView const& v) {
  if constexpr (RoleOf<Machine>::offers_items) {
    if (v.open) return stripe_of(m, *v.ports).staging;
  }
  return staging_of(m, v);
}

/// A put past the calling thread's staging, one try: nothing is staged any more (P3).
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline bool is_past_staging(Machine m, [[maybe_unused]] InletView const& v) {
  if constexpr (RoleOf<Machine>::stages_puts) {
    if (Staging* const staging = staging_before(m, v); staging != nullptr) {
      (void)move_or_spill_staged(m, *staging);
      return staging->is_empty(m);
    }
  }
  return true;
}
/// Before a put past the staging that waits (P3).
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void put_past_staging(Machine m, [[maybe_unused]] InletView const& v) {
  if constexpr (RoleOf<Machine>::stages_puts) {
    if (Staging* const staging = staging_before(m, v); staging != nullptr) empty_staging(m, *staging);
  }
}

}  // namespace hiway::detail
