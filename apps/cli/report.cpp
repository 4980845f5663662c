#include "cli/report.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "cli/app.hpp"
#include "cli/bottleneck.hpp"
#include "cli/graph_drawing.hpp"
#include "cli/html.hpp"
#include "cli/joined_tunnels.hpp"
#include "cli/timeline.hpp"

namespace cli {

using hiway::RunReport;
using hiway::ScopesReport;
using hiway::StageReport;
using hiway::TunnelReport;
using hiway::WaitReport;

namespace {

constexpr std::size_t most_events = 20;

using Legend = std::vector<std::pair<char const*, char const*>>;

std::string legend(Legend const& entries) {
  std::string out = "<ul class=\"legend\">";
  for (auto const& [css, text] : entries) out += std::string{"<li><i class=\""} + css + "\"></i>" + text + "</li>";
  return out + "</ul>\n";
}

std::string section(char const* id, char const* title, std::string const& content) {
  return content.empty()
             ? ""
             : std::string{"<section id=\""} + id + "\"><h2>" + title + "</h2>\n" + content + "</section>\n";
}

std::string head(TraceFile const& trace, std::string const& title) {
  std::string out = "<h1>" + title + "</h1>\n<ul class=\"facts\">";
  auto const fact = [&](std::string const& text, std::string const& value) {
    out += "<li>" + text + " <b>" + escaped(value) + "</b></li>";
  };
  fact("device", trace.stats.device);
  fact("time", time_text(trace.stats.seconds * 1e6));
  fact("items", count_text(trace.stats.items));
  if (trace.stats.seconds > 0)
    fact("items per second", number_text(static_cast<double>(trace.stats.items) / trace.stats.seconds));
  if (trace.stats.end_detection_us >= 0) fact("end detection", time_text(trace.stats.end_detection_us));
  out += "</ul>\n";
  if (!trace.error.empty())
    out += "<p class=\"alarm\" id=\"error\">The run ended with an error: " + escaped(trace.error) + "</p>\n";
  return out;
}

std::string findings(std::vector<Finding> const& found) {
  std::string out = "<ul id=\"findings\">\n";
  for (Finding const& one : found)
    out += "<li>" + escaped(one.text) +
           (one.advice.empty() ? "" : " <span class=\"advice\">" + escaped(one.advice) + "</span>") + "</li>\n";
  return out + "</ul>\n";
}

/// A bar's part, of the run.
std::string part(char const* css, double share, std::string const& said) {
  if (share < 0.0005) return "";
  return std::string{"<span class=\""} + css + "\" style=\"width:" + coordinate(share * 100) + "%\" title=\"" +
         escaped(said) + ": " + percent_text(share) + "\"></span>";
}

std::string bar(RunReport const& stats, StageReport const& stage) {
  std::string parts;
  std::string said;
  double const life =
      stats.seconds > 0 && stage.seconds > 0
          ? std::min(1.0,
                     stage.seconds / static_cast<double>(std::max<std::uint64_t>(1, stage.executors)) / stats.seconds)
          : 1;
  double left = life;
  if (stage.busy >= 0 && !stage.gpu) {
    parts += part("busy", stage.busy * life, "busy");
    left -= stage.busy * life;
    auto const add = [&](std::vector<WaitReport> const& waits, char const* css, std::string const& what) {
      for (WaitReport const& each : waits) {
        double const share = std::min(left, std::max(0.0, wait_share(stage, each)) * life);
        parts += part(css, share, what + "'" + each.tunnel + "'");
        left -= share;
      }
    };
    add(stage.items_of, "get", "waits for items of ");
    add(stage.room_in, "put", "waits for room in ");
    said = percent_text(stage.busy * life) + " busy";
  } else if (StageShares const shares = shares_of(stats, stage); shares.busy >= 0) {
    double const end = std::max(0.0, stats.end_detection_us) * 1e-6;
    double const busy = shares.busy * (stats.seconds > 0 ? std::max(0.0, 1 - end / stats.seconds) : 1);
    parts += part("guessed", busy, "had items and room");
    left -= busy;
    said = "~" + percent_text(busy) + " busy";
  } else {
    said = "not known";
  }
  if (stage.gpu && stage.busy >= 0) said += ", blocks active " + percent_text(stage.busy);
  parts += part("unknown", left, stage.gpu ? "had no items, or no room" : "not measured");
  parts += part("gone", 1 - life, "not begun, or ended");
  return "<div class=\"name\">" + escaped(stage.name) + "</div><div class=\"bar\">" + parts +
         "</div><div class=\"say\">" + said + "</div>\n";
}

std::string bars(RunReport const& stats) {
  std::string out;
  for (StageReport const& stage : stats.stages) out += bar(stats, stage);
  if (out.empty()) return "";
  bool const gpu = std::ranges::any_of(stats.stages, &StageReport::gpu);
  Legend entries{{"busy", "busy"}, {"get", "waits for items"}, {"put", "waits for room"}};
  if (gpu)
    entries.insert(entries.end(), {{"guessed", "GPU: had items and room (inferred)"}, {"unknown", "GPU: had not"}});
  return legend(entries) + "<div class=\"bars\">\n" + out + "</div>\n";
}

std::string events(TraceFile const& trace) {
  std::string out;
  for (std::size_t i = 0; i != std::min(most_events, trace.moments.size()); ++i)
    out += "<li><b>" + time_text(trace.moments[i].at) + "</b> " + escaped(trace.moments[i].text) + "</li>\n";
  if (trace.moments.size() > most_events)
    out += "<li>and " + count_text(trace.moments.size() - most_events) + " more</li>\n";
  return out.empty() ? out : "<ol class=\"events\">" + out + "</ol>\n";
}

std::string timeline(TraceFile const& trace) {
  if (trace.tracks.empty()) return "";
  Legend entries{{"busy", "at work"}, {"task", "long task"}, {"get", "waits for items"}, {"put", "waits for room"}};
  auto const has = [&](Track::Place place) {
    return std::ranges::any_of(trace.tracks, [&](Track const& t) { return t.place == place; });
  };
  if (has(Track::Place::gpu))
    entries.insert(entries.end(), {{"active", "blocks that took items"}, {"alive", "GPU stage runs"}});
  if (has(Track::Place::bus)) entries.emplace_back("dma", "copies");
  if (trace.end_search >= 0) entries.emplace_back("end", "end detection");
  return "<div class=\"tools\">drag to zoom, double-click for all<button type=\"button\" data-do=\"closer\">+</button>"
         "<button type=\"button\" data-do=\"farther\">\u2212</button><button type=\"button\" "
         "data-do=\"all\">all</button></div>\n" +
         legend(entries) + "<div class=\"rows\">\n" + draw_tracks(trace) + "</div>\n" + events(trace);
}

std::string occupancy(TraceFile const& trace) {
  std::string const rows = draw_occupancy(trace);
  if (rows.empty()) return "";
  Legend entries{{"items", "items in the ring"}, {"most", "most, where samples are joined"}};
  if (std::ranges::any_of(trace.stats.tunnels, [](TunnelReport const& t) { return t.spilled > 0; }))
    entries.emplace_back("pool", "in the pool");
  return legend(entries) + "<div class=\"rows\">\n" + rows + "</div>\n";
}

struct Column {
  char const* title;
  char const* css = "";  ///< of its cells
};

std::string table(char const* id, std::vector<Column> const& columns,
                  std::vector<std::vector<std::string>> const& rows) {
  if (rows.empty()) return "";
  auto const cell = [&](char const* tag, std::size_t column, std::string const& text) {
    std::string const css = columns[column].css;
    return std::string{"<"} + tag + (css.empty() ? "" : " class=\"" + css + "\"") + ">" + escaped(text) + "</" + tag +
           ">";
  };
  std::string out = std::string{"<div class=\"scroll\"><table id=\""} + id + "\"><thead><tr>";
  for (std::size_t i = 0; i != columns.size(); ++i) out += cell("th", i, columns[i].title);
  out += "</tr></thead><tbody>\n";
  for (auto const& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i != columns.size(); ++i) out += cell("td", i, row[i]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string waits_text(StageReport const& stage, std::vector<WaitReport> const& waits) {
  std::string out;
  for (WaitReport const& each : waits) {
    if (!out.empty()) out += ", ";
    out += each.tunnel;
    if (double const share = wait_share(stage, each); share >= 0) (out += " ") += percent_text(share);
  }
  return out.empty() ? "\u2013" : out;
}

std::string stage_table(RunReport const& stats) {
  std::vector<std::vector<std::string>> rows;
  for (StageReport const& s : stats.stages)
    rows.push_back({s.name, s.gpu ? "GPU" : "CPU", count_text(s.executors), count_text(s.items),
                    count_text(s.failed_tasks) + (s.first_failure.empty() ? "" : ": " + s.first_failure),
                    time_text(s.seconds * 1e6 / static_cast<double>(std::max<std::uint64_t>(1, s.executors))),
                    percent_text(s.busy), waits_text(s, s.items_of), waits_text(s, s.room_in)});
  return table("stages",
               {{"stage"},
                {"on", "text"},
                {"threads or blocks"},
                {"tasks ended"},
                {"failed", "text"},
                {"life of each"},
                {"busy, of its life"},
                {"waits for items of", "text"},
                {"waits for room in", "text"}},
               rows);
}

std::string level(double items) { return items < 0 ? "\u2013" : number_text(items); }

std::string tunnel_table(RunReport const& stats) {
  std::vector<std::vector<std::string>> rows;
  for (TunnelReport const& t : stats.tunnels)
    rows.push_back(
        {t.name, t.direction, t.movement, count_text(t.capacity_items), bytes_text(static_cast<double>(t.item_bytes)),
         count_text(t.items), count_text(t.finished), level(t.mean_items), level(t.most_items), percent_text(t.full),
         percent_text(t.empty), bytes_text(static_cast<double>(t.items * t.item_bytes)), count_text(t.batches),
         count_text(t.spilled), count_text(t.dropped), count_text(t.put_groups), count_text(t.get_groups), t.why});
  return table("tunnels",
               {{"tunnel"},
                {"direction", "text"},
                {"movement", "text"},
                {"capacity"},
                {"item"},
                {"items"},
                {"finished"},
                {"held, mean"},
                {"most"},
                {"full"},
                {"empty"},
                {"bytes"},
                {"batches"},
                {"spilled"},
                {"dropped"},
                {"put groups"},
                {"get groups"},
                {"why this movement", "long"}},
               rows);
}

std::string scopes_table(RunReport const& stats) {
  std::vector<std::vector<std::string>> rows;
  for (ScopesReport const& s : stats.scopes) {
    std::string const waits = s.waits == 0 ? "\u2013" : count_text(s.waits) + ", " + time_text(s.wait_seconds * 1e6);
    rows.push_back({s.name, count_text(s.most_open), count_text(s.opened), count_text(s.ended), count_text(s.failed),
                    count_text(s.cancelled), count_text(s.open), time_text(s.median_us), time_text(s.p99_us),
                    time_text(s.slowest_us), s.ended == 0 ? "\u2013" : count_text(s.slowest_place), waits});
  }
  return table("scopes",
               {{"scopes"},
                {"most open"},
                {"opened"},
                {"ended"},
                {"failed"},
                {"cancelled"},
                {"open"},
                {"median"},
                {"p99"},
                {"slowest"},
                {"its place"},
                {"waits for a place"}},
               rows);
}

}  // namespace

std::string to_html(TraceFile const& trace, std::string const& path) {
  // All other names are of the trace, which was read as UTF-8.
  std::string const valid = Json(path).dump(-1, ' ', false, Json::error_handler_t::replace);
  auto const source = Json::parse(valid).get<std::string>();
  RunReport const whole = joined_tunnels(trace.stats);
  std::vector<Finding> const found = find_bottleneck(whole);
  std::string const title = escaped(std::filesystem::path{source}.filename().string());
  std::string const graph = trace.stats.stages.empty()
                                ? ""
                                : "<div class=\"scroll\">" + draw_graph(whole, found.front().subject) + "</div>\n";
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n<meta name=\"viewport\" "
         "content=\"width=device-width, initial-scale=1\" />\n<title>" +
         title + " \u2013 hiway report</title>\n<link rel=\"icon\" href=\"data:,\" />\n<style>\n" + report_css +
         "</style>\n</head>\n<body data-run=\"" + std::to_string(trace.run_end) + "\">\n" + head(trace, title) +
         findings(found) + section("busy", "What the stages did", bars(trace.stats)) +
         section("graph", "Stages and tunnels", graph) + section("timeline", "Timeline", timeline(trace)) +
         section("occupancy", "What the tunnels held", occupancy(trace)) +
         section("numbers", "Numbers",
                 stage_table(trace.stats) + tunnel_table(trace.stats) + scopes_table(trace.stats)) +
         "<p class=\"soft\">From " + escaped(source) + ", hiway " + escaped(trace.version) +
         ".</p>\n<script>//<![CDATA[\n" + report_js + "//]]></script>\n</body>\n</html>\n";
}

}  // namespace cli
