#include "graph.hpp"

#include <algorithm>

namespace hiway {
namespace {

// Tarjan's algorithm with an explicit stack.
class Components {
 public:
  explicit Components(std::vector<std::vector<std::uint32_t>> const& edges)
      : edges_(edges),
        order_(edges.size(), unseen),
        low_(edges.size(), 0),
        on_stack_(edges.size(), false),
        component_(edges.size(), unseen) {}

  std::vector<std::uint32_t> find() {
    for (std::uint32_t n = 0; n < edges_.size(); ++n) {
      if (order_[n] == unseen) visit(n);
    }
    return component_;
  }

 private:
  static constexpr std::uint32_t unseen = 0xffffffffu;
  struct Frame {
    std::uint32_t node;
    std::size_t next_edge;
  };

  void enter(std::uint32_t node) {
    order_[node] = low_[node] = clock_++;
    stack_.push_back(node);
    on_stack_[node] = true;
    frames_.push_back({node, 0});
  }
  void visit(std::uint32_t root) {
    enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      std::uint32_t const node = frame.node;
      if (frame.next_edge < edges_[node].size()) {
        std::uint32_t const to = edges_[node][frame.next_edge++];
        if (order_[to] == unseen) {
          enter(to);
        } else if (on_stack_[to]) {
          low_[node] = std::min(low_[node], order_[to]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
      if (low_[node] == order_[node]) close_component(node);
    }
  }
  void close_component(std::uint32_t root) {
    for (std::uint32_t node = unseen; node != root;) {
      node = stack_.back();
      stack_.pop_back();
      on_stack_[node] = false;
      component_[node] = components_;
    }
    ++components_;
  }

  std::vector<std::vector<std::uint32_t>> const& edges_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> low_;
  std::vector<bool> on_stack_;
  std::vector<std::uint32_t> component_;
  std::vector<std::uint32_t> stack_;
  std::vector<Frame> frames_;
  std::uint32_t clock_ = 0;
  std::uint32_t components_ = 0;
};

}  // namespace

std::vector<std::uint32_t> strong_components(std::vector<std::vector<std::uint32_t>> const& edges) {
  return Components(edges).find();
}

}  // namespace hiway
