#include "cli/plan.hpp"

#include <charconv>
#include <cmath>
#include <hiway/error.hpp>
#include <hiway/plan/plan.hpp>
#include <hiway/plan/segment.hpp>
#include <hiway/plan/symbolic.hpp>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/app.hpp"
#include "cli/bad_input.hpp"
#include "cli/bytes.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"

namespace cli {
namespace {

using namespace hiway::plan;

struct PlanRequest {
  std::string file;
  std::string memory;
  std::vector<std::string> params;
  std::vector<std::string> symbols;
  int degree = 2;
  std::string certificate;
  std::string json;
  bool front = false;
  bool dot = false;
};

Parameters parse_params(std::vector<std::string> const& texts) {
  Parameters params;
  for (std::string const& text : texts) {
    std::size_t const equals = text.find('=');
    std::int64_t value = 0;
    char const* const last = text.data() + text.size();
    if (equals == 0 || equals == std::string::npos) throw BadInput{"--param must be NAME=INTEGER: " + text};
    auto const [stop, error] = std::from_chars(text.data() + equals + 1, last, value);
    if (error != std::errc{} || stop != last) throw BadInput{"--param must be NAME=INTEGER: " + text};
    if (!params.emplace(text.substr(0, equals), value).second)
      throw BadInput{"--param: " + text.substr(0, equals) + " is given twice"};
  }
  return params;
}

constexpr std::size_t most_bytes = std::size_t{1} << 28;  ///< of a program: four million tasks one by one

/// "N=4, M=2", or "" for a program without parameters.
std::string text_of(Parameters const& params) {
  std::string text;
  for (auto const& [name, value] : params) text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(value);
  return text;
}

/// "s1 2, s2 5".
std::string text_of(std::vector<std::string> const& streams, Capacities const& capacities) {
  std::string text;
  for (std::size_t s = 0; s < streams.size(); ++s)
    text += (s == 0 ? "" : ", ") + streams[s] + " " + std::to_string(capacities[s]);
  return text;
}

Json to_json(std::vector<std::string> const& streams, Capacities const& capacities) {
  Json object = Json::object();
  for (std::size_t s = 0; s < capacities.size(); ++s) object[streams[s]] = capacities[s];
  return object;
}

Json to_json(Plan const& plan, PlanOptions const& options) {
  Json object;
  object["verdict"] = name_of(plan.verdict);
  object["feasible"] = plan.feasible;
  object["tasks"] = plan.tasks;
  object["min"] = to_json(plan.streams, plan.min);
  Json pareto = Json::array();
  Json bytes = Json::array();
  Json makespans = Json::array();
  for (Corner const& corner : plan.pareto) {
    pareto.push_back(to_json(plan.streams, corner.capacities));
    bytes.push_back(corner.bytes);
    makespans.push_back(corner.makespan);
  }
  Json const best = plan.pareto.empty() ? Json(nullptr) : pareto.front();
  object["pareto"] = std::move(pareto);
  object["pareto_bytes"] = std::move(bytes);
  object["min_bytes"] = plan.min_bytes ? Json(*plan.min_bytes) : Json(nullptr);
  object["best"] = best;
  object["critical_path"] = {{"unbounded", plan.feasible ? Json(plan.unbounded_makespan) : Json(nullptr)},
                             {"at_pareto", std::move(makespans)}};
  if (options.memory_vs_makespan) {
    Json trades = Json::array();
    for (Trade const& trade : plan.trades) trades.push_back({trade.bytes, trade.makespan});
    object["memory_vs_makespan"] = std::move(trades);
    object["memory_vs_makespan_exhausted"] = plan.trades_exhausted;
  }
  object["why"] = plan.why;
  object["proven_for"] = text_of(plan.params);
  object["exhausted"] = plan.pareto_exhausted;
  object["states"] = plan.states;
  return object;
}

std::string to_text(Plan const& plan, PlanOptions const& options, std::string const& file) {
  std::ostringstream text;
  std::string const params = text_of(plan.params);
  text << file << ": " << name_of(plan.verdict) << (params.empty() ? "" : " (" + params + ")") << "\n";
  auto const line = [&](std::string const& name, std::string const& value) {
    text << "  " << std::left << std::setw(20) << name << value << "\n";
  };
  line("why", plan.why);
  line("tasks", std::to_string(plan.tasks));
  if (plan.feasible) {
    line("each alone", text_of(plan.streams, plan.min));
    std::string name = "least together";
    for (Corner const& corner : plan.pareto) {
      line(name, text_of(plan.streams, corner.capacities) + ": " + std::to_string(corner.bytes) + " bytes, makespan " +
                     std::to_string(corner.makespan));
      name.clear();
    }
    if (options.memory_vs_makespan) {
      name = "memory, makespan";
      for (Trade const& trade : plan.trades) {
        line(name, text_of(plan.streams, trade.capacities) + ": " + std::to_string(trade.bytes) + " bytes, makespan " +
                       std::to_string(trade.makespan));
        name.clear();
      }
    }
    line("makespan unbounded", std::to_string(plan.unbounded_makespan));
  }
  line("states expanded", std::to_string(plan.states) +
                              (plan.pareto_exhausted ? "" : ", least together not exhausted") +
                              (plan.trades_exhausted ? "" : ", memory and makespan not exhausted"));
  return text.str();
}

Json to_json(SegmentPlan const& plan) {
  Json object;
  object["verdict"] = name_of(plan.verdict);
  object["feasible"] = true;
  object["min"] = to_json(plan.nodes, plan.min);
  object["min_bytes"] = plan.min_bytes;
  object["pareto"] = Json::array({to_json(plan.nodes, plan.min)});
  object["pareto_bytes"] = {plan.min_bytes};
  object["best"] = plan.best.empty() ? Json(nullptr) : to_json(plan.nodes, plan.best);
  object["best_bytes"] = plan.best.empty() ? Json(nullptr) : Json(plan.best_bytes);
  Json interrupt = Json::array();
  for (SegmentPlan::Interrupt const& one : plan.interrupt)
    interrupt.push_back({{"node", one.node}, {"freed_bytes", one.freed_bytes}});
  Json merge = Json::array();
  for (SegmentPlan::Merge const& one : plan.merge) merge.push_back({{"node", one.node}, {"saved_ns", one.saved_ns}});
  object["interrupt"] = std::move(interrupt);
  object["merge"] = std::move(merge);
  object["why"] = plan.why;
  return object;
}

std::string to_text(SegmentPlan const& plan, std::string const& file) {
  std::ostringstream text;
  text << file << ": " << name_of(plan.verdict) << "\n";
  auto const line = [&](std::string const& name, std::string const& value) {
    text << "  " << std::left << std::setw(20) << name << value << "\n";
  };
  line("why", plan.why);
  line("safe slots", text_of(plan.nodes, plan.min) + ": " + std::to_string(plan.min_bytes) + " bytes");
  if (!plan.best.empty())
    line("slots", text_of(plan.nodes, plan.best) + ": " + std::to_string(plan.best_bytes) + " bytes");
  for (SegmentPlan::Interrupt const& one : plan.interrupt)
    line("make interruptible", one.node + ": frees " + std::to_string(one.freed_bytes) + " bytes");
  for (SegmentPlan::Merge const& one : plan.merge)
    line("merge", one.node + " into the node before: saves " + std::to_string(std::llround(one.saved_ns)) +
                      " ns per item of the first node");
  return text.str();
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::fits: return 0;
    case Verdict::unknown: return 3;
    default: return 1;
  }
}

struct Answer {
  Verdict verdict = Verdict::unknown;
  Json json;
  std::string text;
  std::string dot;
  std::optional<File> certificate{};
};
Answer answer_of(Plan const& plan, PlanOptions const& options, std::string const& file) {
  return {plan.verdict, to_json(plan, options), to_text(plan, options, file), plan.dot};
}
Answer answer_of(SegmentPlan const& plan, std::string const& file) {
  return {plan.verdict, to_json(plan), to_text(plan, file), ""};
}

SymbolicOptions symbolic_options(PlanRequest const& request, PlanOptions const& options) {
  SymbolicOptions symbolic{.symbols = request.symbols, .params = options.params, .degree = request.degree};
  // A value for one of them is for the plan of these parameters.
  for (std::string const& symbol : request.symbols) symbolic.params.erase(symbol);
  return symbolic;
}

/// What is proven for all values, beside what is exact for these. Where these fit, the answer is the one for all.
void add_symbolic(Answer& answer, PlanRequest const& request, SymbolicPlan const& plan) {
  if (answer.verdict == Verdict::fits && plan.outcome == Outcome::unknown) answer.verdict = Verdict::unknown;
  if (answer.verdict == Verdict::fits && plan.outcome == Outcome::disproven) answer.verdict = Verdict::deadlock;
  Json bound = Json::object();
  for (std::size_t s = 0; s < plan.bound.size(); ++s) bound[plan.streams[s]] = plan.bound[s];
  answer.json["verdict"] = name_of(answer.verdict);
  if (plan.outcome == Outcome::disproven) answer.json["feasible"] = false;
  answer.json["bound"] = plan.bound.empty() ? Json(nullptr) : std::move(bound);
  answer.json["proof"] = name_of(plan.outcome);
  answer.json["proof_range"] = plan.range;
  answer.json["proof_why"] = plan.why;
  if (plan.outcome == Outcome::proven) answer.json["proven_for"] = plan.range;
  std::ostringstream text;
  text << request.file << ": for all values " << name_of(plan.outcome)
       << (plan.range.empty() ? "" : " (" + plan.range + ")") << "\n";
  auto const line = [&](std::string const& name, std::string const& value) {
    text << "  " << std::left << std::setw(20) << name << value << "\n";
  };
  std::string all;
  for (std::size_t s = 0; s < plan.bound.size(); ++s)
    all += (s == 0 ? "" : ", ") + plan.streams[s] + " " + plan.bound[s];
  if (!all.empty()) line(plan.outcome == Outcome::proven ? "capacities" : "guessed", all);
  if (!plan.why.empty()) line("why", plan.why);
  answer.text += text.str();
  if (!request.certificate.empty() && plan.outcome == Outcome::proven)
    answer.certificate = {request.certificate, plan.certificate};
}

void refuse_for_segments(Options const& command) {
  for (char const* name : {"--param", "--front", "--dot", "--symbolic", "--degree", "--certificate"}) {
    if (command.given(name)) throw BadInput{std::string{name} + ": not for a segment"};
  }
}

void add_plan_options(Options& command, PlanRequest& request) {
  command.add_option("file", request.file, "the program, JSON as docs/planner.md describes it").type_name("FILE");
  command.add_option("--memory", request.memory, "what the streams may take together").type_name("64MiB");
  command.add_option("--param", request.params, "a parameter's value, in the place of the file's; repeatable")
      .type_name("N=64")
      .one_at_a_time();
  command.add_flag("--front", request.front, "also the front of memory against makespan");
  command.add_option("--json", request.json, "print one JSON object, or write it to FILE")
      .type_name("[FILE|-]")
      .expected(0, 1);
  command.add_flag("--dot", request.dot, "print tasks and streams in Graphviz' dot language instead");
  command.add_option("--symbolic", request.symbols, "also capacities for all values of this parameter; repeatable")
      .type_name("N")
      .one_at_a_time();
  command.add_option("--degree", request.degree, "of the proof's polynomials, at most: 1 to 3 (2)").type_name("2");
  command.add_option("--certificate", request.certificate, "write the proof to FILE").type_name("FILE");
  command.footer("Ends with 0 when it fits, 1 when it does not or cannot run, 2 for bad input, 3 when it cannot tell.");
}

int run_plan(Options const& command, PlanRequest const& request) {
  if (request.file.empty()) throw BadInput{"plan needs a file (hiway plan --help)"};
  PlanOptions options;
  if (command.given("--memory")) options.memory_bytes = parse_bytes("--memory", request.memory);
  options.params = parse_params(request.params);
  options.memory_vs_makespan = request.front;
  bool const as_json = command.given("--json");
  bool const to_file = as_json && !request.json.empty() && request.json != "-";
  if (as_json && !to_file && request.dot) throw BadInput{"--dot and --json both print: give --json a file"};
  if (to_file) require_writable("--json", request.json);
  bool const symbolic = !request.symbols.empty();
  for (char const* name : {"--degree", "--certificate"}) {
    if (!symbolic && command.given(name)) throw BadInput{std::string{name} + ": goes with --symbolic"};
  }
  if (!request.certificate.empty()) require_writable("--certificate", request.certificate);
  std::string const file = read_text(request.file, most_bytes);
  Answer answer;
  try {
    std::optional<SegmentProgram> const segment = read_segment(file);
    if (segment) {
      refuse_for_segments(command);
      answer = answer_of(plan_segment(*segment, options.memory_bytes), request.file);
    } else {
      Program const program = read_program(file);
      answer = answer_of(make_plan(program, options), options, request.file);
      if (symbolic) add_symbolic(answer, request, make_symbolic_plan(program, symbolic_options(request, options)));
    }
  } catch (hiway::ConfigError const& error) {
    throw BadInput{request.file + ": " + error.what()};
  }
  std::string const json = as_json ? answer.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : "";
  bool all_written = !answer.certificate || write_or_say(*answer.certificate);
  if (to_file) all_written = write_or_print(request.json, json) && all_written;
  if (request.dot) {
    print(answer.dot);
  } else if (as_json && !to_file) {
    print(json);
  } else if (!as_json) {
    print(answer.text);
  }
  return all_written ? exit_code(answer.verdict) : 1;
}

class PlanCommand final : public Command {
 public:
  std::string name() const override { return "plan"; }
  std::string summary() const override {
    return "what capacities a program of tasks and streams needs, and why less deadlocks";
  }
  void add_options(Options& command) override { add_plan_options(command, request_); }
  int run(Options const& command, std::string const& /*line*/) override { return run_plan(command, request_); }

 private:
  PlanRequest request_;
};

}  // namespace

std::unique_ptr<Command> make_plan_command() { return std::make_unique<PlanCommand>(); }

}  // namespace cli
