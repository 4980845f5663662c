// The device monitor's whole life under every schedule, with a host monitor beside it: half-rings, drain, end check and
// aborts from either home.
#include "hiway/persistent.hpp"
#include "monitors/device_monitor.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

enum class From : std::uint8_t { host, device };

/// A tunnel between the homes, a CPU stage at one end and a device stage at the other, the device monitor, and the
/// host's monitor: its steps are the library's, its import of a device's fault stands for Pipeline's.
template <From Producer, unsigned MonitorLanes, unsigned Pooled, unsigned Late = 0>
struct Bus {
  static constexpr unsigned in_time = 2;
  static constexpr unsigned total = in_time + Late;
  static constexpr bool from_device = Producer == From::device;

  Bus() {
    auto const of = [&](auto entry, bool at_device) { return at_device ? entry : across(entry); };
    check_table.add({.finished = {of(t.finished(), !from_device), of(t.moved(), from_device)},
                     .created = {of(t.created(), from_device), of(t.spilled(), from_device)},
                     .gates = {of(t.closed_by(1), from_device)},
                     .tunnels = {from_device ? TunnelEnds{&t.readers_end, &t.writers_end, &closing}
                                             : TunnelEnds{&t.writers_end, &t.readers_end, &closing}}});
    check_table.add_stage(of(t.reading_stage(), !from_device), {0});
    check_table.table.host_across = true;
    monitor.control = &device;
    monitor.host_control = &host;
    monitor.notice = &notice;
    monitor.relays = from_device ? &t.out : &t.in;
    monitor.relay_count = 1;
    (from_device ? t.reading.relays : t.writing.relays) = from_device ? &t.in : &t.out;
    monitor.drains = &t.drain;
    monitor.drain_count = from_device && Pooled != 0 ? 1 : 0;
    monitor.stages.started = &started;
    monitor.stages.returned = &returned;
    monitor.stages.count = 1;
    monitor.termination = check_table.table;
  }
  void produce(ExploreMachine m) {
    run_executor(m, t, 0, from_device ? device_stage : host_stage, [&] {
      for (unsigned i = 0; i < in_time; ++i) t.put(m, 0, i);
    });
  }
  void consume(ExploreMachine m) {
    run_executor(m, results, 0, from_device ? host_stage : device_stage, [&] {
      t.read(m, 0, [&](std::uint32_t x) {
        require(x < total && !seen[x], "an item came twice, or nobody put it");
        seen[x] = true;
      });
    });
  }
  void monitor_device(ExploreMachine m) {
    run_device_monitor(m, monitor, all_parts, near);
    ++monitor_lanes_gone;
  }
  void monitor_host(ExploreMachine m) {
    for (unsigned misses = 0;;) {
      if (m.load(notice.faulted, MemoryOrder::acquire) != 0)
        record_fault(m, host, notice.record.kind, notice.record.stage, no_id, 0);
      if (is_aborted(m, host) || m.load(notice.ended, MemoryOrder::acquire) != 0) return;
      if (step_if_free(m, from_device ? t.in : t.out)) {
        misses = 0;
      } else {
        m.relax(misses++);
      }
    }
  }
  void require_end() const {
    require(host.aborted.bits == 0 && device.aborted.bits == 0, "a fault that nobody made");
    for (bool const s : seen) require(s, "an item was lost");
    require(t.tasks_ended == total && t.tickets() == total, "a task was lost");
    require(notice.ended.bits == 1 && t.stage_ended.bits == 1, "the end was not told");
    require(t.writers_end.ended.bits == 1 && t.readers_end.ended.bits == 1, "one home knows no end");
    require(device_stage.returned.bits == 1 && host_stage.returned.bits == 1, "a stage has not returned");
    require(closing.bits == 1, "batches wait for company that never comes");
    require(monitor_lanes_gone == MonitorLanes, "the monitor has not returned");
    require(check_table.units[0].ended == (MonitorLanes == 1 ? 1u : 0u), "the check worked on the other table");
  }

  Control host;
  Control device;
  CrossingTunnel t{from_device ? device : host, from_device ? host : device, 1, Pooled};
  LocalTunnel results{from_device ? host : device, 1};
  StageWords host_stage;
  StageWords device_stage;
  CountGate started{&device_stage.started, 1, false};
  CountGate returned{&device_stage.returned, 1, false};
  Word<std::uint32_t> closing{0};
  DeviceNotice notice;
  CheckTable check_table;
  MonitorTable monitor;
  std::array<bool, total> seen{};
  unsigned monitor_lanes_gone = 0;
  alignas(16) std::array<std::byte, 1024> room{};
  CheckRoom near{room.data(), MonitorLanes == 1 ? 64 : room.size()};  // of a lone lane it does not suffice
};

template <From Producer, unsigned MonitorLanes, unsigned Pooled>
struct ToTheEnd : Bus<Producer, MonitorLanes, Pooled> {
  static constexpr std::array warps = {1u, MonitorLanes, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: return this->produce(m);
      case 1: return this->monitor_device(m);
      case 2: return this->monitor_host(m);
      default: return this->consume(m);
    }
  }
  void check() const {
    this->require_end();
    require(this->notice.alive.bits == 1 && this->notice.stages_started.bits == 1, "the stage's start was not told");
  }
};
TEST(ExploreMonitor, HostToDeviceEnds) { expect_no_failure<ToTheEnd<From::host, 1, 0>>(); }
TEST(ExploreMonitor, DeviceToHostEnds) { expect_no_failure<ToTheEnd<From::device, 1, 0>>(); }
TEST(ExploreMonitor, DeviceToHostThroughAPoolEnds) { expect_no_failure<ToTheEnd<From::device, 1, 1>>(); }
TEST(ExploreMonitor, AWarpMonitorsHostToDevice) { expect_no_failure<ToTheEnd<From::host, 2, 0>>(); }

/// Nothing is put, and the stage may start when its tunnel has ended: that it has is told before the monitor leaves. It
/// was not; of several devices one whose tunnels have ended leaves while the run goes on, which would end it by an
/// error.
struct NothingComes : Bus<From::host, 1, 0> {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: return run_executor(m, t, 0, host_stage, [] {});
      case 1: return monitor_device(m);
      case 2: return monitor_host(m);
      default: return consume(m);
    }
  }
  void check() const { require(notice.stages_started.bits == 1, "the stage's start was not told"); }
};
TEST(ExploreMonitor, AStageThatStartsBehindItsEndHasStarted) { expect_no_failure<NothingComes>(); }

/// The monitor's parts in warps of their own, as on a GPU: none outlives the others, and none is missed.
template <From Producer>
struct InParts : Bus<Producer, 4, 0> {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: return this->produce(m);
      case 1: return this->monitor_host(m);
      case 2: return this->consume(m);
      default:
        run_device_monitor(m, this->monitor, parts_of(warp - 3, monitor_parts), this->near);
        ++this->monitor_lanes_gone;
    }
  }
  void check() const { this->require_end(); }
};
TEST(ExploreMonitor, PartsOfTheMonitorEndHostToDevice) { expect_no_failure<InParts<From::host>>(); }
TEST(ExploreMonitor, PartsOfTheMonitorEndDeviceToHost) { expect_no_failure<InParts<From::device>>(); }

/// A writer faults between a pool's ticket and its item, which the drain must not wait for: it would leave with the
/// abort, and with it the monitor that tells the host.
struct FaultInThePool : Bus<From::device, 1, 1> {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0:
        run_executor(m, t, 0, device_stage, [&] {
          t.put(m, 0, 0);
          while (!claim_put(m, *t.writing.spill, 1, true).granted) m.relax(0);
          raise(m, device, FaultKind::failed, 7, no_id, 0);
        });
        return;
      case 1: return monitor_device(m);
      case 2: return monitor_host(m);
      default: return consume(m);
    }
  }
  void check() const {
    require(host.aborted.bits == 1 && host.record.kind == FaultKind::failed && host.record.stage == 7,
            "the host does not know the fault");
    require(monitor_lanes_gone == 1, "the monitor has not returned");
  }
};
TEST(ExploreMonitor, AFaultBetweenAPoolsTicketAndItsItemIsTold) { expect_no_failure<FaultInThePool>(); }

/// Somebody at the host puts for no writer that counts, at any time, also when the end has come and nobody gives room
/// any more: the item is delivered, or the put is a fault that the host knows.
struct LatePut : Bus<From::host, 1, 0, 1> {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: return produce(m);
      case 1: return monitor_device(m);
      case 2: return monitor_host(m);
      case 3: return consume(m);
      default: t.put(m.with(Atomics::of_cpu), 1, in_time);
    }
  }
  void check() const {
    if (host.aborted.bits == 0) return require_end();
    FaultKind const kind = host.record.kind;
    require(kind == FaultKind::put_after_end || kind == FaultKind::put_without_task, "another fault");
    require(monitor_lanes_gone == 1, "the monitor has not returned");
  }
};
TEST(ExploreMonitor, APutAcrossTheBusThatIsLateIsDeliveredOrNamed) { expect_no_failure<LatePut>(); }

/// Two lanes at one home fault at any time: both homes abort, the host knows the fault, and everybody returns.
template <From Producer, From Faulting, unsigned MonitorLanes>
struct Aborts : Bus<Producer, MonitorLanes, 0> {
  static constexpr std::array warps = {1u, MonitorLanes, 1u, 1u, 2u};
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: return this->produce(m);
      case 1: return this->monitor_device(m);
      case 2: return this->monitor_host(m);
      case 3: return this->consume(m);
      default: record_fault(m, Faulting == From::host ? this->host : this->device, FaultKind::failed, 7, no_id, 0);
    }
  }
  void check() const {
    require(this->monitor_lanes_gone == MonitorLanes, "the monitor has not returned");
    if (this->notice.ended.bits != 0) {
      for (bool const s : this->seen) require(s, "an end without an item");
      return;
    }
    require(this->host.aborted.bits == 1 && this->device.aborted.bits == 1, "one home does not abort");
    require(this->host.ready.bits == 1 && this->host.record.kind == FaultKind::failed && this->host.record.stage == 7,
            "the host does not know the fault");
  }
};
TEST(ExploreMonitor, AHostsFaultReachesTheDevice) { expect_no_failure<Aborts<From::host, From::host, 1>>(); }
TEST(ExploreMonitor, AHostsFaultReachesAWarpThatMonitors) { expect_no_failure<Aborts<From::host, From::host, 2>>(); }
TEST(ExploreMonitor, ADevicesFaultReachesTheHost) { expect_no_failure<Aborts<From::host, From::device, 1>>(); }
TEST(ExploreMonitor, AHostsFaultReachesADeviceThatPuts) { expect_no_failure<Aborts<From::device, From::host, 1>>(); }

}  // namespace
