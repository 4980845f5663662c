#include "cli/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "cli/html.hpp"

namespace cli {

using hiway::RunReport;
using hiway::StageReport;
using hiway::TunnelReport;

namespace {

constexpr std::size_t cells_of_all_tracks = 40'000;
constexpr std::size_t steps_of_all_tunnels = 30'000;
constexpr std::size_t most_cells = 2000;
constexpr std::size_t least_cells = 200;
constexpr std::size_t most_moments = 500;
constexpr int least_height = 3;  // a short copy is seen, too

/// What is drawn alike and told alike. Ordered from the cell's bottom to its top.
struct Layer {
  Activity activity;
  int tunnel;
  auto operator<=>(Layer const&) const = default;
};

struct Cell {
  double begin;
  double end;
  std::map<Layer, double> covered;  ///< microseconds, times the share of the executors that are at it
};

class Scale {
 public:
  explicit Scale(double run_end) : run_end_{run_end > 0 ? run_end : 1} {}
  [[nodiscard]] int x(double us) const {
    return static_cast<int>(std::lround(std::clamp(us / run_end_, 0.0, 1.0) * plot_width));
  }

 private:
  double run_end_;
};

std::size_t budget(std::size_t of_all, std::size_t rows) {
  return std::clamp(of_all / std::max<std::size_t>(1, rows), least_cells, most_cells);
}

std::vector<Cell> cells_of(std::vector<Piece> const& pieces, double run_end, std::size_t count) {
  double const width = std::max(run_end, 1e-9) / static_cast<double>(count);
  auto const is_long = [&](Piece const& p) { return p.end - p.begin >= 2 * width; };
  std::vector<Cell> cells;
  auto const cut = [&](double from, double to) {
    while (from < to) {
      double const edge = std::min(to, (std::floor(from / width + 1e-9) + 1) * width);
      cells.push_back({from, edge, {}});
      from = edge;
    }
  };
  double at = 0;
  for (Piece const& p : pieces) {
    if (!is_long(p)) continue;
    cut(at, p.begin);
    cells.push_back({p.begin, p.end, {{{p.activity, p.tunnel}, p.amount * (p.end - p.begin)}}});
    at = p.end;
  }
  cut(at, run_end);
  std::size_t cell = 0;
  for (Piece const& p : pieces) {
    if (is_long(p)) continue;
    while (cell < cells.size() && cells[cell].end <= p.begin) ++cell;
    for (std::size_t c = cell; c < cells.size() && cells[c].begin < p.end; ++c) {
      double const overlap = std::min(cells[c].end, p.end) - std::max(cells[c].begin, p.begin);
      if (overlap > 0) cells[c].covered[{p.activity, p.tunnel}] += p.amount * overlap;
    }
  }
  return cells;
}

/// Of a path.
std::string command(char letter, int value) { return std::string{letter} + std::to_string(value); }

/// Rectangles of one layer, those that continue each other joined.
class Bars {
 public:
  void add(int x, int width, int y, int height) {
    if (width_ > 0 && x == x_ + width_ && y == y_ && height == height_) {
      width_ += width;
      return;
    }
    flush();
    x_ = x;
    y_ = y;
    width_ = width;
    height_ = height;
  }
  std::string path() {
    flush();
    return std::move(path_);
  }

 private:
  void flush() {
    if (width_ <= 0) return;
    path_ += command('M', x_) + command(' ', y_) + command('h', width_) + command('v', height_) +
             command('h', -width_) + 'z';
    width_ = 0;
  }

  int x_ = 0;
  int y_ = 0;
  int width_ = 0;
  int height_ = 0;
  std::string path_;
};

char const* class_of(Activity activity, Track::Place place) {
  switch (activity) {
    case Activity::stage: return place == Track::Place::gpu ? "alive" : "busy";
    case Activity::task: return "task";
    case Activity::get: return "get";
    case Activity::put: return "put";
    case Activity::device: return "active";
    case Activity::dma: return "dma";
  }
  return "";
}

std::string said(Layer const& layer, Track::Place place, RunReport const& stats) {
  std::string const tunnel =
      layer.tunnel < 0 ? "" : "'" + stats.tunnels[static_cast<std::size_t>(layer.tunnel)].name + "'";
  switch (layer.activity) {
    case Activity::stage:
      return place == Track::Place::gpu ? "runs; no block took an item" : "at work, short waits included";
    case Activity::task: return "long task of " + tunnel;
    case Activity::get: return "waits for items of " + tunnel;
    case Activity::put: return "waits for room in " + tunnel;
    case Activity::device: return "blocks that took items";
    case Activity::dma: return "copies";
  }
  return "";
}

/// `attributes` with a blank before each.
std::string plot(std::string const& body, std::string const& label, std::string const& attributes) {
  return "<svg class=\"plot\"" + attributes + " viewBox=\"0 0 " + std::to_string(plot_width) + " " +
         std::to_string(plot_height) + "\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"" + escaped(label) +
         "\">" + body + "</svg>";
}

std::string row(std::string const& css, std::string const& name, std::string const& note, std::string const& body,
                std::string const& attributes = "") {
  return "<div class=\"row " + css + "\"><div class=\"label\" title=\"" + escaped(name) + "\"><span class=\"name\">" +
         escaped(name) + "</span>" + (note.empty() ? "" : "<span class=\"note\">" + escaped(note) + "</span>") +
         "</div>" + plot(body, name, attributes) + "</div>\n";
}

/// Over a plot, where the end is looked for.
std::string end_band(TraceFile const& trace, Scale const& scale) {
  if (trace.end_search < 0) return "";
  int const from = scale.x(trace.end_search);
  return "<rect class=\"end\" x=\"" + std::to_string(from) + "\" y=\"0\" width=\"" + std::to_string(plot_width - from) +
         "\" height=\"" + std::to_string(plot_height) + "\" data-say=\"end detection\" />";
}

std::string draw_track(Track const& track, TraceFile const& trace, Scale const& scale, std::size_t count) {
  std::vector<Piece> pieces = flattened(track.slices);
  double blocks = 0;
  for (StageReport const& stage : trace.stats.stages) {
    if (track.place == Track::Place::gpu && stage.name == track.stage) blocks = static_cast<double>(stage.executors);
  }
  for (Piece& p : pieces) {
    bool const of_blocks = p.activity == Activity::device && blocks > 0;
    p.amount = of_blocks ? std::clamp(p.amount / blocks, 0.0, 1.0) : 1;
  }
  std::map<Layer, Bars> layers;
  for (Cell const& cell : cells_of(pieces, trace.run_end, count)) {
    int const x = scale.x(cell.begin);
    int const width = scale.x(cell.end) - x;
    if (width <= 0) continue;
    double below = 0;
    for (auto const& [layer, covered] : cell.covered) {
      double const above = std::min(1.0, below + covered / (cell.end - cell.begin));
      int const bottom = static_cast<int>(std::lround(below * plot_height));
      int height = static_cast<int>(std::lround(above * plot_height)) - bottom;
      if (track.place != Track::Place::cpu) height = std::min(plot_height - bottom, std::max(height, least_height));
      if (height > 0) layers[layer].add(x, width, plot_height - bottom - height, height);
      below = above;
    }
  }
  std::string body;
  for (auto& [layer, bars] : layers)
    body += std::string{"<path class=\""} + class_of(layer.activity, track.place) + "\" data-say=\"" +
            escaped(said(layer, track.place, trace.stats)) + "\" d=\"" + bars.path() + "\" />";
  char const* const place = track.place == Track::Place::cpu   ? "track cpu"
                            : track.place == Track::Place::gpu ? "track gpu"
                                                               : "track bus";
  return row(place, track.name, "", body + end_band(trace, scale));
}

std::string draw_moments(TraceFile const& trace, Scale const& scale) {
  std::string body;
  for (std::size_t i = 0; i != std::min(most_moments, trace.moments.size()); ++i) {
    Moment const& moment = trace.moments[i];
    bool const stall = moment.category == "stall";
    body += std::string{"<path class=\"mark"} + (stall ? " stall" : "") + "\" d=\"M" +
            std::to_string(scale.x(moment.at)) + " 0v" + std::to_string(plot_height) + "\" data-say=\"" +
            escaped(moment.text) + "\" />";
  }
  return row("moments", "run", "", body + end_band(trace, scale));
}

/// Of a tunnel between two of its samples, or in a cell of them.
struct Step {
  double begin;
  double end;
  double items;
  double most;
  double spilled;
};

std::vector<Step> steps_of(std::vector<Sample> const& samples, double run_end, std::size_t count) {
  std::vector<Step> exact;
  for (std::size_t i = 0; i != samples.size(); ++i) {
    double const end = i + 1 == samples.size() ? std::max(run_end, samples[i].at) : samples[i + 1].at;
    exact.push_back({samples[i].at, end, samples[i].items, samples[i].items, samples[i].spilled});
  }
  if (exact.size() <= count) return exact;
  double const width = run_end / static_cast<double>(count);
  std::vector<Step> steps;
  std::size_t first = 0;
  for (std::size_t c = 0; c != count; ++c) {
    Step step{static_cast<double>(c) * width, static_cast<double>(c + 1) * width, 0, 0, 0};
    double seen = 0;
    while (first < exact.size() && exact[first].end <= step.begin) ++first;
    for (std::size_t i = first; i < exact.size() && exact[i].begin < step.end; ++i) {
      double const overlap = std::min(step.end, exact[i].end) - std::max(step.begin, exact[i].begin);
      seen += overlap;
      step.items += exact[i].items * overlap;
      step.spilled += exact[i].spilled * overlap;
      step.most = std::max(step.most, exact[i].items);
    }
    if (seen <= 0) continue;
    step.items /= seen;
    step.spilled /= seen;
    steps.push_back(step);
  }
  return steps;
}

/// The area from the bottom up to what `height` says of each step.
template <class Height>
std::string area(std::vector<Step> const& steps, Scale const& scale, double top, Height height) {
  std::string path;
  int last = -1;
  for (Step const& step : steps) {
    int const y = plot_height - static_cast<int>(std::lround(std::clamp(height(step) / top, 0.0, 1.0) * plot_height));
    if (y == last) continue;
    path += command(path.empty() ? 'M' : 'H', scale.x(step.begin));
    if (last < 0) path += command(' ', plot_height);
    path += command('V', y);
    last = y;
  }
  if (!path.empty()) path += command('H', scale.x(steps.back().end)) + command('V', plot_height) + 'z';
  return path;
}

std::string draw_tunnel(TunnelReport const& tunnel, std::vector<Sample> const& samples, TraceFile const& trace,
                        Scale const& scale, std::size_t count) {
  std::vector<Step> const steps = steps_of(samples, trace.run_end, count);
  double highest = 0;
  bool spilled = false;
  for (Step const& step : steps) {
    highest = std::max(highest, step.most + step.spilled);
    spilled = spilled || step.spilled > 0;
  }
  double const capacity = static_cast<double>(tunnel.capacity_items);
  double const top = std::max(1.0, highest * 4 < capacity ? highest * 1.25 : std::max(capacity, highest));
  std::string body;
  auto const add = [&](char const* css, std::string const& say, std::string const& path) {
    if (!path.empty())
      body += std::string{"<path class=\""} + css + "\" data-say=\"" + escaped(say) + "\" d=\"" + path + "\" />";
  };
  if (spilled)
    add("pool", "in the ring and in the pool",
        area(steps, scale, top, [](Step const& s) { return s.most + s.spilled; }));
  add("most", "most items in the ring", area(steps, scale, top, [](Step const& s) { return s.most; }));
  add("items", "items in the ring", area(steps, scale, top, [](Step const& s) { return s.items; }));
  if (capacity > 0 && capacity <= top) {
    int const y = plot_height - static_cast<int>(std::lround(capacity / top * plot_height));
    body += "<path class=\"capacity\" d=\"M0 " + std::to_string(y) + "h" + std::to_string(plot_width) + "\" />";
  }
  std::string const note = "0 to " + number_text(std::ceil(top)) +
                           (capacity > top ? " of " + count_text(tunnel.capacity_items) : "") +
                           (spilled ? ", pool above" : "");
  return row("tunnel", tunnel.name, note, body + end_band(trace, scale), " data-top=\"" + coordinate(top) + "\"");
}

/// About six round times.
std::string axis(TraceFile const& trace) {
  double const rough = std::max(trace.run_end, 1e-3) / 6;
  double const power = std::pow(10, std::floor(std::log10(rough)));
  double const step = (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : rough / power < 7.5 ? 5 : 10) * power;
  std::string ticks;
  for (int i = 0; i * step <= trace.run_end * 0.97; ++i)
    ticks += "<span class=\"tick\" style=\"left:" + coordinate(i * step / trace.run_end * 100) + "%\">" +
             (i == 0 ? "0" : time_text(i * step)) + "</span>";
  return "<div class=\"row axis\"><div class=\"label\"></div><div class=\"ticks\">" + ticks + "</div></div>\n";
}

}  // namespace

std::vector<Piece> flattened(std::vector<Slice> const& slices) {
  std::vector<Piece> pieces;
  std::vector<Slice> open;
  double at = 0;
  auto const emit = [&](double to) {
    if (!open.empty() && to > at) {
      Slice const& top = open.back();
      pieces.push_back({at, to, top.activity, top.tunnel, top.amount});
    }
    at = std::max(at, to);
  };
  auto const close_before = [&](double time) {
    while (!open.empty() && open.back().end <= time) {
      emit(open.back().end);
      open.pop_back();
    }
  };
  for (Slice slice : slices) {
    close_before(slice.begin);
    emit(slice.begin);
    if (!open.empty()) slice.end = std::min(slice.end, open.back().end);
    if (slice.end > slice.begin) open.push_back(slice);
  }
  close_before(std::numeric_limits<double>::infinity());
  return pieces;
}

std::string draw_tracks(TraceFile const& trace) {
  Scale const scale{trace.run_end};
  std::string rows = axis(trace) + draw_moments(trace, scale);
  std::optional<Track::Place> group;
  for (Track const& track : trace.tracks) {
    if (group != track.place) {
      group = track.place;
      rows += std::string{"<div class=\"group\">"} +
              (group == Track::Place::cpu   ? "CPU threads"
               : group == Track::Place::gpu ? "GPU stages"
                                            : "Copies across the bus") +
              "</div>\n";
    }
    rows += draw_track(track, trace, scale, budget(cells_of_all_tracks, trace.tracks.size()));
  }
  return rows;
}

std::string draw_occupancy(TraceFile const& trace) {
  Scale const scale{trace.run_end};
  std::string rows;
  for (std::size_t t = 0; t != trace.stats.tunnels.size(); ++t) {
    if (t < trace.samples.size() && !trace.samples[t].empty())
      rows += draw_tunnel(trace.stats.tunnels[t], trace.samples[t], trace, scale,
                          budget(steps_of_all_tunnels, trace.stats.tunnels.size()));
  }
  return rows.empty() ? rows : axis(trace) + rows;
}

}  // namespace cli
