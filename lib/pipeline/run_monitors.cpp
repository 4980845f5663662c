#include "run_monitors.hpp"

#include <algorithm>
#include <utility>

#include "lib/scope/places.hpp"

namespace hiway {
namespace {

/// One step of both relays. True also if another thread has moved them, so that a monitor whose work others do stays
/// awake. Readers that nap are woken for what it hears.
bool relay(Relays& relays, std::uint64_t& seen, std::vector<Bell*> const& readers) {
  ThreadMachine const m;
  tell_if_free(m, relays.tells);
  std::uint64_t const heard = m.load(relays.hears.to, MemoryOrder::relaxed);
  bool const news = hear_if_free(m, relays.hears);
  std::uint64_t const hears = m.load(relays.hears.to, MemoryOrder::relaxed);
  for (Bell* const bell : readers) {
    if (news) bell->ring(static_cast<unsigned>(std::min<std::uint64_t>(hears - heard, ~0U)));
  }
  std::uint64_t const sum = m.load(relays.tells.to, MemoryOrder::relaxed) + hears;
  return std::exchange(seen, sum) != sum;
}

/// Moves what writers have staged and left alone. A writer that is at work moves its items itself: many at a time,
/// while each look here takes a cache line from it.
class StillStagings {
 public:
  StillStagings(Staging* first, std::vector<InletView> const& inlets) : first_(first), inlets_(inlets) {}

  bool step() {
    constexpr std::uint64_t between_looks_ns = 5'000;
    StageThread const m;
    std::uint64_t const now = m.now_ns();
    if (now - looked_ns_ < between_looks_ns) return false;
    looked_ns_ = now;
    bool moved = false;
    for (Staging* s = first_; s != nullptr; s = s->next_of_tunnel)
      moved = (s->is_left_alone(m) && detail::move_staged(m, *s)) || moved;
    for (InletView const& inlet : inlets_) moved = detail::tend_stripes(m, inlet) || moved;
    return moved;
  }

 private:
  Staging* first_;
  std::vector<InletView> const& inlets_;  ///< that are open
  std::uint64_t looked_ns_ = 0;
};

TransferLine* line_of(Device const& device, BusDirection direction) {
  return device.lines[static_cast<std::size_t>(direction)].get();
}

}  // namespace

void RunMonitors::add_relays(Post& to_device, Post& from_device) {
  for (PlacedTunnel const& t : layout_.placement.tunnels()) {
    if (t.bus.put_relays == nullptr && t.bus.get_relays == nullptr) continue;
    if (Staging* const first = layout_.prepared.staged_of(t).first; first != nullptr)
      to_device.duties.emplace_back([all = StillStagings(first, t.open.inlets)]() mutable { return all.step(); });
    for (Relays* const relays : {t.bus.put_relays, t.bus.get_relays}) {
      if (relays == nullptr) continue;
      Post& post = relays == t.bus.put_relays ? to_device : from_device;
      post.duties.emplace_back([relays, seen = std::uint64_t{0}, readers = bells_of_readers(t)]() mutable {
        return relay(*relays, seen, readers);
      });
    }
  }
  for (auto const& scopes : layout_.scopes) {
    if (ScopesAccess::has_mail(*scopes))
      from_device.duties.emplace_back([scopes = scopes.get()] { return ScopesAccess::hear(*scopes); });
  }
  for (Drain* const drain : layout_.prepared.host_drains) {
    Control* const control = layout_.homes.host().control;
    to_device.duties.emplace_back([drain, control] { return step(ThreadMachine{}, *drain, *control); });
  }
}

/// Of stages at the host, and of the line to other nodes.
std::vector<Bell*> RunMonitors::bells_of_readers(PlacedTunnel const& tunnel) const {
  std::vector<Bell*> bells;
  for (std::size_t const s : stages_at(layout_.prepared.stages, *tunnel.base, EndOf::readers)) {
    if (Bell* const bell = layout_.prepared.places[s].bell.get(); bell != nullptr) bells.push_back(bell);
  }
  if (layout_.graph.tunnels()[tunnel.base->id()].departs()) bells.push_back(&layout_.line_bell);
  return bells;
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

/// Then the watcher must hear of puts: it has the monitor come back.
bool RunMonitors::a_monitor_yields() const {
  return std::ranges::any_of(layout_.homes.devices(), [](Device const& d) { return d.monitor_news != nullptr; });
}

HostMonitor& RunMonitors::make(Post post, std::function<bool()> const& is_over) {
  Wait const wait = &post.part == &errors_.parts.watcher ? Wait::automatic : layout_.config.monitor_wait;
  monitors_.push_back(std::make_unique<HostMonitor>(
      std::move(post.duties), is_over,
      [this, &part = post.part](std::exception_ptr const& error) { errors_.fail_unless_aborting(part, error); },
      *post.bell, wait, std::move(post.pauses)));
  return *monitors_.back();
}

void RunMonitors::make(RunDuties const& duties, std::vector<KeptThreads::Post>& posts) {
  Post to_device{errors_.parts.to_device, &layout_.monitors_bell};
  Post from_device{errors_.parts.from_device, &layout_.monitors_bell};
  Post supervisor{errors_.parts.supervisor, &supervisor_bell_};
  Post line{errors_.parts.line, &layout_.line_bell, duties.over_nodes, duties.pauses_over_nodes};
  Post watcher{errors_.parts.watcher, a_monitor_yields() ? &layout_.monitors_bell : &watcher_bell_};
  add_relays(to_device, from_device);
  add_lines(to_device, from_device);
  if (from_device.duties.empty()) from_device.bell = &supervisor_bell_;  // no answer comes
  // The supervisor shares a thread with a monitor, unless a call to the driver may hold that thread up.
  std::vector<Duty>& with = (a_line_asks_the_driver() ? supervisor : from_device).duties;
  with.insert(with.begin(), duties.supervise);
  watcher.duties.push_back(duties.watch);
  monitors_.clear();
  for (Post* const post : {&to_device, &from_device, &supervisor, &line, &watcher}) {
    if (post->duties.empty()) continue;
    HostMonitor& monitor = make(std::move(*post), post == &line ? duties.is_over_on_nodes : duties.is_over);
    posts.push_back({post->part.who() + ": its thread", [&monitor] { monitor.run(); }});
  }
  watcher_ = monitors_.back().get();
  at_end_ = duties.at_end;
  after_end_ = duties.after_end;
  posts.back().work = [this] { watch_to_the_end(); };
}

// The run is over when the watcher leaves, and the others may nap.
void RunMonitors::watch_to_the_end() {
  watcher_->run();
  at_end_();
  for (auto const& monitor : monitors_) monitor->wake();
  after_end_();
}

}  // namespace hiway
