#include "cli/bottleneck.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace cli {

using hiway::RunReport;
using hiway::StageReport;
using hiway::TunnelReport;
using hiway::WaitReport;

namespace {

constexpr double end_rules = 0.5;     // of the run: nothing else is worth a look before this
constexpr double end_is_told = 0.1;   // of the run
constexpr double surely_busy = 0.75;  // what random service times leave of a slow stage's time in front of small rings
constexpr double probably_busy =
    0.5;                          // more than half of the time it was at work: nothing else was, or it would be named
constexpr double in_turns = 0.1;  // each side of a ring
constexpr double mostly = 0.5;    // for starved cycles and outside ends
constexpr double worth_telling = 0.3;   // a wait
constexpr double evidence = 0.2;        // a neighbour's wait
constexpr double weak_inference = 0.8;  // an inferred share that no neighbour's wait supports counts so much less
constexpr double comfortable = 0.8;     // how busy a thread may be
constexpr std::size_t most_waits = 6;   // sentences
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", std::round(std::clamp(share, 0.0, 1.0) * 100));
  return text;
}
std::string quoted(std::string const& name) { return "'" + name + "'"; }
std::string counted(std::uint64_t n, char const* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string time_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text,
                seconds < 1e-3 ? "%.0f us"
                : seconds < 1  ? "%.3g ms"
                               : "%.3g s",
                seconds < 1e-3 ? seconds * 1e6
                : seconds < 1  ? seconds * 1e3
                               : seconds);
  return text;
}

enum class For : std::uint8_t { items, room };

/// A stage's wait at a tunnel. Of a tunnel's side: that of the stage that waits most there.
struct Wait {
  For what = For::items;
  std::size_t tunnel = none;
  std::size_t stage = none;  ///< none: no stage is there
  double share = -1;         ///< of the working time; -1: not known
  bool sampled = false;      ///< the tunnel's samples say it, not the stage
};

struct Pressure {
  Wait held;     ///< writers, for room
  Wait starved;  ///< readers, for items
};

class Run {
 public:
  explicit Run(RunReport const& stats) : stats_{stats} {
    double const end = std::max(0.0, stats.end_detection_us) * 1e-6;
    end_ = stats.seconds > 0 ? std::min(end / stats.seconds, 1.0) : 0;
    work_ = stats.seconds * (1 - end_);
    for (StageReport const& stage : stats.stages) lives_.push_back(life_of(stage));
    for (std::size_t t = 0; t != stats.tunnels.size(); ++t) pressures_.push_back(pressure_of(t));
    for (StageReport const& stage : stats.stages) shares_.push_back(of(stage));
  }

  [[nodiscard]] bool measured() const { return work_ > 0 && !stats_.stages.empty(); }
  [[nodiscard]] double end() const { return end_; }
  [[nodiscard]] StageShares const& shares(std::size_t stage) const { return shares_[stage]; }
  [[nodiscard]] Pressure const& pressure(std::size_t tunnel) const { return pressures_[tunnel]; }
  [[nodiscard]] Pressure const& pressure(WaitReport const& at) const { return pressures_[tunnel(at)]; }

  [[nodiscard]] std::size_t tunnel(WaitReport const& at) const {
    auto const found = std::ranges::find(stats_.tunnels, at.tunnel, &TunnelReport::name);
    return static_cast<std::size_t>(found - stats_.tunnels.begin());
  }

  /// Of the working time. What a reader waited while the end was looked for is not a wait for items.
  [[nodiscard]] double get_share(std::size_t stage, WaitReport const& from) const {
    StageReport const& s = stats_.stages[stage];
    double const share = wait_share(s, from);
    if (share < 0) return -1;
    double all = 0;
    for (WaitReport const& each : s.items_of) all += std::max(0.0, wait_share(s, each));
    double const life = lives_[stage];
    double const of_items = std::max(0.0, all * life - std::max(0.0, life - 1));
    return all > 0 ? std::min(1.0, of_items * share / all) : 0;
  }
  [[nodiscard]] double put_share(std::size_t stage, WaitReport const& into) const {
    double const share = wait_share(stats_.stages[stage], into);
    return share < 0 ? -1 : std::min(1.0, share * lives_[stage]);
  }

  /// The strongest of a stage's neighbours that wait for it: writers of what it reads, or readers of what it writes.
  [[nodiscard]] Wait held_before(std::size_t stage) const {
    return strongest(stage, stats_.stages[stage].items_of, &Pressure::held);
  }
  [[nodiscard]] Wait starved_after(std::size_t stage) const {
    return strongest(stage, stats_.stages[stage].room_in, &Pressure::starved);
  }

  /// How sure it is that this stage is the slow one; see the head of the header.
  [[nodiscard]] double rank(std::size_t stage) const {
    StageShares const& s = shares_[stage];
    if (!s.inferred) return s.busy;
    Wait const supports = stats_.stages[stage].items_of.empty() ? starved_after(stage) : held_before(stage);
    return s.busy * (supports.share >= worth_telling ? 1 : weak_inference);
  }

 private:
  /// Of the working time; above 1 for who lived while the end was looked for.
  [[nodiscard]] double life_of(StageReport const& stage) const {
    if (work_ <= 0) return 0;
    double const longest = stats_.seconds / work_;
    if (stage.seconds <= 0) return longest;
    return std::min(longest, stage.seconds / static_cast<double>(std::max<std::uint64_t>(1, stage.executors)) / work_);
  }

  [[nodiscard]] Pressure pressure_of(std::size_t t) const {
    TunnelReport const& tunnel = stats_.tunnels[t];
    Pressure p{.held = {For::room, t}, .starved = {For::items, t}};
    auto const look = [](Wait& most, std::size_t stage, double share, double samples) {
      bool const sampled = share < 0;
      if (sampled) share = samples;
      if (most.stage == none || share > most.share) most = {most.what, most.tunnel, stage, share, sampled};
    };
    // The samples of the end detection found it empty.
    double const full = tunnel.full < 0 || end_ >= 1 ? -1 : std::min(1.0, tunnel.full / (1 - end_));
    double const empty = tunnel.empty < 0 || end_ >= 1 ? -1 : std::max(0.0, (tunnel.empty - end_) / (1 - end_));
    for (std::size_t s = 0; s != stats_.stages.size(); ++s) {
      for (WaitReport const& into : stats_.stages[s].room_in) {
        if (into.tunnel == tunnel.name) look(p.held, s, put_share(s, into), full);
      }
      for (WaitReport const& from : stats_.stages[s].items_of) {
        if (from.tunnel == tunnel.name) look(p.starved, s, get_share(s, from), empty);
      }
    }
    return p;
  }

  [[nodiscard]] StageShares of(StageReport const& stage) const {
    double const life = life_of(stage);
    StageShares shares{std::min(1.0, life), -1, false};
    if (!stage.gpu && stage.busy >= 0) {
      shares.busy = std::min(1.0, stage.busy * life);
      return shares;
    }
    shares.inferred = true;
    double starved = -1;  // there is work as long as one input has some
    double held = -1;
    for (WaitReport const& from : stage.items_of) {
      double const share = pressure(from).starved.share;
      if (share >= 0) starved = starved < 0 ? share : std::min(starved, share);
    }
    for (WaitReport const& into : stage.room_in) held = std::max(held, pressure(into).held.share);
    if (starved >= 0 || held >= 0) shares.busy = std::max(0.0, shares.life - std::max({starved, held, 0.0}));
    return shares;
  }

  [[nodiscard]] Wait strongest(std::size_t stage, std::vector<WaitReport> const& tunnels, Wait Pressure::*side) const {
    Wait best;
    for (WaitReport const& each : tunnels) {
      Wait const& one = pressure(each).*side;
      if (one.stage != none && one.stage != stage && one.share > best.share) best = one;
    }
    return best;
  }

  RunReport const& stats_;
  double end_ = 0;
  double work_ = 0;
  std::vector<double> lives_;
  std::vector<Pressure> pressures_;
  std::vector<StageShares> shares_;
};

/// Makes the sentences; knows which waits have been told.
class Teller {
 public:
  explicit Teller(RunReport const& stats) : stats_{stats}, run_{stats} {}

  std::vector<Finding> all() {
    if (!run_.measured())
      return {{FindingKind::nothing, "", "The run measured nothing: it has no stages, or took no time.", ""}};
    if (run_.end() >= end_rules) tell_end();
    tell_verdict();
    if (run_.end() >= end_is_told && run_.end() < end_rules) tell_end();
    tell_spills();
    tell_waits();
    tell_idle();
    return std::move(findings_);
  }

 private:
  StageReport const& stage(std::size_t i) const { return stats_.stages[i]; }
  TunnelReport const& tunnel(std::size_t i) const { return stats_.tunnels[i]; }

  void tell(FindingKind kind, std::string subject, std::string text, std::string advice = "") {
    findings_.push_back({kind, std::move(subject), std::move(text), std::move(advice)});
  }

  void tell_end() {
    double const seconds = stats_.end_detection_us * 1e-6;
    tell(FindingKind::end, "",
         "Finding the end took " + percent(run_.end()) + " of the run: " + time_text(seconds) + " of " +
             time_text(stats_.seconds) + ".",
         "The run is short: with more items in one run this share falls.");
  }

  void tell_verdict() {
    std::vector<std::size_t> order;
    for (std::size_t s = 0; s != stats_.stages.size(); ++s) {
      if (run_.shares(s).busy >= 0) order.push_back(s);
    }
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return run_.rank(a) > run_.rank(b); });
    double const most = order.empty() ? 0 : run_.rank(order.front());
    std::size_t const tight = tightest_tunnel();
    if (most >= surely_busy) {
      if (order.size() >= 2 && order.size() == stats_.stages.size() && run_.rank(order.back()) >= surely_busy) {
        tell_balanced(order);
      } else {
        tell_slow(order, false);
      }
      if (tight != none) tell_ring(tight, false);
    } else if (tight != none) {
      tell_ring(tight, true);
    } else if (!tell_outside() && !tell_cycle()) {
      if (most >= probably_busy) {
        tell_slow(order, true);
      } else {
        tell_latency();
      }
    }
  }

  void tell_balanced(std::vector<std::size_t> const& order) {
    StageReport const& busiest = stage(order.front());
    StageReport const& idlest = stage(order.back());
    tell(FindingKind::balanced, busiest.name,
         "The pipeline is balanced: every stage is busy most of the time, from " + quoted(idlest.name) + " with " +
             percent(run_.shares(order.back()).busy) + " to " + quoted(busiest.name) + " with " +
             percent(run_.shares(order.front()).busy) + ".",
         "It becomes faster only where all stages do.");
  }

  /// "'feed' waits 90 % of the time for `what`"
  std::string waits(Wait const& wait, std::string const& what) const {
    return quoted(stage(wait.stage).name) + " waits " + percent(wait.share) + " of the time for " + what;
  }
  std::string waits(Wait const& wait) const {
    return waits(wait,
                 (wait.what == For::room ? "room in tunnel " : "items of tunnel ") + quoted(tunnel(wait.tunnel).name));
  }
  void was_told(Wait const& wait) { told_.insert({wait.stage, wait.tunnel, wait.what}); }

  /// What a neighbour of the slow stage says: "'feed' waits 90 % of the time for room in tunnel 'numbers' before it"; ""
  /// where that is not much.
  std::string clause(Wait const& wait) {
    if (wait.stage == none || wait.share < evidence) return "";
    bool const room = wait.what == For::room;
    char const* const place = room ? " before it" : " after it";
    if (wait.sampled)
      return "tunnel " + quoted(tunnel(wait.tunnel).name) + place + (room ? " is full " : " is empty ") +
             percent(wait.share) + " of the time";
    was_told(wait);
    return waits(wait) + place;
  }

  void tell_slow(std::vector<std::size_t> const& order, bool doubtful) {
    std::size_t const slow = order.front();
    StageReport const& s = stage(slow);
    StageShares const& shares = run_.shares(slow);
    std::string const before = clause(run_.held_before(slow));
    std::string const after = clause(run_.starved_after(slow));
    std::string clauses = before + (before.empty() || after.empty() ? "" : ", and ") + after;
    std::string text =
        (s.gpu ? "GPU stage " : "Stage ") + quoted(s.name) + (doubtful ? " is probably" : " is") + " the bottleneck";
    if (!shares.inferred) {
      text += ": it is busy " + percent(shares.busy) + " of the time" + (clauses.empty() ? "" : ", and ");
      // Two "and" in one sentence read badly.
      if (!before.empty() && !after.empty()) clauses = before + "; " + after;
    } else {
      text += clauses.empty() ? ": it has items and room " + percent(shares.busy) + " of the time"
                              : ", as its tunnels show: ";
    }
    tell(FindingKind::slow_stage, s.name, text + clauses + ".", advice_for(slow) + next_busiest(order));
  }

  std::string advice_for(std::size_t slow) const {
    StageReport const& s = stage(slow);
    if (s.gpu) return "More blocks help where the device has room for them; else its code is the cause.";
    if (s.items_of.empty())
      return "It makes the items: its own code is the cause, or what that waits for outside the pipeline.";
    if (s.executors > 1)
      return "All its " + std::to_string(s.executors) +
             " threads are at work: more help where there are CPUs for them; else its code is the cause.";
    return "A second thread helps where its tasks do not depend on each other; else its code is the cause.";
  }

  std::string next_busiest(std::vector<std::size_t> const& order) const {
    if (order.size() < 2 || run_.rank(order[1]) < surely_busy) return "";
    return " Next comes " + quoted(stage(order[1]).name) + ", busy " + percent(run_.shares(order[1]).busy) + ".";
  }

  std::size_t tightest_tunnel() const {
    std::size_t best = none;
    double most = in_turns;
    for (std::size_t t = 0; t != stats_.tunnels.size(); ++t) {
      Pressure const& p = run_.pressure(t);
      double const both = std::min(p.held.share, p.starved.share);
      if (p.held.stage != none && p.starved.stage != none && both >= most) {
        most = both;
        best = t;
      }
    }
    return best;
  }

  void tell_ring(std::size_t t, bool verdict) {
    TunnelReport const& ring = tunnel(t);
    Pressure const& p = run_.pressure(t);
    std::string const writer = quoted(stage(p.held.stage).name);
    std::string const reader = quoted(stage(p.starved.stage).name);
    std::string const held = p.held.sampled
                                 ? "it is full " + percent(p.held.share) + " of the time, which holds " + writer + " up"
                                 : waits(p.held, "room in it");
    std::string const starved = p.starved.sampled
                                    ? "it is empty " + percent(p.starved.share) + " of the time for " + reader
                                    : reader + " waits " + percent(p.starved.share) + " for its items";
    was_told(p.held);
    was_told(p.starved);
    std::string advice;
    if (ring.items > 0 && ring.capacity_items >= ring.items / 2) {
      advice =
          "It has room for most of the run's items: the stages are slow one after the other, and more room changes "
          "nothing.";
    } else if (ring.movement == "dma" && ring.batches > 0) {
      char each[32];
      std::snprintf(each, sizeof each, "%.3g", static_cast<double>(ring.items) / static_cast<double>(ring.batches));
      advice = std::string{"A batch across the bus had "} + each +
               " items: with more room (capacity_items) more travel at once.";
    } else if (ring.movement != "memory" && !ring.movement.empty()) {
      advice = "Its items cross the bus one by one: with more room (capacity_items) more are on their way at once.";
    } else {
      advice = "Give it more room: capacity_items, or grow_to_items.";
    }
    tell(FindingKind::small_ring, ring.name,
         "Tunnel " + quoted(ring.name) + (verdict ? " is the bottleneck" : " is tight") + ": it has room for " +
             counted(ring.capacity_items, "item") + "; " + held + ", and " + starved + ", in turns.",
         advice);
  }

  bool tell_outside() {
    for (std::size_t t = 0; t != stats_.tunnels.size(); ++t) {
      Pressure const& p = run_.pressure(t);
      if (p.held.stage != none && p.starved.stage != none) continue;
      Wait const& wait = p.held.stage == none ? p.starved : p.held;
      if (wait.share < mostly) continue;
      bool const room = wait.what == For::room;
      was_told(wait);
      tell(FindingKind::outside, tunnel(t).name,
           (room ? "Who gets from tunnel " : "Who puts into tunnel ") + quoted(tunnel(t).name) +
               (room ? " outside" : " from outside") +
               " the pipeline is the bottleneck: " + waits(wait, room ? "room in it" : "its items") + ".");
      return true;
    }
    return false;
  }

  /// reaches[a][b]: items of a come to b.
  std::vector<std::vector<bool>> reaches() const {
    std::size_t const n = stats_.stages.size();
    std::vector<std::vector<bool>> to(n, std::vector<bool>(n));
    for (std::size_t a = 0; a != n; ++a) {
      for (WaitReport const& into : stage(a).room_in) {
        for (std::size_t b = 0; b != n; ++b) {
          if (std::ranges::find(stage(b).items_of, into.tunnel, &WaitReport::tunnel) != stage(b).items_of.end())
            to[a][b] = true;
        }
      }
    }
    for (std::size_t k = 0; k != n; ++k) {
      for (std::size_t a = 0; a != n; ++a) {
        for (std::size_t b = 0; b != n; ++b) to[a][b] = to[a][b] || (to[a][k] && to[k][b]);
      }
    }
    return to;
  }

  /// Of all its inputs together, in the working time.
  double starved(std::size_t s) const {
    double sum = -1;
    for (WaitReport const& from : stage(s).items_of) {
      double share = run_.get_share(s, from);
      if (share < 0) share = run_.pressure(from).starved.share;
      if (share >= 0) sum = std::max(0.0, sum) + share;
    }
    return std::min(1.0, sum);
  }

  bool tell_cycle() {
    auto const to = reaches();
    for (std::size_t a = 0; a != to.size(); ++a) {
      if (!to[a][a]) continue;
      std::string names;
      std::string first;
      bool all_wait = true;
      for (std::size_t b = 0; b != to.size() && all_wait; ++b) {
        if (!to[a][b] || !to[b][a]) continue;
        all_wait = starved(b) >= mostly;
        if (first.empty()) first = stage(b).name;
        names += (names.empty() ? "" : ", ") + quoted(stage(b).name) + " " + percent(starved(b));
      }
      if (!all_wait) continue;
      tell(FindingKind::cycle, first,
           "The cycle is the bottleneck: its stages wait for each other's items (" + names +
               " of the time), and none is busy.",
           "Too few items are in it at once: how long one takes around it decides.");
      return true;
    }
    return false;
  }

  void tell_latency() {
    tell(FindingKind::latency, "",
         "No stage is busy for most of the time, and no tunnel is both full and empty: the items are few, or long on "
         "their way.",
         "Time goes into wake-ups, the bus, and whatever the machine does beside: more items in flight, or in each "
         "item, help.");
  }

  void tell_spills() {
    for (TunnelReport const& t : stats_.tunnels) {
      if (t.spilled > 0) {
        double const share = t.items > 0 ? static_cast<double>(t.spilled) / static_cast<double>(t.items) : 1;
        tell(FindingKind::spill, t.name,
             "Tunnel " + quoted(t.name) + " spilled " + std::to_string(t.spilled) + " of its " +
                 std::to_string(t.items) + " items (" + percent(share) + ") into its pool: its ring of " +
                 std::to_string(t.capacity_items) + " was full.",
             (t.throttled > 0 ? "Writers from outside its cycle were held back " + counted(t.throttled, "time") + ". "
                              : "") +
                 "A larger ring spills less.");
      } else if (t.throttled > 0) {
        tell(FindingKind::spill, t.name,
             "Writers of tunnel " + quoted(t.name) + " were held back " + counted(t.throttled, "time") +
                 " while spill pools of the cycle behind it were high.");
      }
    }
  }

  void tell_waits() {
    std::vector<Wait> long_waits;
    auto const look = [&](Wait const& wait) {
      if (wait.share >= worth_telling && !told_.contains({wait.stage, wait.tunnel, wait.what}))
        long_waits.push_back(wait);
    };
    for (std::size_t s = 0; s != stats_.stages.size(); ++s) {
      for (WaitReport const& from : stage(s).items_of)
        look({For::items, run_.tunnel(from), s, run_.get_share(s, from)});
      for (WaitReport const& into : stage(s).room_in) look({For::room, run_.tunnel(into), s, run_.put_share(s, into)});
    }
    std::ranges::stable_sort(long_waits, std::ranges::greater{}, &Wait::share);
    if (long_waits.size() > most_waits) long_waits.resize(most_waits);
    for (Wait const& wait : long_waits) tell(FindingKind::waits, stage(wait.stage).name, "Stage " + waits(wait) + ".");
  }

  void tell_idle() {
    for (std::size_t s = 0; s != stats_.stages.size(); ++s) {
      StageShares const& shares = run_.shares(s);
      if (stage(s).gpu || stage(s).executors < 2 || shares.inferred || shares.busy < 0 || shares.busy >= mostly)
        continue;
      double const at_work = shares.busy * static_cast<double>(stage(s).executors);
      double const enough = std::max(1.0, std::ceil(at_work / comfortable));
      if (enough >= static_cast<double>(stage(s).executors)) continue;
      char text[64];
      std::snprintf(text, sizeof text, " threads, and %.2g of them are busy on average: %.0f would do.", at_work,
                    enough);
      tell(FindingKind::idle, stage(s).name,
           "Stage " + quoted(stage(s).name) + " has " + std::to_string(stage(s).executors) + text);
    }
  }

  RunReport const& stats_;
  Run run_;
  std::vector<Finding> findings_;
  std::set<std::tuple<std::size_t, std::size_t, For>> told_;  ///< stage, tunnel, what
};

}  // namespace

std::vector<Finding> find_bottleneck(RunReport const& stats) { return Teller{stats}.all(); }

StageShares shares_of(RunReport const& stats, StageReport const& stage) {
  auto const found = std::ranges::find(stats.stages, stage.name, &StageReport::name);
  if (stats.seconds <= 0 || found == stats.stages.end()) return {};
  return Run{stats}.shares(static_cast<std::size_t>(found - stats.stages.begin()));
}

}  // namespace cli
