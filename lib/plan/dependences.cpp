#include "lib/plan/dependences.hpp"

#include <algorithm>

namespace hiway::plan {
namespace {

class Builder {
 public:
  Builder(Tasks const& tasks, Discipline discipline)
      : tasks_(tasks), discipline_(discipline), nodes_(static_cast<std::uint32_t>(tasks.size())) {}

  Dependences whole() {
    add_processes();
    for (std::uint32_t c = 0; c < tasks_.channels.size(); ++c) add_channel(c);
    return by_node();
  }

 private:
  static constexpr std::size_t narrow = 4;  // up to this many writers are waited for one by one

  struct Edge {
    std::uint32_t earlier;
    Dependence dependence;
  };

  void add(std::uint32_t earlier, std::uint32_t later, Cause cause, std::uint32_t channel) {
    edges_.push_back({earlier, {later, channel, cause}});
  }

  void add_processes() {
    std::vector<std::uint32_t> last(tasks_.processes.size(), no_task);
    for (std::uint32_t t = 0; t < tasks_.size(); ++t) {
      std::uint32_t const process = tasks_.process[t];
      if (process == no_process) continue;
      if (last[process] != no_task) add(last[process], t, Cause::process, process);
      last[process] = t;
    }
  }

  void add_channel(std::uint32_t c) {
    Channel const& channel = tasks_.channels[c];
    if (discipline_ == Discipline::fifo) {
      for (std::size_t w = 1; w < channel.writes.size(); ++w)
        add(channel.writes[w - 1].task, channel.writes[w].task, Cause::writers_order, c);
      for (std::size_t r = 1; r < channel.reads.size(); ++r)
        add(channel.reads[r - 1].task, channel.reads[r].task, Cause::readers_order, c);
    }
    std::uint32_t tree = 0;  // its node j is node tree + j - 1; 0: not made yet
    for (Read const& read : channel.reads) {
      // The writers whose windows overlap the reader's. They are found by bisection, as neither first nor last elements
      // ever decrease.
      auto const begin =
          std::ranges::lower_bound(channel.writes, read.first, {}, &Write::last) - channel.writes.begin();
      auto const end =
          std::ranges::upper_bound(channel.writes, read.last(), {}, &Write::first) - channel.writes.begin();
      auto low = static_cast<std::size_t>(begin);
      auto high = static_cast<std::size_t>(end);
      if (low >= high) continue;
      if (high - low <= narrow) {
        for (; low < high; ++low) add(channel.writes[low].task, read.task, Cause::flow, c);
        continue;
      }
      if (tree == 0) tree = add_tree(c);
      std::size_t const writers = channel.writes.size();
      for (low += writers, high += writers; low < high; low /= 2, high /= 2) {
        if (low % 2 == 1) add(node_of(channel, tree, low++), read.task, Cause::flow, c);
        if (high % 2 == 1) add(node_of(channel, tree, --high), read.task, Cause::flow, c);
      }
    }
  }

  /// Adds a tree over a channel's writers: 1 to writers - 1 are its inner nodes, and the leaves, `writers` and up, the
  /// tasks.
  std::uint32_t add_tree(std::uint32_t c) {
    Channel const& channel = tasks_.channels[c];
    std::uint32_t const tree = nodes_;
    nodes_ += static_cast<std::uint32_t>(channel.writes.size()) - 1;
    for (std::size_t j = 1; j < channel.writes.size(); ++j) {
      for (std::size_t child : {2 * j, 2 * j + 1})
        add(node_of(channel, tree, child), node_of(channel, tree, j), Cause::flow, c);
    }
    return tree;
  }
  static std::uint32_t node_of(Channel const& channel, std::uint32_t tree, std::size_t j) {
    std::size_t const writers = channel.writes.size();
    return j >= writers ? channel.writes[j - writers].task : tree + static_cast<std::uint32_t>(j) - 1;
  }

  [[nodiscard]] Dependences by_node() const {
    Dependences all;
    all.first.assign(nodes_ + 1, 0);
    all.before.assign(nodes_, 0);
    for (Edge const& edge : edges_) {
      ++all.first[edge.earlier + 1];
      ++all.before[edge.dependence.later];
    }
    for (std::size_t n = 0; n < nodes_; ++n) all.first[n + 1] += all.first[n];
    all.edges.resize(edges_.size());
    std::vector<std::uint32_t> next(all.first.begin(), all.first.end() - 1);
    for (Edge const& edge : edges_) all.edges[next[edge.earlier]++] = edge.dependence;
    return all;
  }

  static constexpr std::uint32_t no_task = ~std::uint32_t{0};

  Tasks const& tasks_;
  Discipline discipline_;
  std::uint32_t nodes_;
  std::vector<Edge> edges_;
};

}  // namespace

Dependences find_dependences(Tasks const& tasks, Discipline discipline) { return Builder(tasks, discipline).whole(); }

}  // namespace hiway::plan
