#include "run_monitors.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace hiway {
namespace {

/// One step of both relays. True also if another thread has moved them, so that a monitor whose work others do stays
/// awake.
bool relay(Relays& relays, std::uint64_t& seen) {
  ThreadMachine const m;
  tell_if_free(m, relays.tells);
  hear_if_free(m, relays.hears);
  std::uint64_t const sum = m.load(relays.tells.to, Order::relaxed) + m.load(relays.hears.to, Order::relaxed);
  return std::exchange(seen, sum) != sum;
}

/// Moves what writers have staged and left alone. A writer that is at work moves its items itself: many at a time,
/// while each look here takes a cache line from it.
class StillStagings {
 public:
  explicit StillStagings(Staging* first) : first_(first) {}

  bool step() {
    constexpr std::uint64_t between_looks_ns = 5'000;
    StageThread const m;
    std::uint64_t const now = m.now_ns();
    if (now - looked_ns_ < between_looks_ns) return false;
    looked_ns_ = now;
    bool moved = false;
    for (Staging* s = first_; s != nullptr; s = s->next_of_tunnel)
      moved = (s->is_left_alone(m) && detail::move_staged(m, *s)) || moved;
    return moved;
  }

 private:
  Staging* first_;
  std::uint64_t looked_ns_ = 0;
};

TransferLine* line_of(Device const& device, BusDirection direction) {
  return device.lines[static_cast<std::size_t>(direction)].get();
}

}  // namespace

void RunMonitors::add_relays(Post& to_device, Post& from_device) {
  for (PlacedTunnel const& t : layout_.placement.tunnels()) {
    Relays* const relays = t.bus.host_relays;
    if (relays == nullptr) continue;
    if (Staging* const first = layout_.prepared.staged_of(t).first; first != nullptr)
      to_device.duties.emplace_back([stagings = StillStagings(first)]() mutable { return stagings.step(); });
    (t.put.home == at_host ? to_device : from_device).duties.emplace_back([relays, seen = std::uint64_t{0}]() mutable {
      return relay(*relays, seen);
    });
  }
  for (Drain* const drain : layout_.prepared.host_drains) {
    Control* const control = layout_.homes.host().control;
    to_device.duties.emplace_back([drain, control] { return step(ThreadMachine{}, *drain, *control); });
  }
}

void RunMonitors::add_lines(Post& to_device, Post& from_device) {
  for (Device const& d : layout_.homes.devices()) {
    if (TransferLine* const line = line_of(d, BusDirection::to_device))
      to_device.duties.emplace_back([line] { return line->step(ThreadMachine{}); });
    if (TransferLine* const line = line_of(d, BusDirection::from_device))
      from_device.duties.emplace_back([line] { return line->step(ThreadMachine{}); });
  }
}

/// True if a step of the monitor of tunnels from the device calls a driver, which may hold its thread up.
bool RunMonitors::a_line_asks_the_driver() const {
  return std::ranges::any_of(layout_.homes.devices(), [](Device const& d) {
    return line_of(d, BusDirection::from_device) != nullptr && !d.backend->is_host();
  });
}

void RunMonitors::make(Post& post, std::function<bool()> const& is_over) {
  if (post.duties.empty()) return;
  NamedFailure const& part = post.part;
  Wait const wait = &part == &errors_.parts.watcher ? Wait::automatic : layout_.config.monitor_wait;
  names_.push_back(&part);
  monitors_.push_back(std::make_unique<HostMonitor>(
      std::move(post.duties), is_over,
      [this, &part](std::exception_ptr const& error) { errors_.fail_unless_aborting(part, error); }, wait));
}

void RunMonitors::start(RunDuties duties) {
  Post to_device{errors_.parts.to_device};
  Post from_device{errors_.parts.from_device};
  Post supervisor{errors_.parts.supervisor};
  Post watcher{errors_.parts.watcher};
  add_relays(to_device, from_device);
  add_lines(to_device, from_device);
  // The supervisor shares a thread with a monitor, unless a call to the driver may hold that thread up.
  std::vector<Duty>& with = (a_line_asks_the_driver() ? supervisor : from_device).duties;
  with.insert(with.begin(), std::move(duties.supervise));
  watcher.duties.push_back(std::move(duties.watch));
  monitors_.clear();
  names_.clear();
  for (Post* const post : {&to_device, &from_device, &supervisor, &watcher})  // the watcher last: others wake it
    make(*post, duties.is_over);
  watcher_ = monitors_.back().get();
  start_all();
}

void RunMonitors::start_all() {
  for (std::size_t i = 0; i < monitors_.size(); ++i) {
    try {
      monitors_[i]->start();
    } catch (std::system_error const& e) {
      throw Error(names_[i]->who() + ": its thread could not be started: " + e.code().message());
    } catch (...) {
      std::rethrow_exception(names_[i]->of(std::current_exception()));
    }
  }
}

}  // namespace hiway
