// The device monitor's whole life beside a host monitor: one direct tunnel across the bus from its first item to the
// end, or to a fault of either side.
#include "hiway/backend.hpp"
#include "hiway/inlet.hpp"
#include "hiway/outlet.hpp"
#include "monitors/device_monitor.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

enum class Faulty : std::uint8_t { nobody, the_host, the_device, two_of_the_device };

/// A thread of the host and a stage of the device, one of which puts `total` items and the other gets them.
template <BusDirection Way, Faulty Who>
struct Crossing {
  static constexpr bool to_device = Way == BusDirection::to_device;
  static constexpr unsigned total = 2;
  enum Fiber : unsigned { thread, stage, host_monitor, device_monitor, bystander };
  static constexpr std::array warps = {1u, 1u, 1u, 2u, 1u};

  Crossing() {
    outbox.ring.items = inbox.ring.items = reinterpret_cast<std::byte*>(items.data());
    for (Relay* relay : {&out.tells, &out.hears, &in.tells, &in.hears}) relay->ring.items = outbox.ring.items;
    monitor.relays = to_device ? &in : &out;
    monitor.relay_count = 1;
    monitor.control = &device;
    monitor.host_control = &host;
    monitor.notice = &notice;
    monitor.stages.started = &started;
    monitor.stages.returned = &returned;
    monitor.stages.count = 1;
    unit.finished = {0, 1};
    unit.created = {1, 2};
    unit.gates = {0, 1};
    unit.tunnels = {0, 1};
    TerminationTable& t = monitor.termination;
    t.units = &unit;
    t.unit_count = 1;
    t.stages = ends.data();
    t.stage_count = 2;
    t.terms = terms.data();
    t.gates = &gate;
    t.tunnels = &tunnel;
    t.unit_list = &the_unit;
    t.host_across = true;
  }

  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case thread: to_device ? puts(m, host, host_end) : gets(m, host, host_end, host_ended); break;
      case stage:
        m.fetch_add(words.started, 1u, MemoryOrder::relaxed);
        to_device ? gets(m, device, device_end, words.ended) : puts(m, device, device_end);
        m.fetch_add(words.returned, 1u, MemoryOrder::acq_rel);
        break;
      case host_monitor: watch(m); break;
      case device_monitor: run_device_monitor(m, monitor); break;
      default:
        if (Who == Faulty::two_of_the_device) fail(m, device, 1);
    }
  }
  void puts(ExploreMachine m, Control& control, EndWords& end) {
    InletView v;
    v.ring = outbox.ring;
    v.control = &control;
    v.end = &end;
    v.ports = &inlet;
    v.closed_executors = &closed;
    for (unsigned i = 0; i < total; ++i) {
      maybe_fault(m, control, i);
      detail::put(m, v, WriteTorn{m, i});
    }
    traces.leave(m, 0);
    detail::close(m, v);
  }
  void gets(ExploreMachine m, Control& control, EndWords& end, Word<std::uint32_t>& ended) {
    OutletView v;
    v.ring = inbox.ring;
    v.control = &control;
    v.end = &end;
    v.ports = &outlet;
    v.stage_ended = &ended;
    for (unsigned misses = 0; !detail::tunnel_ended(m, v);) {
      std::uint32_t x = 0;
      if (!detail::get_once(m, v, 1, true, Credit::early, ReadTorn{m, x})) {
        m.relax(misses++);
        continue;
      }
      misses = 0;
      require(x == got, "a wrong item");
      ++got;
      traces.leave(m, 1);
      detail::end_tasks(m, v, 1, true);
    }
    traces.see_all(m);
    while (!detail::stage_ended(m, v)) m.relax(1);
    maybe_fault(m, control, 1);
  }
  /// In the middle of the work of its side.
  void maybe_fault(ExploreMachine m, Control& control, unsigned i) {
    if (i == 1 && Who != Faulty::nobody && (Who == Faulty::the_host) == (&control == &host)) fail(m, control, 0);
  }
  void fail(ExploreMachine m, Control& control, unsigned who) {
    m.writes(&faults[who]);
    raise(m, control, FaultKind::failed, who, no_id, 0);
  }
  /// What the host's monitors do: relay, import a fault, see the end.
  void watch(ExploreMachine m) {
    for (unsigned misses = 0;;) {
      if (m.load_across(notice.faulted, MemoryOrder::acquire) != 0) {
        require(notice.record.kind == FaultKind::failed, "another fault");
        m.reads(&faults.at(notice.record.stage));
        m.store(host.aborted, 1u, MemoryOrder::release);
        return;
      }
      if (is_aborted(m, host)) return;
      if (m.load_across(notice.ended, MemoryOrder::acquire) != 0) return traces.see_all(m);
      bool const moved = to_device ? step(m, out) : step(m, in);
      if (moved) {
        misses = 0;
      } else {
        m.relax(misses++);
      }
    }
  }
  void check() const {
    require(notice.alive.bits == 1, "the monitor never lived");
    if (Who == Faulty::nobody) {
      require(host.aborted.bits == 0 && device.aborted.bits == 0, "a fault that nobody made");
      require(got == total && notice.ended.bits == 1 && notice.stages_started.bits == 1, "no end");
    } else {
      require(host.aborted.bits == 1 && device.aborted.bits == 1, "a side does not know of the fault");
    }
  }

  std::array<Torn, 4> items{};
  SmallRing outbox{2, RingPart::outbox};
  SmallRing inbox{2, RingPart::inbox};
  Word<std::uint64_t> published{0};
  Word<std::uint64_t> retired{0};
  Relays out{.tells = {outbox.ring, {&published}}, .hears = {outbox.ring, {&retired}}};
  Relays in{.tells = {inbox.ring, {&retired}}, .hears = {inbox.ring, {&published}}};
  Control host;
  Control device;
  DeviceNotice notice;
  EndWords host_end;
  EndWords device_end;
  InletPort inlet;
  OutletPort outlet;
  Word<std::uint32_t> closed{0};
  Word<std::uint32_t> host_ended{0};
  StageWords words;
  UnitRecord unit;
  std::array<SumTerm, 2> terms{SumTerm{&outlet.finished, 1, 0, !to_device},
                               SumTerm{&outbox.words.claimed, 1, 0, to_device}};
  CountGate gate{&closed, 1, to_device};
  CountGate started{&words.started, 1, false};
  CountGate returned{&words.returned, 1, false};
  TunnelEnds tunnel{&host_end, &device_end, nullptr};
  std::array<StageRecordWords, 2> ends{StageRecordWords{&words.ended, {0, 1}, false},
                                       StageRecordWords{&host_ended, {0, 1}, true}};
  std::uint32_t the_unit = 0;
  MonitorTable monitor;
  unsigned got = 0;
  Traces<2> traces;              ///< of the work: of who puts and who gets
  std::array<char, 2> faults{};  ///< traces of who fails
};

TEST(ExploreMonitor, ATunnelToTheDeviceEnds) { expect_no_failure<Crossing<BusDirection::to_device, Faulty::nobody>>(); }
TEST(ExploreMonitor, ATunnelFromTheDeviceEnds) {
  expect_no_failure<Crossing<BusDirection::from_device, Faulty::nobody>>();
}
TEST(ExploreMonitor, AFaultOfTheHostEndsBothSides) {
  expect_no_failure<Crossing<BusDirection::to_device, Faulty::the_host>>();
}
TEST(ExploreMonitor, AFaultOfTheDeviceComesWholeToTheHost) {
  expect_no_failure<Crossing<BusDirection::from_device, Faulty::the_device>>();
}
// The second one's `aborted` may come before the first one's record.
TEST(ExploreMonitor, TheFirstOfTwoFaultsComesWholeToTheHost) {
  expect_no_failure<Crossing<BusDirection::from_device, Faulty::two_of_the_device>>();
}
TEST(ExplorePlanted, ADeviceMonitorWithoutReleasesIsFound) {
  expect_found<Weakened<Crossing<BusDirection::from_device, Faulty::the_device>, Weaken::releases>>();
}
TEST(ExplorePlanted, ADeviceMonitorWithoutAcquiresIsFound) {
  expect_found<Weakened<Crossing<BusDirection::from_device, Faulty::the_device>, Weaken::acquires>>();
}

}  // namespace
