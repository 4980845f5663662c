// Faults: the first is kept, whole, and the device monitor carries it across.
#include "monitors/device_monitor.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Two fault at once; whoever finds `ready` finds the one record that stays (F2).
struct TwoFaults {
  static constexpr std::array warps = {1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 2) return record_fault(m, control, FaultKind::failed, warp, no_id, 0);
    for (unsigned misses = 0; m.load(control.ready, MemoryOrder::acquire) == 0; ++misses) m.relax(misses);
    found = control.record;
    require(found.kind == FaultKind::failed, "`ready` without a record");
  }
  void check() const {
    require(control.aborted.bits == 1, "nobody is told to leave");
    require(found.stage == control.record.stage, "a second fault wrote over the first");
  }
  Control control;
  FaultRecord found;
};
TEST(ExploreFault, TheFirstOfTwoIsKept) { expect_no_failure<TwoFaults>(); }

/// A fault on the device, an abort of the host, or both: the monitor tells the other side, and the record comes first.
template <unsigned DeviceFaults, unsigned HostAborts>
struct AbortCrosses {
  static constexpr std::array warps = {DeviceFaults == 2 ? 2u : 1u, 2u, 1u};
  AbortCrosses() {
    table.control = &device;
    table.host_control = &host;
    table.notice = &notice;
  }
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 1) {
      for (unsigned misses = 0; !relays_abort(m);) m.relax(misses++);
    } else if (warp == 0) {
      if (DeviceFaults != 0) record_fault(m, device, FaultKind::failed, 7, no_id, 0);
    } else {
      if (HostAborts != 0) return m.store(host.aborted, 1u, MemoryOrder::release);
      for (unsigned misses = 0; m.load_across(notice.faulted, MemoryOrder::acquire) == 0; ++misses) m.relax(misses);
      require(notice.record.kind == FaultKind::failed && notice.record.stage == 7, "a notice without its record");
    }
  }
  void check() const { require(device.aborted.bits == 1, "the device is not told"); }
  bool relays_abort(ExploreMachine m) {
    HeldRelay none;
    (void)hear_all(m, table, none);
    return relay_abort(m, table);
  }
  Control device;
  Control host;
  DeviceNotice notice;
  MonitorTable table;
};
TEST(ExploreFault, TheDevicesFaultReachesTheHost) { expect_no_failure<AbortCrosses<1, 0>>(); }
// Who faults second may set `aborted` while the first still writes its record.
TEST(ExploreFault, TheFirstOfTheDevicesTwoFaultsReachesTheHost) { expect_no_failure<AbortCrosses<2, 0>>(); }
TEST(ExploreFault, TheHostsAbortReachesTheDevice) { expect_no_failure<AbortCrosses<0, 1>>(); }
TEST(ExploreFault, BothSidesAbortAtOnce) { expect_no_failure<AbortCrosses<1, 1>>(); }

}  // namespace
