#include "run_errors.hpp"

#include <algorithm>

#include "stencil_placement.hpp"

namespace hiway {

void RunErrors::set(std::exception_ptr error) noexcept {
  error_.set(std::move(error));
  ThreadMachine{}.store(layout_.homes.host().control->aborted, 1u, MemoryOrder::release);
}

void RunErrors::fail_unless_aborting(NamedFailure const& part, std::exception_ptr const& cause) noexcept {
  try {
    std::rethrow_exception(cause);
  } catch (Unwind const&) {
  } catch (...) {
    fail(part, cause);
  }
}

std::exception_ptr RunErrors::error_of(FaultRecord const& record) const {
  std::string text;
  std::string const stage = layout_.stage_name(record.stage);
  std::string const tunnel = layout_.tunnel_name(record.tunnel);
  if (!stage.empty()) text += "stage '" + stage + "': ";
  bool const timed_out = record.kind == FaultKind::time_out_too_short;
  text += record.kind == FaultKind::failed && record.message[0] != '\0' ? record.message : fault_text(record.kind);
  if (timed_out) text += " (end_time_out is " + std::to_string(layout_.config.end_time_out.count()) + " us)";
  if (!tunnel.empty()) {
    text += ": tunnel '" + tunnel + "', ";
    bool const place = record.kind == FaultKind::set_twice || record.kind == FaultKind::outside_matrix;
    text += place       ? fault_place(record.item)
            : timed_out ? std::to_string(record.item) + " not ended"
                        : "item " + std::to_string(record.item);
  }
  return record.kind == FaultKind::failed ? std::make_exception_ptr(StageError(text))
         : timed_out                      ? std::make_exception_ptr(Aborted(text))
                                          : std::make_exception_ptr(MisuseError(text));
}

void RunErrors::import_record(FaultRecord const& record) noexcept {
  try {
    set(error_of(record));
  } catch (...) {
    auto const& places = layout_.prepared.places;
    set((record.stage < places.size() ? places[record.stage].failure : parts.supervisor).without_memory());
  }
}

void RunErrors::import_faults() noexcept {
  ThreadMachine const m;
  for (Device const& d : layout_.homes.devices()) {
    if (m.load(d.notice->faulted, MemoryOrder::acquire) != 0) import_record(d.notice->record);
  }
  import_fault(m, *layout_.homes.host().control);
}

// A stage may fail after every tunnel has ended, or have no tunnel at all: then its kernels leave, and the watcher may
// see that before the supervisor looks again. A put into an open end may come after the whole run has ended: then no
// monitor is left to report its fault.
void RunErrors::import_late_faults() {
  import_faults();
  for (Home const home : layout_.homes.device_homes()) {
    bool const open_there = std::ranges::any_of(layout_.placement.tunnels(), [&](PlacedTunnel const& t) {
      DeclaredTunnel const& declared = layout_.graph.tunnels()[t.base->id()];
      return (declared.open_inlets != 0 && t.put.home == home) || (declared.open_outlets != 0 && t.get.home == home);
    });
    if (!open_there) continue;
    Control const control = layout_.homes.words(home).fetch(layout_.homes.control(home));
    if (control.ready.bits != 0) import_record(control.record);
  }
}

/// A run that ends with an incomplete frame has lost its values: that is an error.
void RunErrors::check_frames() const {
  for (PlacedTunnel const& t : layout_.placement.tunnels()) {
    if (t.stencil_base == nullptr) continue;
    if (std::string const what = incomplete_frame_of(layout_.homes, t); !what.empty())
      throw MisuseError("stencil tunnel '" + t.base->name() + "': its writers have returned, but " + what);
  }
}

void RunErrors::find_late_faults() {
  if (!get()) import_late_faults();
  if (!get()) check_frames();
}

}  // namespace hiway
