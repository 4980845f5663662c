#include "cli/graph_drawing.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "cli/bottleneck.hpp"
#include "cli/html.hpp"

namespace cli {

using hiway::RunReport;
using hiway::StageReport;
using hiway::TunnelReport;
using hiway::WaitReport;

namespace {

constexpr double gap_x = 34;
constexpr double gap_y = 18;
constexpr double margin = 8;
constexpr double stage_height = 50;
constexpr double tunnel_height = 40;
constexpr double point_height = 10;  // of an edge that passes
constexpr std::size_t most_characters = 26;
constexpr double least_scale = 0.7;  // where the page is narrower it scrolls
constexpr double beside = 9;         // an edge backwards may have the ends of one forwards
constexpr int sweeps = 8;

struct Node {
  std::size_t layer = 0;
  double width = 0;
  double height = point_height;
  double x = 0;  // of its left edge
  double y = 0;  // of its middle
  std::vector<std::size_t> before{};
  std::vector<std::size_t> after{};
};

/// An edge's way: its two ends, and points between them, in the order of their layers.
struct Way {
  std::vector<std::size_t> nodes;
  bool backwards = false;
};

struct Text {
  std::string name;
  std::string note;
};

Text text_of(RunReport const& stats, StageReport const& stage) {
  char const* const one = stage.gpu ? "block" : "thread";
  StageShares const shares = shares_of(stats, stage);
  std::string note = std::string{stage.gpu ? "GPU, " : "CPU, "} + count_text(stage.executors) + " " + one +
                     (stage.executors == 1 ? "" : "s");
  if (shares.busy >= 0) note += ", " + std::string{shares.inferred ? "~" : ""} + percent_text(shares.busy) + " busy";
  return {shortened(stage.name, most_characters), note};
}

Text text_of(TunnelReport const& tunnel) {
  std::string const mean = tunnel.mean_items >= 0 ? number_text(tunnel.mean_items) + " of " : "room for ";
  return {shortened(tunnel.name, most_characters), mean + count_text(tunnel.capacity_items)};
}

double width_of(Text const& text) {
  return std::max(7.6 * static_cast<double>(characters(text.name)), 6.2 * static_cast<double>(characters(text.note))) +
         24;
}

class Layout {
 public:
  Layout(std::vector<Node> nodes, GraphEdges const& edges, GraphLayers const& layers) : nodes_{std::move(nodes)} {
    for (std::size_t i = 0; i != nodes_.size(); ++i) nodes_[i].layer = layers.layer[i];
    for (std::size_t e = 0; e != edges.size(); ++e) {
      auto [from, to] = edges[e];
      if (layers.backwards[e]) std::swap(from, to);
      Way way{{from}, layers.backwards[e]};
      for (std::size_t layer = nodes_[from].layer + 1; layer < nodes_[to].layer; ++layer) {
        nodes_.push_back({.layer = layer});
        way.nodes.push_back(nodes_.size() - 1);
      }
      way.nodes.push_back(to);
      for (std::size_t i = 1; i != way.nodes.size(); ++i) {
        nodes_[way.nodes[i - 1]].after.push_back(way.nodes[i]);
        nodes_[way.nodes[i]].before.push_back(way.nodes[i - 1]);
      }
      ways_.push_back(std::move(way));
    }
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
      if (rows_.size() <= nodes_[i].layer) rows_.resize(nodes_[i].layer + 1);
      rows_[nodes_[i].layer].push_back(i);
    }
    place_x();
    for (std::vector<std::size_t>& row : rows_) stack(row);
    for (int sweep = 0; sweep != sweeps; ++sweep) {
      bool const forwards = sweep % 2 == 0;
      for (std::size_t r = 0; r != rows_.size(); ++r)
        settle(rows_[forwards ? r : rows_.size() - 1 - r], forwards ? &Node::before : &Node::after);
    }
    double top = 0;
    for (Node const& node : nodes_) top = std::min(top, node.y - node.height / 2);
    for (Node& node : nodes_) {
      node.y += margin - top;
      height_ = std::max(height_, node.y + node.height / 2 + margin);
    }
  }

  [[nodiscard]] Node const& node(std::size_t i) const { return nodes_[i]; }
  [[nodiscard]] std::vector<Way> const& ways() const { return ways_; }
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double height() const { return height_; }

 private:
  void place_x() {
    double x = margin;
    for (std::vector<std::size_t> const& row : rows_) {
      double widest = 0;
      for (std::size_t const i : row) widest = std::max(widest, nodes_[i].width);
      for (std::size_t const i : row) nodes_[i].x = x + (widest - nodes_[i].width) / 2;
      x += widest + gap_x;
    }
    width_ = x - gap_x + margin;
  }

  /// Under each other, the middle at 0.
  void stack(std::vector<std::size_t> const& row) {
    double height = -gap_y;
    for (std::size_t const i : row) height += nodes_[i].height + gap_y;
    double y = -height / 2;
    for (std::size_t const i : row) {
      nodes_[i].y = y + nodes_[i].height / 2;
      y += nodes_[i].height + gap_y;
    }
  }

  /// As near to the middle of its neighbours as its place in the row allows.
  void settle(std::vector<std::size_t>& row, std::vector<std::size_t> Node::*neighbours) {
    std::vector<double> wished(nodes_.size());
    for (std::size_t const i : row) {
      std::vector<std::size_t> const& others = nodes_[i].*neighbours;
      double sum = 0;
      for (std::size_t const other : others) sum += nodes_[other].y;
      wished[i] = others.empty() ? nodes_[i].y : sum / static_cast<double>(others.size());
    }
    std::ranges::stable_sort(row, [&](std::size_t a, std::size_t b) { return wished[a] < wished[b]; });
    double moved = 0;
    double lowest = -1e9;
    for (std::size_t const i : row) {
      double const half = nodes_[i].height / 2;
      nodes_[i].y = std::max(wished[i], lowest + half);
      moved += nodes_[i].y - wished[i];
      lowest = nodes_[i].y + half + gap_y;
    }
    for (std::size_t const i : row) nodes_[i].y -= moved / static_cast<double>(row.size());
  }

  std::vector<Node> nodes_;
  std::vector<Way> ways_;
  std::vector<std::vector<std::size_t>> rows_;
  double width_ = 0;
  double height_ = 0;
};

std::string at(char const* command, double x, double y) {
  return std::string{command} + coordinate(x) + " " + coordinate(y);
}

/// Smooth, flat at every node that it passes.
std::string draw_way(Layout const& layout, Way const& way) {
  std::vector<std::pair<double, double>> points;
  for (std::size_t const i : way.nodes) {
    Node const& node = layout.node(i);
    bool const first = i == way.nodes.front();
    bool const last = i == way.nodes.back();
    double const y = node.y + (way.backwards ? beside : 0);
    if (!first) points.emplace_back(node.x - (last && !way.backwards ? 5 : 0), y);
    if (!last) points.emplace_back(node.x + node.width + (first && way.backwards ? 5 : 0), y);
  }
  if (way.backwards) std::ranges::reverse(points);
  std::string path = at("M", points.front().first, points.front().second);
  for (std::size_t i = 1; i != points.size(); ++i) {
    auto const [x0, y0] = points[i - 1];
    auto const [x1, y1] = points[i];
    double const middle = (x0 + x1) / 2;
    path += at("C", middle, y0) + at(" ", middle, y1) + at(" ", x1, y1);
  }
  return std::string{"<path class=\"edge"} + (way.backwards ? " back" : "") + "\" marker-end=\"url(#arrow)\" d=\"" +
         path + "\" />";
}

/// `filled`: 0 to 1, from the left; below 0: not known.
std::string draw_node(Node const& node, Text const& text, std::string const& name, std::string const& css,
                      double filled) {
  double const top = node.y - node.height / 2;
  std::string const rest = "\" y=\"" + coordinate(top) + "\" height=\"" + coordinate(node.height) + "\" width=\"";
  std::string const middle = coordinate(node.x + node.width / 2);
  std::string out = "<g class=\"" + css + "\"><title>" + escaped(name) + "</title><rect class=\"box\" rx=\"" +
                    (css.starts_with("tunnel") ? "20" : "5") + "\" x=\"" + coordinate(node.x) + rest +
                    coordinate(node.width) + "\" />";
  if (filled >= 0)
    out += "<rect class=\"gauge\" rx=\"1.5\" x=\"" + coordinate(node.x + 12) + "\" y=\"" +
           coordinate(top + node.height - 8) + "\" height=\"3\" width=\"" + coordinate(node.width - 24) +
           "\" /><rect class=\"level\" rx=\"1.5\" x=\"" + coordinate(node.x + 12) + "\" y=\"" +
           coordinate(top + node.height - 8) + "\" height=\"3\" width=\"" +
           coordinate((node.width - 24) * std::min(filled, 1.0)) + "\" />";
  double const raise = filled >= 0 ? 4 : 0;
  return out + "<text class=\"name\" x=\"" + middle + "\" y=\"" + coordinate(node.y - 2 - raise) + "\">" +
         escaped(text.name) + "</text><text class=\"note\" x=\"" + middle + "\" y=\"" +
         coordinate(node.y + 12 - raise) + "\">" + escaped(text.note) + "</text></g>";
}

}  // namespace

GraphEdges edges_of(RunReport const& stats) {
  GraphEdges edges;
  auto const tunnel = [&](std::string const& name) {
    auto const found = std::ranges::find(stats.tunnels, name, &TunnelReport::name);
    return stats.stages.size() + static_cast<std::size_t>(found - stats.tunnels.begin());
  };
  for (std::size_t s = 0; s != stats.stages.size(); ++s) {
    for (WaitReport const& from : stats.stages[s].items_of) edges.emplace_back(tunnel(from.tunnel), s);
    for (WaitReport const& into : stats.stages[s].room_in) edges.emplace_back(s, tunnel(into.tunnel));
  }
  return edges;
}

GraphLayers layers_of(std::size_t nodes, GraphEdges const& edges) {
  GraphLayers result{std::vector<std::size_t>(nodes), std::vector<bool>(edges.size())};
  std::vector<std::vector<std::size_t>> out(nodes);
  std::vector<bool> has_input(nodes);
  for (std::size_t e = 0; e != edges.size(); ++e) {
    out[edges[e].first].push_back(e);
    has_input[edges[e].second] = true;
  }
  enum class Seen { no, open, done };
  std::vector<Seen> seen(nodes, Seen::no);
  std::vector<std::size_t> ended;
  std::function<void(std::size_t)> const walk = [&](std::size_t node) {
    seen[node] = Seen::open;
    for (std::size_t const e : out[node]) {
      std::size_t const to = edges[e].second;
      if (seen[to] == Seen::open) result.backwards[e] = true;
      if (seen[to] == Seen::no) walk(to);
    }
    seen[node] = Seen::done;
    ended.push_back(node);
  };
  for (bool const sources : {true, false}) {
    for (std::size_t node = 0; node != nodes; ++node) {
      if (seen[node] == Seen::no && (!sources || !has_input[node])) walk(node);
    }
  }
  // Turned round, a backward edge sets its ends apart as well; the order stays one of the turned graph.
  std::vector<std::vector<std::size_t>> into(nodes);
  for (std::size_t e = 0; e != edges.size(); ++e) {
    auto const [from, to] = edges[e];
    (result.backwards[e] ? into[from] : into[to]).push_back(result.backwards[e] ? to : from);
  }
  for (auto node = ended.rbegin(); node != ended.rend(); ++node) {
    for (std::size_t const before : into[*node]) {
      if (before != *node) result.layer[*node] = std::max(result.layer[*node], result.layer[before] + 1);
    }
  }
  return result;
}

std::string draw_graph(RunReport const& stats, std::string const& subject) {
  std::size_t const stages = stats.stages.size();
  std::vector<Node> nodes;
  std::vector<Text> texts;
  for (StageReport const& stage : stats.stages) {
    texts.push_back(text_of(stats, stage));
    nodes.push_back({.width = width_of(texts.back()), .height = stage_height});
  }
  for (TunnelReport const& tunnel : stats.tunnels) {
    texts.push_back(text_of(tunnel));
    nodes.push_back({.width = width_of(texts.back()), .height = tunnel_height});
  }
  GraphEdges const edges = edges_of(stats);
  Layout const layout{nodes, edges, layers_of(nodes.size(), edges)};
  std::string const width = coordinate(layout.width());
  std::string const height = coordinate(layout.height());
  std::string out =
      "<svg class=\"graph\" viewBox=\"0 0 " + width + " " + height + "\" width=\"" + width + "\" height=\"" + height +
      "\" style=\"min-width:" + coordinate(layout.width() * least_scale) +
      "px\" role=\"img\" aria-label=\"stages and tunnels\"><defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"4\" "
      "refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" /></marker></defs>\n";
  for (Way const& way : layout.ways()) out += draw_way(layout, way) + "\n";
  for (std::size_t i = 0; i != nodes.size(); ++i) {
    bool const is_stage = i < stages;
    std::string const& name = is_stage ? stats.stages[i].name : stats.tunnels[i - stages].name;
    std::string css = is_stage ? (stats.stages[i].gpu ? "stage gpu" : "stage cpu") : "tunnel";
    if (name == subject) css += " subject";
    double filled = -1;
    if (is_stage) {
      filled = shares_of(stats, stats.stages[i]).busy;
    } else if (TunnelReport const& t = stats.tunnels[i - stages]; t.mean_items >= 0 && t.capacity_items > 0) {
      filled = t.mean_items / static_cast<double>(t.capacity_items);
    }
    out += draw_node(layout.node(i), texts[i], name, css, filled) + "\n";
  }
  return out + "</svg>";
}

}  // namespace cli
