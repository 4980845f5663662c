#include "start_check.hpp"

#include <algorithm>

namespace hiway {
namespace {

constexpr auto patience = std::chrono::seconds(10);

}  // namespace

void StartCheck::look(std::chrono::steady_clock::time_point now) {
  if (layout_.prepared.check.checker == at_host || all_started_ || state_.ended.load(std::memory_order_relaxed)) return;
  all_started_ = have_all_started();
  if (all_started_ || waits_for_a_stream_ || now - state_.started < patience || errors_.get()) return;
  std::string const what =
      first_not_started() + " has not started on the device after " + std::to_string(patience.count()) +
      " s: its kernel waits for another (a profiler or debugger may run kernels one after another)";
  errors_.set(std::make_exception_ptr(Error(what)));
}

bool StartCheck::have_all_started() const {
  ThreadMachine const m;
  for (Home const home : layout_.homes.device_homes()) {
    Device const& device = layout_.homes.device(home);
    if (device.monitor == nullptr || device.backend->is_host()) continue;
    auto const stages =
        std::ranges::count_if(layout_.prepared.stages, [home](Stage const& s) { return s.gpu && s.home == home; });
    if (m.load(device.notice->alive, MemoryOrder::acquire) == 0) return false;
    if (m.load(device.notice->stages_started, MemoryOrder::acquire) < static_cast<std::uint32_t>(stages)) return false;
  }
  return true;
}

std::string StartCheck::first_not_started() const {
  ThreadMachine const m;
  for (Home const home : layout_.homes.device_homes()) {
    Device const& device = layout_.homes.device(home);
    if (device.monitor == nullptr || device.backend->is_host()) continue;
    std::uint32_t const started = m.load(device.notice->stages_started, MemoryOrder::acquire);
    if (m.load(device.notice->alive, MemoryOrder::acquire) == 0) {
      return "the device monitor" +
             (layout_.homes.device_count() > 1 ? " of " + layout_.homes.name(home) : std::string());
    }
    std::uint32_t index = 0;
    for (Stage const& s : layout_.prepared.stages) {
      if (s.home == home && index++ >= started) return s.title();
    }
  }
  return "a kernel";
}

}  // namespace hiway
