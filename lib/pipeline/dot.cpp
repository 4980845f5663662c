#include "dot.hpp"

#include <algorithm>
#include <iomanip>
#include <locale>
#include <sstream>

#include "lib/text.hpp"

namespace hiway {
namespace {

std::string rate(double per_second) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::setprecision(3);
  if (per_second >= 1e6) {
    text << per_second / 1e6 << " M/s";
  } else if (per_second >= 1e3) {
    text << per_second / 1e3 << " k/s";
  } else {
    text << per_second << " /s";
  }
  return text.str();
}

std::string label(std::string const& first, std::string const& more) {
  std::string const quoted = quoted_text(first);
  return std::string("label=") + quoted.substr(0, quoted.size() - 1) + "\\n" + more + "\"";
}

class DotWriter {
 public:
  DotWriter(Graph const& graph, Homes const& homes, DotNumbers const& numbers, std::string const& prefix)
      : graph_(graph), homes_(homes), numbers_(numbers), prefix_(prefix) {}

  DotPart write() && {
    for (CpuStageDescription const& c : graph_.cpu()) {
      add_stage(graph_.with_branches(c.stage),
                "CPU, " + std::to_string(c.options.threads) + (c.options.threads == 1 ? " thread" : " threads"));
    }
    for (DeclaredKernel const& k : graph_.kernels()) {
      std::string const where = homes_.device_count() > 1 ? homes_.name(k.home) : "GPU";
      bool const group = k.description.stages.size() > 1;
      for (StageDescription const& stage : k.description.stages)
        add_stage(stage, where + (group ? ", group " + k.description.name : ""));
    }
    for (StageDescription const& worker : graph_.workers()) add_stage(worker, "your own");
    for (DeclaredTunnel const& t : graph_.tunnels()) add_tunnel(t);
    return std::move(dot_);
  }

 private:
  void add_stage(StageDescription const& stage, std::string place) {
    auto const& reports = numbers_.report.stages;
    auto const report = std::ranges::find(reports, stage.name, &StageReport::name);
    if (report != reports.end() && report->busy >= 0)
      place += "\\nbusy " + std::to_string(static_cast<int>(100 * report->busy + 0.5)) + " %";
    dot_.stages += "  " + quoted_text(prefix_ + stage.name) + " [shape=box, " + label(stage.name, place) + "];\n";
    stages_.push_back(stage);
  }

  void add_tunnel(DeclaredTunnel const& t) {
    std::string const& name = t.base->name();
    std::string const between = between_nodes(t);
    bool const put_by_workers = has_worker(graph_, *t.base, EndOf::writers);
    bool const got_by_workers = has_worker(graph_, *t.base, EndOf::readers);
    std::vector<std::string> writers(put_by_workers ? 0 : t.open_inlets,
                                     between.empty() ? "(open inlet of " + name + ")" : between);
    std::vector<std::string> readers(got_by_workers ? 0 : t.open_outlets,
                                     between.empty() ? "(open outlet of " + name + ")" : between);
    for (StageDescription const& stage : stages_) {
      if (contains(stage.into, t.base.get())) writers.push_back(prefix_ + stage.name);
      if (contains(stage.from, t.base.get())) readers.push_back(prefix_ + stage.name);
    }
    std::string const about = about_tunnel(*t.base);
    for (std::string const& w : writers) {
      for (std::string const& r : readers)
        dot_.edges += "  " + quoted_text(w) + " -> " + quoted_text(r) + " " + about + ";\n";
    }
  }
  /// What the open ends of a tunnel that leads to other nodes are connected to; empty for any other one.
  [[nodiscard]] std::string between_nodes(DeclaredTunnel const& t) const {
    DeclaredTunnel const& split = tunnel_with(&DeclaredTunnel::arrival, t);
    if (!split.departs() && split.ends != EndsHere::arrives) return {};
    return tunnel_with(&DeclaredTunnel::between, split).base->name() + ", between nodes";
  }
  /// The tunnel for which `made` was made, or else `made`.
  [[nodiscard]] DeclaredTunnel const& tunnel_with(std::uint32_t DeclaredTunnel::*part,
                                                  DeclaredTunnel const& made) const {
    auto const whole = std::ranges::find(graph_.tunnels(), made.base->id(), part);
    return whole == graph_.tunnels().end() ? made : *whole;
  }
  [[nodiscard]] std::string about_tunnel(TunnelBase const& t) const {
    std::string const name = t.name() + " (" + std::to_string(numbers_.capacity[t.id()]) + ")";
    RunReport const& now = numbers_.report;
    if (t.id() >= now.tunnels.size() || now.seconds <= 0) return std::string("[label=") + quoted_text(name) + "]";
    TunnelReport const& r = now.tunnels[t.id()];
    std::string more = std::to_string(r.items) + " items, " + rate(static_cast<double>(r.items) / now.seconds);
    if (numbers_.running) more += ", holds " + std::to_string(r.holds);
    if (r.most_items >= 0) more += ", most " + std::to_string(static_cast<std::uint64_t>(r.most_items));
    return std::string("[") + label(name, more) + "]";
  }

  Graph const& graph_;
  Homes const& homes_;
  DotNumbers const& numbers_;
  std::string const& prefix_;
  DotPart dot_;
  std::vector<StageDescription> stages_;
};

}  // namespace

DotPart dot_part_of(Graph const& graph, Homes const& homes, DotNumbers const& numbers, std::string const& prefix) {
  return DotWriter(graph, homes, numbers, prefix).write();
}

}  // namespace hiway
