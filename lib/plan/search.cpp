#include "lib/plan/search.hpp"

#include <algorithm>
#include <numeric>

namespace hiway::plan {
namespace {

bool at_least(Capacities const& a, Capacities const& b) {
  return std::ranges::equal(a, b, [](std::int64_t x, std::int64_t y) { return x >= y; });
}

/// The least capacity of one stream with which the schedule runs, from `low` to its present one. With the present one
/// it must run.
std::int64_t least_of(Schedule& schedule, Capacities capacities, std::size_t stream, std::int64_t low) {
  std::int64_t high = capacities[stream];
  for (std::int64_t middle = low; low < high; middle = low + (high - low) / 2) {
    capacities[stream] = middle;
    if (schedule.run(capacities)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

}  // namespace

std::int64_t bytes_of(Tasks const& tasks, Capacities const& capacities) {
  std::int64_t bytes = 0;
  for (std::size_t s = 0; s < capacities.size(); ++s)
    bytes += capacities[s] * tasks.elem_bytes[s] * tasks.channels_of[s];
  return bytes;
}

Capacities unbounded(Tasks const& tasks) {
  Capacities most(tasks.elem_bytes.size(), 0);
  for (Channel const& channel : tasks.channels) most[channel.stream] = std::max(most[channel.stream], channel.written);
  return most;
}

Capacities floor_of(Tasks const& tasks, Leftover leftover) {
  Capacities floor(tasks.elem_bytes.size(), 0);
  for (Channel const& channel : tasks.channels) {
    std::int64_t& own = floor[channel.stream];
    if (leftover == Leftover::hold) own = std::max({own, channel.written - channel.read, channel.initial});
    // The initial elements count as written by one task before all others: no reader gives room back before that.
    if (!channel.reads.empty()) own = std::max(own, channel.initial);
  }
  return floor;
}

Capacities own_minima(Tasks const& tasks, Schedule& schedule, Capacities const& floor) {
  Capacities const top = unbounded(tasks);
  Capacities minima = top;
  for (std::size_t s = 0; s < top.size(); ++s) minima[s] = least_of(schedule, top, s, floor[s]);
  return minima;
}

Capacities lowered(Tasks const& tasks, Schedule& schedule, Capacities capacities, Capacities const& floor) {
  std::vector<std::size_t> order(capacities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto const price = [&](std::size_t s) { return tasks.elem_bytes[s] * tasks.channels_of[s]; };
  std::ranges::stable_sort(order, std::greater{}, price);
  for (std::size_t s : order) capacities[s] = least_of(schedule, capacities, s, floor[s]);
  return capacities;
}

Search::Search(Tasks const& tasks, Schedule& schedule, Capacities least, std::int64_t fastest, Limits limits)
    : tasks_(tasks),
      schedule_(schedule),
      top_(unbounded(tasks)),
      fastest_(fastest),
      limits_{schedule.runs() + limits.states, schedule.steps() + limits.steps} {
  open(std::move(least));
}

bool Search::within_limits() const {
  constexpr std::size_t max_open = 200'000;
  return schedule_.runs() < limits_.states && schedule_.steps() + scans_ < limits_.steps && open_.size() < max_open;
}

void Search::open(Capacities capacities) {
  std::int64_t const bytes = bytes_of(tasks_, capacities);
  open_.emplace(bytes, std::move(capacities));
}

bool Search::holds(Clause const& clause, Capacities const& capacities) const {
  return std::ranges::any_of(clause, [&](AtLeast const& one) { return capacities[one.stream] >= one.capacity; });
}

bool Search::works(Capacities const& capacities) { return schedule_.run(capacities, below_); }

/// The chain's waits for room, each stream once, with the least capacity that ends one of its waits: that breaks the
/// chain.
Search::Clause Search::clause_of_last_run() {
  Clause clause;
  for (Wait const& wait : schedule_.chain()) {
    if (wait.cause != Cause::room) continue;
    std::uint32_t const stream = tasks_.channels[wait.channel].stream;
    auto const same = std::ranges::find(clause, stream, &AtLeast::stream);
    if (same == clause.end()) {
      clause.push_back({stream, wait.enough});
    } else {
      same->capacity = std::min(same->capacity, wait.enough);
    }
  }
  return clause;
}

/// Learns a clause from a run that failed. A clause says that the vector one below its capacities, unbounded elsewhere,
/// fails. When many runs in a row have failed, that vector is raised as long as it fails, so that the clause asks for
/// more. Otherwise there might be thousands of clauses, each of which asks for one element more.
void Search::learn() {
  std::size_t const patience = 2 * top_.size();
  Capacities failing;
  Clause clause;
  auto const take_clause = [&] {
    clause = clause_of_last_run();
    failing = top_;
    for (AtLeast const& one : clause) failing[one.stream] = one.capacity - 1;
  };
  take_clause();
  bool const raise = ++failures_ > patience;
  for (std::size_t s = 0; raise && s < top_.size(); ++s) {
    auto const bounded = [&] { return std::ranges::find(clause, s, &AtLeast::stream) != clause.end(); };
    // The step doubles each time until the vector works, and then halves each time.
    bool doubling = true;
    for (std::int64_t step = 1; step > 0 && bounded(); step = doubling ? step * 2 : step / 2) {
      Capacities raised = failing;
      raised[s] = std::min(raised[s] + step, top_[s]);
      if (works(raised)) {
        doubling = false;
      } else {
        take_clause();
      }
    }
  }
  clauses_.push_back(std::move(clause));
}

/// The cheapest candidate that meets every clause.
std::optional<Capacities> Search::next() {
  while (!open_.empty() && within_limits()) {
    Capacities candidate = open_.begin()->second;
    auto const broken = std::ranges::find_if(clauses_, [&](Clause const& clause) { return !holds(clause, candidate); });
    scans_ += static_cast<std::int64_t>(clauses_.size() + found_.size());
    if (broken == clauses_.end()) {
      if (std::ranges::none_of(found_, [&](Capacities const& one) { return at_least(candidate, one); }))
        return candidate;
      open_.erase(open_.begin());
      continue;
    }
    open_.erase(open_.begin());
    for (AtLeast const& one : *broken) {
      Capacities raised = candidate;
      raised[one.stream] = one.capacity;
      scans_ += static_cast<std::int64_t>(raised.size());
      open(std::move(raised));
    }
  }
  return std::nullopt;
}

std::optional<Corner> Search::next_corner() {
  while (std::optional<Capacities> candidate = next()) {
    if (!works(*candidate)) {
      learn();
      continue;
    }
    failures_ = 0;
    std::int64_t const bytes = open_.begin()->first;
    open_.erase(open_.begin());
    found_.push_back(*candidate);
    return Corner{std::move(*candidate), bytes, schedule_.makespan()};
  }
  return std::nullopt;
}

std::optional<Trade> Search::next_trade() {
  while (std::optional<Capacities> candidate = next()) {
    if (!works(*candidate)) {
      learn();
      continue;
    }
    failures_ = 0;
    below_ = schedule_.makespan();
    Trade trade{open_.begin()->first, below_, std::move(*candidate)};
    if (below_ > fastest_) {
      learn();
    } else {
      open_.clear();
    }
    return trade;
  }
  return std::nullopt;
}

}  // namespace hiway::plan
