#include "lib/plan/schedule.hpp"

#include <algorithm>

namespace hiway::plan {

Schedule::Schedule(Tasks const& tasks, Dependences const& dependences)
    : tasks_(tasks),
      dependences_(dependences),
      first_read_(tasks.size() + 1, 0),
      fresh_(dependences.nodes()),
      channels_(tasks.channels.size()) {
  for (std::size_t n = 0; n < fresh_.size(); ++n) fresh_[n].waits = dependences.before[n];
  for (Channel const& channel : tasks.channels) {
    for (Write const& write : channel.writes) ++fresh_[write.task].waits;
    for (Read const& read : channel.reads) ++first_read_[read.task + 1];
  }
  for (std::size_t t = 0; t < tasks.size(); ++t) first_read_[t + 1] += first_read_[t];
  reads_.resize(first_read_.back());
  std::vector<std::uint32_t> next(first_read_.begin(), first_read_.end() - 1);
  for (std::uint32_t c = 0; c < tasks.channels.size(); ++c) {
    for (Read const& read : tasks.channels[c].reads) reads_[next[read.task]++] = c;
  }
}

void Schedule::reset() {
  nodes_ = fresh_;
  std::ranges::fill(channels_, ChannelState{});
  ready_.clear();
  tasks_done_ = 0;
  makespan_ = 0;
  last_task_ = none;
  ++runs_;
}

bool Schedule::run(Capacities const& capacities, std::int64_t late) {
  reset();
  late_ = late;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].waits == 0) ready_.push_back(n);
  }
  for (std::uint32_t c = 0; c < channels_.size(); ++c) admit_writers(c, capacities);
  while (!ready_.empty() && makespan_ < late_) {
    std::uint32_t const node = ready_.back();
    ready_.pop_back();
    finish(node);
    if (node >= tasks_.size()) continue;
    for (std::uint32_t r = first_read_[node]; r < first_read_[node + 1]; ++r) release(reads_[r], capacities);
  }
  steps_ += static_cast<std::int64_t>(nodes_.size() / 4);  // for reset
  return tasks_done_ == tasks_.size() && makespan_ < late_;
}

void Schedule::met(std::uint32_t node) {
  if (--nodes_[node].waits == 0) ready_.push_back(node);
}

void Schedule::finish(std::uint32_t node) {
  Node& own = nodes_[node];
  own.done = true;
  std::int64_t end = own.start;
  if (node < tasks_.size()) {
    ++tasks_done_;
    end += tasks_.cost[node];
    if (end >= makespan_) {
      makespan_ = end;
      last_task_ = node;
    }
  }
  for (std::uint32_t e = dependences_.first[node]; e < dependences_.first[node + 1]; ++e) {
    Dependence const& edge = dependences_.edges[e];
    Node& later = nodes_[edge.later];
    if (end >= later.start) {  // also when equal: prefers this cause to room, which more capacity could give
      later.start = end;
      later.via = {node, edge.channel, edge.cause};
    }
    met(edge.later);
  }
  steps_ += 2 + dependences_.first[node + 1] - dependences_.first[node];
}

/// A reader of the channel has ended: gives its room back, unless an earlier reader still holds it.
void Schedule::release(std::uint32_t channel, Capacities const& capacities) {
  std::vector<Read> const& reads = tasks_.channels[channel].reads;
  ChannelState& state = channels_[channel];
  while (state.readers_done < reads.size() && nodes_[reads[state.readers_done].task].done) {
    std::uint32_t const task = reads[state.readers_done++].task;
    std::int64_t const end = nodes_[task].start + tasks_.cost[task];
    if (end >= state.released_at) {
      state.released_at = end;
      state.released_by = task;
    }
    // After each reader, so that a writer waits for no more readers than it must.
    admit_writers(channel, capacities);
  }
}

/// Admits writers in order. A writer waits for every reader whose window starts at or before its last element minus the
/// capacity.
void Schedule::admit_writers(std::uint32_t c, Capacities const& capacities) {
  Channel const& channel = tasks_.channels[c];
  ChannelState& state = channels_[c];
  for (; state.writers_admitted < channel.writes.size(); ++state.writers_admitted) {
    Write const& write = channel.writes[state.writers_admitted];
    if (state.readers_done < channel.reads.size() &&
        channel.reads[state.readers_done].first <= write.last() - capacities[channel.stream])
      return;
    Node& writer = nodes_[write.task];
    if (state.released_at > writer.start) {
      writer.start = state.released_at;
      writer.via = {state.released_by, c, Cause::room};
    }
    met(write.task);
  }
}

/// The capacity with which the writer does not wait for the reader.
std::int64_t Schedule::enough_room(std::uint32_t c, std::uint32_t reader, std::uint32_t writer) const {
  Channel const& channel = tasks_.channels[c];
  auto const write = std::ranges::lower_bound(channel.writes, writer, {}, &Write::task);
  auto const read = std::ranges::lower_bound(channel.reads, reader, {}, &Read::task);
  return write->last() - read->first + 1;
}

/// For each node that did not run, finds one that it waits for and that did not run either. A wait that no capacity
/// ends is preferred.
void Schedule::find_blockers() {
  for (Node& node : nodes_) node.via = {};
  for (std::uint32_t c = 0; c < channels_.size(); ++c) {
    Channel const& channel = tasks_.channels[c];
    for (std::size_t w = channels_[c].writers_admitted; w < channel.writes.size(); ++w)
      nodes_[channel.writes[w].task].via = {channel.reads[channels_[c].readers_done].task, c, Cause::room};
  }
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].done) continue;
    for (std::uint32_t e = dependences_.first[n]; e < dependences_.first[n + 1]; ++e) {
      Dependence const& edge = dependences_.edges[e];
      nodes_[edge.later].via = {n, edge.channel, edge.cause};
    }
  }
}

std::vector<Wait> Schedule::chain() {
  std::vector<std::uint32_t> backwards;
  if (tasks_done_ == tasks_.size() || makespan_ >= late_) {
    for (std::uint32_t node = last_task_; node != none; node = nodes_[node].via.node) backwards.push_back(node);
    return waits_along(backwards);
  }
  find_blockers();
  steps_ += static_cast<std::int64_t>(nodes_.size() + dependences_.edges.size());
  std::uint32_t node = 0;
  while (nodes_[node].done) ++node;
  // From any start, this many steps back lead into the cycle.
  for (std::size_t i = 0; i < nodes_.size(); ++i) node = nodes_[node].via.node;
  while (node >= tasks_.size()) node = nodes_[node].via.node;
  std::uint32_t const start = node;
  do {
    backwards.push_back(node);
    node = nodes_[node].via.node;
  } while (node != start);
  backwards.push_back(start);
  return waits_along(backwards);
}

/// The waits between tasks; inner nodes of trees are left out.
std::vector<Wait> Schedule::waits_along(std::vector<std::uint32_t> const& nodes_backwards) const {
  std::vector<Wait> waits;
  for (std::size_t i = 0; i + 1 < nodes_backwards.size();) {
    std::uint32_t const later = nodes_backwards[i];
    Via const via = nodes_[later].via;
    do {
      ++i;
    } while (nodes_backwards[i] >= tasks_.size());
    std::uint32_t const earlier = nodes_backwards[i];
    waits.push_back({earlier, later, via.cause, via.channel,
                     via.cause == Cause::room ? enough_room(via.channel, earlier, later) : 0});
  }
  std::ranges::reverse(waits);
  return waits;
}

}  // namespace hiway::plan
