#include "stall_report.hpp"

#include <algorithm>
#include <utility>

#include "waits.hpp"

namespace hiway {
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

constexpr char const* waits_for_the_device =
    "; a CUDA call in it that waits for the device waits for this pipeline's kernels";

class Finder {
 public:
  explicit Finder(PipelineSnapshot const& snapshot) : p_(snapshot), waits_(snapshot) {}

  std::vector<std::string> find() {
    driver_holds();
    if (p_.aborting) {
      left_behind();
    } else {
      not_started();
      std::vector<Link> const circle = waits_.shortest_circle();
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

 private:
  [[nodiscard]] std::string reader_names(std::size_t tunnel) const {
    std::vector<std::string> all;
    for (std::size_t s : waits_.readers(tunnel)) all.push_back(quoted(p_.stages[s].name));
    if (!p_.tunnels[tunnel].open_outlets.empty()) all.emplace_back("its open outlet");
    return all.empty() ? "a reader" : joined(all, " or ");
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
      if (!waits_.known(s) || s.started >= s.executors) continue;
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
      if (!waits_.known(s) || !waits_.for_room(s).empty())
        continue;  // a stage that waits for room has a reason to hold tasks
      for (auto const& from : s.from) {
        std::uint64_t const n = held(from.tasks);
        if (n == 0) continue;
        std::string others;
        for (std::size_t t : waits_.for_items(s)) {
          if (t != from.tunnel) others += ", or it waits for items of tunnel " + quoted(p_.tunnels[t].name);
        }
        found_.push_back("stage " + quoted(s.name) + " holds " + items(n) + " of tunnel " +
                         quoted(p_.tunnels[from.tunnel].name) + " that it got and has not ended: " +
                         (has_returned(s) ? "it returned without end_task" : why_not_ended(s) + others));
      }
    }
    for (TunnelSnapshot const& t : p_.tunnels) {
      if (!waits_.known(t)) continue;
      for (TaskCounts const& outlet : t.open_outlets) {
        if (held(outlet) == 0) continue;
        found_.push_back("an open outlet of tunnel " + quoted(t.name) + " holds " + items(held(outlet)) +
                         " that it got and has not ended: end_task is missing, or the work on it goes on");
      }
    }
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
      UnderWay const way = under_way(t);
      if (!waits_.known(t) || way.items == 0) continue;
      found_.push_back(items(way.items) + " of tunnel " + quoted(t.name) + " have not crossed the bus (" +
                       std::to_string(way.unpublished) + " not published, " + std::to_string(way.published) +
                       " published): a put is not complete, or a monitor does not carry them");
    }
  }

  /// The writers that may wait for room in the tunnel.
  [[nodiscard]] std::vector<std::string> waiting_writers(std::size_t tunnel) const {
    TunnelSnapshot const& t = p_.tunnels[tunnel];
    std::vector<std::string> all;
    if (!waits_.known(t) || !full(t)) return all;
    for (std::size_t w : waits_.writers(tunnel)) {
      auto const rooms = waits_.for_room(p_.stages[w]);
      if (std::find(rooms.begin(), rooms.end(), tunnel) != rooms.end()) all.push_back(quoted(p_.stages[w].name));
    }
    if (t.open_inlets > t.open_inlets_closed) all.emplace_back("an open inlet");
    return all;
  }

  /// Writers that wait although there may be room. They never wait for long, so they are not part of a circle.
  void throttled_tunnels() {
    for (std::size_t i = 0; i < p_.tunnels.size(); ++i) {
      TunnelSnapshot const& t = p_.tunnels[i];
      if (!waits_.known(t) || !t.throttled) continue;
      std::vector<std::string> waiting;
      for (std::size_t w : waits_.writers(i)) {
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
      if (!waits_.known(t) || !t.spills || !full(t) || in_pool(t) < t.spill_capacity) continue;
      std::vector<std::string> may_try;
      for (std::size_t w : waits_.writers(i)) {
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
      if (!waits_.known(t) || ready(t) == 0 || !waiting_writers(i).empty()) continue;
      std::vector<std::string> who;  // a reader that waits for room has its reason
      for (std::size_t r : waits_.readers(i)) {
        if (waits_.for_room(p_.stages[r]).empty()) who.push_back(quoted(p_.stages[r].name));
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
      if (!waits_.known(t) || !empty(t) || t.ended || t.throttled) continue;
      std::vector<std::string> open;
      for (std::size_t w : waits_.writers(i)) {
        StageSnapshot const& s = p_.stages[w];
        if (!waits_.known(s) || waits_.idle(s) || !waits_.for_room(s).empty()) continue;
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
      if (!waits_.known(s) || s.from.empty() || !s.ended || has_returned(s) || !waits_.for_room(s).empty()) continue;
      found_.push_back("stage " + quoted(s.name) + " has nothing more to get and has not returned (" +
                       executors(s, s.returned) + " returned): its own code is at work");
    }
  }

  PipelineSnapshot const& p_;
  Waits waits_;
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
  if (t.dropped != 0) text += "; dropped " + std::to_string(t.dropped);
  if (t.throttled) text += "; throttled";
  if (t.open_inlets > 0) text += "; open inlets closed " + of(t.open_inlets_closed, t.open_inlets);
  for (TaskCounts const& outlet : t.open_outlets) {
    text += "; open outlet got " + std::to_string(outlet.got) + ", ended " + std::to_string(outlet.finished);
  }
  return text + (t.ended ? "; ended" : t.closed ? "; closed" : "; open");
}

std::string line(ScopesSnapshot const& s) {
  std::string text =
      "\n  scopes " + quoted(s.name) + ": " + of(s.open, s.most_open) + " open, " + std::to_string(s.ended) + " ended";
  for (OpenScopeAge const& one : s.oldest) {
    text += "; place " + std::to_string(one.place) + " for " +
            std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(one.age).count()) + " ms";
  }
  return text;
}

}  // namespace

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
  return snapshot.aborting ? std::nullopt : Waits(snapshot).to_grow();
}

std::string describe_stall(PipelineSnapshot const& snapshot, std::string_view occasion) {
  std::string text(occasion);
  if (!snapshot.device_seen) text += "\n  the device's words could not be read: what lies there is shown as 0";
  for (StageSnapshot const& s : snapshot.stages) text += line(snapshot, s);
  for (TunnelSnapshot const& t : snapshot.tunnels) text += line(t);
  for (ScopesSnapshot const& s : snapshot.scopes) text += line(s);
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
