#include "stall_report.hpp"

#include <algorithm>
#include <deque>

namespace hiway {
namespace {

/// Words are read one after another while other threads change them, so a later word may be ahead.
std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

}  // namespace

/// Waiting puts may have their tickets already if items carry tags, so the count is limited to the capacity.
std::uint64_t in_ring(TunnelSnapshot const& t) { return std::min(minus(t.claimed, t.retired), t.capacity); }
std::uint64_t in_pool(TunnelSnapshot const& t) { return minus(t.spill_claimed, t.spill_taken); }
std::uint64_t put(TunnelSnapshot const& t) {
  return t.crosses ? minus(t.claimed, t.spill_taken) + t.spill_claimed : t.claimed + t.spill_claimed;
}
TaskCounts tasks(PipelineSnapshot const& snapshot, std::size_t tunnel) {
  TaskCounts all;
  auto const add = [&](TaskCounts const& c) {
    all.got += c.got;
    all.finished += c.finished;
  };
  for (StageSnapshot const& s : snapshot.stages) {
    for (auto const& from : s.from) {
      if (from.tunnel == tunnel) add(from.tasks);
    }
  }
  for (TaskCounts const& c : snapshot.tunnels[tunnel].open_outlets) add(c);
  return all;
}

namespace {

std::string quoted(std::string const& name) { return "'" + name + "'"; }

std::string joined(std::vector<std::string> const& words, std::string_view between) {
  std::string all;
  for (std::string const& w : words) all += (all.empty() ? "" : std::string(between)) + w;
  return all;
}

std::string items(std::uint64_t n) { return std::to_string(n) + (n == 1 ? " item" : " items"); }
std::string of(std::uint64_t n, std::uint64_t all) { return std::to_string(n) + " of " + std::to_string(all); }
std::string executors(StageSnapshot const& s, std::uint64_t n) {
  return of(n, s.executors) + (s.gpu ? " blocks" : " threads") + (s.device.empty() ? "" : " on " + s.device);
}

std::uint64_t got(TunnelSnapshot const& t) { return t.crosses ? t.taken : t.taken + t.spill_taken; }
bool full(TunnelSnapshot const& t) { return in_ring(t) >= t.capacity; }
bool empty(TunnelSnapshot const& t) { return put(t) <= got(t); }
/// Items that a get would find.
std::uint64_t ready(TunnelSnapshot const& t) { return t.crosses ? minus(t.arrived, t.taken) : minus(put(t), got(t)); }
/// Items between the two rings of a tunnel across the bus.
std::uint64_t under_way(TunnelSnapshot const& t) { return t.crosses ? minus(t.claimed, t.arrived) : 0; }

std::uint64_t held(TaskCounts const& c) { return minus(c.got, c.finished); }
std::uint64_t held(StageSnapshot const& s) {
  std::uint64_t all = 0;
  for (auto const& f : s.from) all += held(f.tasks);
  return all;
}

/// A possible wait of one stage for another.
struct Link {
  enum class Wait : std::uint8_t { room, items };
  std::size_t from = 0;  ///< the stage that waits
  std::size_t to = 0;
  std::size_t tunnel = 0;
  Wait wait = Wait::room;
};

constexpr char const* waits_for_the_device =
    "; a CUDA call in it that waits for the device waits for this pipeline's kernels";

class Finder {
 public:
  explicit Finder(PipelineSnapshot const& snapshot) : p_(snapshot) {}

  std::vector<std::string> find() {
    driver_holds();
    if (p_.aborting) {
      left_behind();
    } else {
      not_started();
      std::vector<Link> const circle = shortest_circle();
      bool const certain = std::none_of(circle.begin(), circle.end(), [&](Link const& l) {
        return l.wait == Link::Wait::items && held(p_.stages[l.from]) != 0;
      });
      if (certain) name_circle(circle, "wait for each other");
      full_pools();
      tasks_not_ended();
      if (!certain) name_circle(circle, "may wait for each other");
      on_the_bus();
      incomplete_frames();
      throttled_tunnels();
      full_tunnels();
      items_nobody_gets();
      empty_tunnels();
      ended_and_not_returned();
    }
    if (found_.empty()) found_.emplace_back("no stage is seen to hold anything up: the counters are all that is known");
    return std::move(found_);
  }

  [[nodiscard]] std::optional<std::size_t> to_grow() const {
    std::vector<Link> const all = links();
    std::optional<std::size_t> smallest;
    for (Link const& link : all) {
      TunnelSnapshot const& t = p_.tunnels[link.tunnel];
      bool const may = link.wait == Link::Wait::room && t.capacity < t.may_grow_to;
      bool const smaller = !smallest || t.capacity < p_.tunnels[*smallest].capacity;
      if (may && smaller && !circle_through(link, all).empty()) smallest = link.tunnel;
    }
    return smallest;
  }

 private:
  [[nodiscard]] bool known(StageSnapshot const& s) const { return !s.gpu || p_.device_seen; }
  [[nodiscard]] bool known(TunnelSnapshot const& t) const { return !t.on_device || p_.device_seen; }
  [[nodiscard]] bool returned(StageSnapshot const& s) const { return s.returned >= s.executors; }

  /// The stages that may still put into a tunnel, or get from it.
  [[nodiscard]] std::vector<std::size_t> writers(std::size_t tunnel) const {
    std::vector<std::size_t> all;
    for (std::size_t s = 0; s < p_.stages.size(); ++s) {
      for (auto const& into : p_.stages[s].into) {
        if (into.tunnel == tunnel && into.closed < p_.stages[s].executors) all.push_back(s);
      }
    }
    return all;
  }
  [[nodiscard]] std::vector<std::size_t> readers(std::size_t tunnel) const {
    std::vector<std::size_t> all;
    for (std::size_t s = 0; s < p_.stages.size(); ++s) {
      for (auto const& from : p_.stages[s].from) {
        if (from.tunnel == tunnel && !returned(p_.stages[s])) all.push_back(s);
      }
    }
    return all;
  }
  [[nodiscard]] std::string names(std::vector<std::size_t> const& stages) const {
    std::vector<std::string> all;
    for (std::size_t s : stages) all.push_back(quoted(p_.stages[s].name));
    return joined(all, ", ");
  }
  [[nodiscard]] std::string reader_names(std::size_t tunnel) const {
    std::vector<std::string> all;
    for (std::size_t s : readers(tunnel)) all.push_back(quoted(p_.stages[s].name));
    if (!p_.tunnels[tunnel].open_outlets.empty()) all.emplace_back("its open outlet");
    return all.empty() ? "a reader" : joined(all, " or ");
  }

  /// The tunnels in which the stage may wait for room, or for items.
  [[nodiscard]] std::vector<std::size_t> waits_for_room(StageSnapshot const& s) const {
    std::vector<std::size_t> all;
    for (auto const& into : s.into) {
      TunnelSnapshot const& t = p_.tunnels[into.tunnel];
      if (!into.spills && into.closed < s.executors && known(t) && full(t)) all.push_back(into.tunnel);
    }
    return all;
  }
  [[nodiscard]] std::vector<std::size_t> waits_for_items(StageSnapshot const& s) const {
    std::vector<std::size_t> all;
    for (auto const& from : s.from) {
      TunnelSnapshot const& t = p_.tunnels[from.tunnel];
      if (!returned(s) && known(t) && empty(t) && !t.ended) all.push_back(from.tunnel);
    }
    return all;
  }
  /// True if the stage reads, holds nothing and has nothing to get: it only passes a wait on.
  [[nodiscard]] bool idle(StageSnapshot const& s) const {
    return !s.from.empty() && held(s) == 0 &&
           std::all_of(s.from.begin(), s.from.end(), [&](auto const& from) { return empty(p_.tunnels[from.tunnel]); });
  }

  /// A CUDA call of the process, in a stage or elsewhere, holds the driver's lock and waits for kernels to leave.
  void driver_holds() {
    if (p_.driver_held.count() == 0) return;
    auto const tenths = std::chrono::duration_cast<std::chrono::milliseconds>(p_.driver_held).count() / 100;
    std::string const time = std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
    std::string const why = ": a CUDA call that waits for the device waits for this pipeline's kernels";
    for (StageSnapshot const& s : p_.stages) {
      if (s.gpu || s.inside == 0 || (held(s) == 0 && !s.from.empty())) continue;
      found_.push_back("stage " + quoted(s.name) + " is in user code (" + executors(s, s.inside) + "), and for " +
                       time + " the CUDA driver has answered nobody" + why);
    }
    if (found_.empty()) found_.push_back("for " + time + " the CUDA driver has answered nobody" + why);
  }

  void left_behind() {
    for (StageSnapshot const& s : p_.stages) {
      if (s.inside == 0) continue;
      found_.push_back("the run is aborting, but stage " + quoted(s.name) + " has not left it (" +
                       executors(s, s.inside) + "): its own code is at work, and calls nothing that could leave");
    }
  }

  void not_started() {
    for (StageSnapshot const& s : p_.stages) {
      if (!known(s) || s.started >= s.executors) continue;
      found_.push_back("stage " + quoted(s.name) + " has not started: " + executors(s, s.started) + " run");
    }
  }

  /// The reason for a stage that holds tasks, waits for no room, and has not returned.
  [[nodiscard]] std::string why_not_ended(StageSnapshot const& s) const {
    if (std::uint32_t const lanes = s.in_sync_block.value_or(0); lanes != 0) {
      return std::to_string(lanes) + (lanes == 1 ? " of its lanes stands" : " of its lanes stand") +
             " in sync_block until all of their block come: others wait elsewhere, or are at work";
    }
    bool const may_stand = s.gpu && !s.in_sync_block;
    return std::string("end_task is missing, or its body is still at work") +
           (may_stand ? ", or lanes stand in sync_block and not all of their block come" : "") +
           (p_.asks_driver && !s.gpu ? waits_for_the_device : "");
  }

  void tasks_not_ended() {
    for (StageSnapshot const& s : p_.stages) {
      if (!known(s) || !waits_for_room(s).empty()) continue;  // a stage that waits for room has a reason to hold tasks
      for (auto const& from : s.from) {
        std::uint64_t const n = held(from.tasks);
        if (n == 0) continue;
        std::string others;
        for (std::size_t t : waits_for_items(s)) {
          if (t != from.tunnel) others += ", or it waits for items of tunnel " + quoted(p_.tunnels[t].name);
        }
        found_.push_back("stage " + quoted(s.name) + " holds " + items(n) + " of tunnel " +
                         quoted(p_.tunnels[from.tunnel].name) + " that it got and has not ended: " +
                         (returned(s) ? "it returned without end_task" : why_not_ended(s) + others));
      }
    }
    for (TunnelSnapshot const& t : p_.tunnels) {
      if (!known(t)) continue;
      for (TaskCounts const& outlet : t.open_outlets) {
        if (held(outlet) == 0) continue;
        found_.push_back("an open outlet of tunnel " + quoted(t.name) + " holds " + items(held(outlet)) +
                         " that it got and has not ended: end_task is missing, or the work on it goes on");
      }
    }
  }

  [[nodiscard]] std::vector<Link> links() const {
    std::vector<Link> all;
    for (std::size_t s = 0; s < p_.stages.size(); ++s) {
      for (std::size_t t : waits_for_room(p_.stages[s])) {
        for (std::size_t r : readers(t)) all.push_back({s, r, t, Link::Wait::room});
      }
      for (std::size_t t : waits_for_items(p_.stages[s])) {
        for (std::size_t w : writers(t)) all.push_back({s, w, t, Link::Wait::items});
      }
    }
    return all;
  }

  /// The shortest circle of waits with a full tunnel in it. A circle without one is a cycle whose items come from
  /// elsewhere.
  [[nodiscard]] std::vector<Link> shortest_circle() const {
    std::vector<Link> const all = links();
    std::vector<Link> shortest;
    for (Link const& first : all) {
      if (first.wait != Link::Wait::room) continue;
      std::vector<Link> const circle = circle_through(first, all);
      if (!circle.empty() && (shortest.empty() || circle.size() < shortest.size())) shortest = circle;
    }
    return shortest;
  }

  /// A shortest circle that begins with `first`; empty if there is none.
  [[nodiscard]] std::vector<Link> circle_through(Link const& first, std::vector<Link> const& all) const {
    std::vector<Link const*> reached_by(p_.stages.size(), nullptr);
    reached_by[first.to] = &first;
    std::deque<std::size_t> next{first.to};
    while (!next.empty() && reached_by[first.from] == nullptr) {
      for (Link const& link : all) {
        if (link.from != next.front() || reached_by[link.to] != nullptr) continue;
        reached_by[link.to] = &link;
        next.push_back(link.to);
      }
      next.pop_front();
    }
    std::vector<Link> circle;
    if (reached_by[first.from] == nullptr) return circle;
    for (std::size_t at = first.from; circle.empty() || at != first.from;) {
      circle.push_back(*reached_by[at]);
      at = reached_by[at]->from;
    }
    std::reverse(circle.begin(), circle.end());
    return circle;
  }

  void name_circle(std::vector<Link> const& circle, std::string const& claim) {
    if (circle.empty()) return;
    std::vector<std::string> parts;
    for (Link const& l : circle) {
      bool const room = l.wait == Link::Wait::room;
      parts.push_back(quoted(p_.stages[l.from].name) + (room ? " for room in tunnel " : " for items of tunnel ") +
                      quoted(p_.tunnels[l.tunnel].name) + " until " + quoted(p_.stages[l.to].name) +
                      (room ? " gets from it" : " puts into it"));
    }
    found_.push_back("stages " + claim + ": " + joined(parts, ", "));
  }

  void on_the_bus() {
    for (TunnelSnapshot const& t : p_.tunnels) {
      if (!known(t) || under_way(t) == 0) continue;
      found_.push_back(items(under_way(t)) + " of tunnel " + quoted(t.name) + " have not crossed the bus (" +
                       std::to_string(minus(t.claimed, t.published)) + " not published, " +
                       std::to_string(minus(t.published, t.arrived)) +
                       " published): a put is not complete, or a monitor does not carry them");
    }
  }

  /// The writers that may wait for room in the tunnel.
  [[nodiscard]] std::vector<std::string> waiting_writers(std::size_t tunnel) const {
    TunnelSnapshot const& t = p_.tunnels[tunnel];
    std::vector<std::string> all;
    if (!known(t) || !full(t)) return all;
    for (std::size_t w : writers(tunnel)) {
      auto const rooms = waits_for_room(p_.stages[w]);
      if (std::find(rooms.begin(), rooms.end(), tunnel) != rooms.end()) all.push_back(quoted(p_.stages[w].name));
    }
    if (t.open_inlets > t.open_inlets_closed) all.emplace_back("an open inlet");
    return all;
  }

  /// Writers that wait although there may be room. They never wait for long, so they are not part of a circle.
  void throttled_tunnels() {
    for (std::size_t i = 0; i < p_.tunnels.size(); ++i) {
      TunnelSnapshot const& t = p_.tunnels[i];
      if (!known(t) || !t.throttled) continue;
      std::vector<std::string> waiting;
      for (std::size_t w : writers(i)) {
        auto const& into = p_.stages[w].into;
        if (std::any_of(into.begin(), into.end(), [&](auto const& x) { return x.tunnel == i && !x.spills; }))
          waiting.push_back(quoted(p_.stages[w].name));
      }
      if (t.open_inlets > t.open_inlets_closed) waiting.emplace_back("an open inlet");
      if (waiting.empty()) continue;
      std::vector<std::string> pools;
      for (std::size_t by : t.throttled_by) {
        TunnelSnapshot const& pool = p_.tunnels[by];
        pools.push_back(of(in_pool(pool), pool.spill_capacity) + " spilled in " + quoted(pool.name));
      }
      found_.push_back("tunnel " + quoted(t.name) + " is throttled (" + joined(pools, ", ") + "): " +
                       joined(waiting, ", ") + " must wait until the pools have emptied, or nobody empties them");
    }
  }

  void incomplete_frames() {
    for (std::size_t i = 0; i < p_.tunnels.size(); ++i) {
      if (!p_.tunnels[i].frames.empty())
        found_.push_back("stencil tunnel " + quoted(p_.tunnels[i].name) + ": " + p_.tunnels[i].frames);
    }
  }

  /// A put would be an error; a stage that uses try_put may call it again and again.
  void full_pools() {
    for (std::size_t i = 0; i < p_.tunnels.size(); ++i) {
      TunnelSnapshot const& t = p_.tunnels[i];
      if (!known(t) || !t.spills || !full(t) || in_pool(t) < t.spill_capacity) continue;
      std::vector<std::string> may_try;
      for (std::size_t w : writers(i)) {
        auto const& into = p_.stages[w].into;
        if (std::any_of(into.begin(), into.end(), [&](auto const& x) { return x.tunnel == i && x.spills; }))
          may_try.push_back(quoted(p_.stages[w].name));
      }
      if (may_try.empty()) continue;
      found_.push_back("tunnel " + quoted(t.name) + " and its spill pool are full (" + of(in_ring(t), t.capacity) +
                       " and " + of(in_pool(t), t.spill_capacity) + "): try_put by " + joined(may_try, ", ") +
                       " is false until " + reader_names(i) + " gets from it");
    }
  }

  void full_tunnels() {
    for (std::size_t i = 0; i < p_.tunnels.size(); ++i) {
      TunnelSnapshot const& t = p_.tunnels[i];
      std::vector<std::string> const waiting = waiting_writers(i);
      if (waiting.empty()) continue;
      found_.push_back("tunnel " + quoted(t.name) + " is full (" + of(in_ring(t), t.capacity) + "): " +
                       joined(waiting, ", ") + " must wait for room until " + reader_names(i) + " gets from it");
    }
  }

  void items_nobody_gets() {
    for (std::size_t i = 0; i < p_.tunnels.size(); ++i) {
      TunnelSnapshot const& t = p_.tunnels[i];
      if (!known(t) || ready(t) == 0 || !waiting_writers(i).empty()) continue;
      std::vector<std::string> who;  // a reader that waits for room has its reason
      for (std::size_t r : readers(i)) {
        if (waits_for_room(p_.stages[r]).empty()) who.push_back(quoted(p_.stages[r].name));
      }
      if (!t.open_outlets.empty()) who.emplace_back("its open outlet");
      if (!who.empty())
        found_.push_back("tunnel " + quoted(t.name) + " holds " + items(ready(t)) + " that " + joined(who, " or ") +
                         " could get and does not");
    }
  }

  void empty_tunnels() {
    for (std::size_t i = 0; i < p_.tunnels.size(); ++i) {
      TunnelSnapshot const& t = p_.tunnels[i];
      if (!known(t) || !empty(t) || t.ended || t.throttled) continue;
      std::vector<std::string> open;
      for (std::size_t w : writers(i)) {
        StageSnapshot const& s = p_.stages[w];
        if (!known(s) || idle(s) || !waits_for_room(s).empty()) continue;
        auto const into = std::find_if(s.into.begin(), s.into.end(), [&](auto const& x) { return x.tunnel == i; });
        open.push_back("stage " + quoted(s.name) + " (" + executors(s, into->closed) + " closed)");
      }
      if (t.open_inlets > t.open_inlets_closed)
        open.push_back("its open inlets (" + of(t.open_inlets_closed, t.open_inlets) + " closed)");
      if (open.empty()) continue;
      found_.push_back("tunnel " + quoted(t.name) + " is empty and open: " + reader_names(i) +
                       " must wait until items come or it is closed, by " + joined(open, ", "));
    }
  }

  void ended_and_not_returned() {
    for (StageSnapshot const& s : p_.stages) {
      if (!known(s) || s.from.empty() || !s.ended || returned(s) || !waits_for_room(s).empty()) continue;
      found_.push_back("stage " + quoted(s.name) + " has nothing more to get and has not returned (" +
                       executors(s, s.returned) + " returned): its own code is at work");
    }
  }

  PipelineSnapshot const& p_;
  std::vector<std::string> found_;
};

std::string line(PipelineSnapshot const& p, StageSnapshot const& s) {
  std::string text = "\n  stage " + quoted(s.name) + ": " + executors(s, s.started) + " started, " +
                     std::to_string(s.returned) + " returned";
  for (auto const& from : s.from) {
    text += "; of " + quoted(p.tunnels[from.tunnel].name) + " got " + std::to_string(from.tasks.got) + ", ended " +
            std::to_string(from.tasks.finished);
  }
  for (auto const& into : s.into)
    text += "; closed " + quoted(p.tunnels[into.tunnel].name) + " " + of(into.closed, s.executors);
  if (s.ended && !s.from.empty()) text += "; all that it reads has ended";
  return text;
}

std::string line(TunnelSnapshot const& t) {
  std::string text = "\n  tunnel " + quoted(t.name) + ", " + t.kind + ": holds " + of(in_ring(t), t.capacity) +
                     "; put " + std::to_string(put(t)) + ", got " + std::to_string(got(t));
  if (t.crosses) {
    text += "; claimed " + std::to_string(t.claimed) + ", published " + std::to_string(t.published) + ", arrived " +
            std::to_string(t.arrived) + ", retired " + std::to_string(t.retired);
  }
  if (t.spills)
    text += "; spilled " + std::to_string(t.spill_claimed) + ", " + of(in_pool(t), t.spill_capacity) + " in the pool";
  if (t.throttled) text += "; throttled";
  if (t.open_inlets > 0) text += "; open inlets closed " + of(t.open_inlets_closed, t.open_inlets);
  for (TaskCounts const& outlet : t.open_outlets) {
    text += "; open outlet got " + std::to_string(outlet.got) + ", ended " + std::to_string(outlet.finished);
  }
  return text + (t.ended ? "; ended" : t.closed ? "; closed" : "; open");
}

}  // namespace

Progress progress(PipelineSnapshot const& snapshot) {
  Progress all{snapshot.device_seen, snapshot.aborting};
  for (StageSnapshot const& s : snapshot.stages) {
    all.insert(all.end(), {s.started, s.returned, s.inside, s.ended});
    for (auto const& from : s.from) all.insert(all.end(), {from.tasks.got, from.tasks.finished});
    for (auto const& into : s.into) all.push_back(into.closed);
  }
  for (TunnelSnapshot const& t : snapshot.tunnels) {
    all.insert(all.end(), {t.claimed, t.taken, t.published, t.arrived, t.retired, t.spill_claimed, t.spill_taken,
                           t.capacity, t.throttled, t.closed, t.ended, t.open_inlets_closed});
    for (TaskCounts const& outlet : t.open_outlets) all.insert(all.end(), {outlet.got, outlet.finished});
  }
  return all;
}

std::vector<std::string> find_waits(PipelineSnapshot const& snapshot) { return Finder(snapshot).find(); }

bool waits_for_outside(PipelineSnapshot const& snapshot) {
  if (snapshot.aborting || !snapshot.device_seen) return false;
  bool open = false;
  for (std::size_t i = 0; i < snapshot.tunnels.size(); ++i) {
    TunnelSnapshot const& t = snapshot.tunnels[i];
    if (put(t) > tasks(snapshot, i).finished) return false;
    open = open || t.open_inlets > t.open_inlets_closed;
  }
  return open;
}

std::optional<std::size_t> tunnel_to_grow(PipelineSnapshot const& snapshot) {
  return snapshot.aborting ? std::nullopt : Finder(snapshot).to_grow();
}

std::string describe_stall(PipelineSnapshot const& snapshot, std::string_view occasion) {
  std::string text(occasion);
  if (!snapshot.device_seen) text += "\n  the device's words could not be read: what lies there is shown as 0";
  for (StageSnapshot const& s : snapshot.stages) text += line(snapshot, s);
  for (TunnelSnapshot const& t : snapshot.tunnels) text += line(t);
  for (std::string const& finding : find_waits(snapshot)) text += "\n  -> " + finding;
  return text;
}

bool StallWatch::look(Time now, Progress progress) {
  if (progress != last_) {
    last_ = std::move(progress);
    since_ = now;
    told_ = false;
  }
  still_ = now - since_;
  if (told_ || still_ < stall_after_) return false;
  told_ = true;
  return true;
}

}  // namespace hiway
