#include "bench/paper_subjects.hpp"

#include <utility>

#include "bench/app_runs.hpp"

namespace bench {
namespace {

using cli::Scheme;
using hiway::EndDetection;
using hiway::Grouping;
using hiway::Movement;
using paper_setting::baseline;
using paper_setting::pinned_baseline;

std::vector<Subject> the_six(bool small, std::string const& image) {
  using std::chrono::milliseconds;
  // The emulated device stands still as long as its machine has other things to do.
  auto const after = [&](int ms) { return milliseconds(small ? 300 : ms); };
  auto const sized = [&](char const* arguments) { return std::string(small ? "" : arguments); };
  std::string const picture = image.empty() ? "" : " --image " + image;
  Subject const alignment{"GA", "gene-alignment", sized(paper_size::gene_alignment), after(15)};
  Subject all_cross = alignment;
  all_cross.title = "GA, all results cross";
  all_cross.arguments += " --cross all";
  all_cross.in_means = false;
  all_cross.by_numbers = true;
  Subject const reyes{"RE", "reyes", sized(paper_size::reyes), after(2), true};
  Subject one_picture = reyes;
  one_picture.title = "RE, one picture";
  one_picture.arguments = sized(" --width 1280 --height 720");
  one_picture.in_means = false;
  Subject const faces{"FD", "face-detection", picture, after(20), false, true};
  Subject compared_on_cpu = faces;
  compared_on_cpu.title = "FD, compared on the CPU";
  compared_on_cpu.arguments += " --placement lbp-on-cpu";
  compared_on_cpu.in_means = false;
  return {
      alignment,
      all_cross,
      {"EP", "evolutionary-program", sized(paper_size::evolutionary_program), after(10), true},
      reyes,
      one_picture,
      faces,
      compared_on_cpu,
      {"ST", "stencil", sized(" --width 4096 --height 4096 --frames 1"), after(2), false, true},
      {"RA", "rasterization", sized(" --width 1024 --height 768 --pictures 100"), after(2)},
  };
}

/// Whose queues are contended: single lanes put and get small items without pause.
std::vector<Subject> contended(bool small) {
  auto const sized = [&](char const* graph, char const* size) { return std::string(graph) + (small ? "" : size); };
  Subject road{"BFS, roads", "bfs", sized(" --graph road", " --width 2048 --height 2048"), {}};
  road.in_means = false;
  Subject power_law = road;
  power_law.title = "BFS, power law";
  power_law.arguments = sized(" --graph power-law", " --scale 20");
  return {road, power_law};
}

/// Figures 10 and 11. Without a stencil the baseline is chunks, copies and launches (from ordinary memory, as its
/// authors have it; beside it from pinned memory), and the other ways are one pipeline; with one, the baseline is the
/// basic scheme with counted tasks (the paper's 4.1), which is what late triggering makes of the basic scheme. One
/// switch is turned after another; in the last way the library chooses everything.
Comparison breakdown(Subject const& subject) {
  std::string const tasks = subject.by_regions ? "baseline" : "hiway";
  Scheme const basic{EndDetection::time_out, subject.time_out, Grouping::none, Movement::dma};
  Scheme const counted{.grouping = Grouping::none, .movement = Movement::dma};
  Scheme const relieved{.grouping = Grouping::warp, .movement = Movement::dma};
  Comparison c{"breakdown", subject, baseline, {{baseline, "baseline", subject.by_regions ? counted : Scheme{}}}};
  if (subject.copies_much) c.settings.push_back({pinned_baseline, "baseline", {}, true});
  c.settings.push_back({"basic", tasks, basic});
  if (!subject.by_regions) c.settings.push_back({"+ late-triggered", tasks, counted});
  c.settings.push_back({"+ relief", tasks, relieved});
  if (subject.by_regions) c.settings.push_back({"+ lazy regions", "hiway", relieved});
  if (subject.by_numbers) c.settings.push_back({"by paper.hpp", "paper"});
  c.settings.push_back({"hiway", "hiway"});
  return c;
}

Comparison relief(Subject const& subject) {
  Comparison c{"relief", subject, "none", {}};
  for (Grouping const grouping :
       {Grouping::none, Grouping::warp, Grouping::block, Grouping::block_scan, Grouping::automatic})
    c.settings.push_back({"", "hiway", {.grouping = grouping}});
  for (Setting& setting : c.settings) setting.name = setting.facts()["grouping"];
  if (subject.app == "bfs") c.settings.push_back({baseline, "baseline"});
  return c;
}

/// EP alone (4.3).
Comparison communication(Subject idle) {
  idle.arguments += " --compute off";
  return {"communication",
          idle,
          baseline,
          {{baseline, "baseline"}, {pinned_baseline, "baseline", {}, true}, {"hiway", "hiway"}}};
}

Comparison movement(Subject const& subject) {
  // A region is copied, by whomever; managed memory would move pages instead.
  Comparison c{"movement", subject, subject.by_regions ? "dma" : "managed", {}};
  if (!subject.by_regions) c.settings.push_back({"managed", "hiway", {.movement = Movement::managed}});
  c.settings.push_back({"dma", "hiway", {.movement = Movement::dma}});
  c.settings.push_back({"direct", "hiway", {.movement = Movement::direct}});
  c.settings.push_back({"automatic", "hiway"});
  return c;
}

}  // namespace

Json Setting::facts() const {
  constexpr char const* groupings[] = {"automatic", "none", "warp", "block", "block_scan"};
  constexpr char const* movements[] = {"automatic", "dma", "direct", "managed"};
  Json facts = Json::object();
  facts["method"] = method;
  bool const tracked = scheme.end_detection == EndDetection::tracked;
  facts["end_detection"] = tracked ? "tracked" : "time_out";
  if (!tracked) facts["end_time_out_us"] = scheme.end_time_out.count();
  facts["grouping"] = groupings[static_cast<unsigned>(scheme.grouping)];
  facts["movement"] = movements[static_cast<unsigned>(scheme.movement)];
  if (pinned) facts["copies"] = "pinned";
  return facts;
}

std::vector<Comparison> paper_comparisons(bool small, std::string const& image) {
  std::vector<Subject> const six = the_six(small, image);
  std::vector<Comparison> all;
  for (Subject const& subject : six) all.push_back(breakdown(subject));
  for (Subject const& subject : six) {
    if (subject.in_means) all.push_back(relief(subject));
  }
  for (Subject const& subject : contended(small)) all.push_back(relief(subject));
  for (Subject const& subject : six) {
    if (subject.app == "evolutionary-program") all.push_back(communication(subject));
  }
  for (Subject const& subject : six) {
    if (subject.in_means) all.push_back(movement(subject));
  }
  return all;
}

}  // namespace bench
