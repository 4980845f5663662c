// Random small programs: the planner against the simulator over the whole box of capacities. HIWAY_SEED: the first seed;
// HIWAY_PLANS: how many.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "hiway/plan/plan.hpp"
#include "lib/text.hpp"
#include "tests/environment.hpp"
#include "tests/plan/simulator.hpp"

namespace {

using namespace hiway_tests;
namespace plan = hiway::plan;
using plan::Capacities;

using Kind = SmallOperation::Kind;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  SmallProgram operator()() {
    program_.fifo = below(3) == 0;
    program_.drop = below(2) == 0;
    bool const trading = below(3) == 0;
    int const streams = trading ? 2 : 1 + below(3);
    for (int s = 0; s < streams; ++s) {
      program_.elem_bytes.push_back(1 + below(3));
      program_.initial.push_back(std::max(0, below(6) - 3));
    }
    written_ = program_.initial;
    read_.assign(written_.size(), 0);
    needed_.assign(written_.size(), 0);
    trading ? add_trading() : add_scattered();
    if (below(10) > 0) add_missing();
    return program_;
  }

 private:
  static constexpr int longest = 9;  // streams: the box of capacities stays small

  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  void add(SmallTask& task, Kind kind, int stream, int count, int beyond = 0) {
    auto const s = static_cast<std::size_t>(stream);
    if (kind == Kind::write) {
      if (written_[s] + count > longest) return;
      written_[s] += count;
    } else {
      if (read_[s] + count + beyond > longest) return;
      needed_[s] = std::max(needed_[s], read_[s] + count + beyond);
      if (kind == Kind::read) read_[s] += count;
    }
    task.operations.push_back({kind, stream, count, count + beyond});
  }

  /// Any operations in any order.
  void add_scattered() {
    int const streams = static_cast<int>(written_.size());
    int const most = streams == 1 ? 7 : 4;
    int const processes = below(3);
    for (int t = 1 + below(10); t > 0; --t) {
      SmallTask task;
      task.process = below(processes + 1) - 1;
      task.cost = below(4);
      for (int o = 1 + below(3); o > 0; --o) {
        Kind const kind = below(2) == 0 ? Kind::write : below(5) == 0 ? Kind::peek : Kind::read;
        int const stream = below(streams);  // one draw after the other: a seed means the same with every compiler
        int const count = below(most);
        add(task, kind, stream, count, kind == Kind::read && below(4) == 0 ? below(3) : 0);
      }
      program_.tasks.push_back(task);
    }
  }
  /// Tasks that read one of two streams and write the other: one stream's room can be traded for the other's.
  void add_trading() {
    for (int stream : {0, 1}) {
      SmallTask source{{}, -1, below(4)};
      add(source, Kind::write, stream, 1 + below(3));
      program_.tasks.push_back(source);
    }
    for (int t = 2 + below(4); t > 0; --t) {
      SmallTask task{{}, -1, below(4)};
      add(task, Kind::write, t % 2, 1 + below(3));
      add(task, Kind::read, 1 - t % 2, 1 + below(3));
      program_.tasks.push_back(task);
    }
    for (int stream : {0, 1}) {
      auto const s = static_cast<std::size_t>(stream);
      SmallTask sink{{}, -1, below(4)};
      add(sink, Kind::read, stream, std::max(0, written_[s] - read_[s]));
      program_.tasks.push_back(sink);
    }
  }
  /// Most programs would starve: somebody writes what is missing, anywhere.
  void add_missing() {
    for (std::size_t s = 0; s < written_.size(); ++s) {
      for (int left = needed_[s] - written_[s]; left > 0;) {
        int const count = std::min(left, 1 + below(4));
        SmallTask const writer{{{Kind::write, static_cast<int>(s), count, 0}}};
        program_.tasks.insert(program_.tasks.begin() + below(static_cast<int>(program_.tasks.size()) + 1), writer);
        left -= count;
      }
    }
  }

  std::mt19937_64 random_;
  SmallProgram program_;
  std::vector<int> written_;  // one a stream
  std::vector<int> read_;
  std::vector<int> needed_;  // as far as somebody looks
};

std::string name(int stream) { return hiway::numbered("s", stream); }

plan::Program planned(SmallProgram const& small) {
  plan::Program program;
  for (std::size_t s = 0; s < small.initial.size(); ++s)
    program.streams.push_back({name(static_cast<int>(s)), small.elem_bytes[s], {}, small.initial[s]});
  for (SmallTask const& one : small.tasks) {
    plan::Task task{"t", {}, one.process < 0 ? "" : hiway::numbered("p", one.process), one.cost};
    for (SmallOperation const& op : one.operations) {
      plan::Operation operation = op.kind == Kind::write  ? plan::write(name(op.stream), op.count)
                                  : op.kind == Kind::read ? plan::read(name(op.stream), op.count)
                                                          : plan::peek(name(op.stream), op.count);
      if (op.horizon != op.count && op.kind == Kind::read) operation.horizon = op.horizon;
      task.operations.push_back(operation);
    }
    program.body.push_back({task});
  }
  program.discipline = small.fifo ? plan::Discipline::fifo : plan::Discipline::indexed;
  program.leftover = small.drop ? plan::Leftover::drop : plan::Leftover::hold;
  return program;
}

bool at_least(Capacities const& a, Capacities const& b) {
  return std::ranges::equal(a, b, std::ranges::greater_equal{});
}

/// What the simulator says about every vector of capacities up to where room ends to matter.
struct Box {
  explicit Box(SmallProgram const& program) : program_(program), simulator_(program) {
    visit({});
    for (auto const& [v, span] : works) {
      bool const least =
          std::ranges::none_of(works, [&](auto const& w) { return w.first != v && at_least(v, w.first); });
      if (least) least_ones.emplace_back(bytes(v), v);
    }
    std::ranges::sort(least_ones);
  }
  void visit(Capacities v) {
    if (v.size() == program_.initial.size()) {
      if (auto const span = simulator_.makespan(v)) works[v] = *span;
      return;
    }
    v.push_back(0);
    for (int const top = simulator_.written(v.size() - 1); v.back() <= top; ++v.back()) visit(v);
  }
  [[nodiscard]] std::int64_t bytes(Capacities const& v) const {
    std::int64_t sum = 0;
    for (std::size_t s = 0; s < v.size(); ++s) sum += v[s] * program_.elem_bytes[s];
    return sum;
  }
  [[nodiscard]] std::int64_t own_minimum(std::size_t stream) const {
    std::int64_t least = simulator_.written(stream);
    for (auto const& [v, span] : works) least = std::min(least, v[stream]);
    return least;
  }
  /// Bytes and makespan, neither of which can be bettered alone.
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> trades() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (auto const& [v, span] : works) all.emplace_back(bytes(v), span);
    std::ranges::sort(all);
    std::vector<std::pair<std::int64_t, std::int64_t>> front;
    for (auto const& one : all) {
      if (front.empty() || one.second < front.back().second) front.push_back(one);
    }
    return front;
  }

  std::map<Capacities, std::int64_t> works;  // with the makespan
  std::vector<std::pair<std::int64_t, Capacities>> least_ones;

 private:
  SmallProgram const& program_;
  Simulator simulator_;
};

/// What the planner says that the box does not, or "".
std::string difference(plan::Plan const& plan, Box const& box) {
  std::ostringstream out;
  if (plan.feasible != !box.works.empty()) {
    out << "feasible is " << plan.feasible << " (" << plan.why << ")";
    return out.str();
  }
  if (!plan.feasible) return "";
  if (!plan.pareto_exhausted || !plan.trades_exhausted) return "not exhausted";
  std::vector<std::pair<std::int64_t, Capacities>> corners;
  for (plan::Corner const& corner : plan.pareto) {
    corners.emplace_back(corner.bytes, corner.capacities);
    if (auto const at = box.works.find(corner.capacities); at == box.works.end() || at->second != corner.makespan)
      out << "a corner's makespan " << corner.makespan << "; ";
  }
  if (corners != box.least_ones) out << corners.size() << " corners for " << box.least_ones.size() << "; ";
  for (std::size_t s = 0; s < plan.min.size(); ++s) {
    if (plan.min[s] != box.own_minimum(s)) out << "min of s" << s << " is " << plan.min[s] << "; ";
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> trades;
  for (plan::Trade const& trade : plan.trades) trades.emplace_back(trade.bytes, trade.makespan);
  if (trades != box.trades()) out << trades.size() << " trades for " << box.trades().size() << "; ";
  if (plan.min_bytes != box.least_ones.front().first) out << "min_bytes; ";
  return out.str();
}

std::string line_of(SmallProgram const& program) {
  std::ostringstream out;
  out << (program.fifo ? "fifo" : "indexed") << (program.drop ? " drop" : " hold") << " initial";
  for (int initial : program.initial) out << " " << initial;
  for (SmallTask const& task : program.tasks) {
    out << " | p" << task.process << " cost " << task.cost;
    for (SmallOperation const& op : task.operations)
      out << " "
          << "wrp"[static_cast<int>(op.kind)] << op.stream << ":" << op.count << "/" << op.horizon;
  }
  return out.str();
}

TEST(RandomPlans, AgreeWithTheSimulatorOverTheWholeBox) {
  std::uint64_t const first = from_environment("HIWAY_SEED", 1);
  std::uint64_t const count = from_environment("HIWAY_PLANS", 20000);
  std::map<std::string, int> verdicts;
  int several_corners = 0;
  for (std::uint64_t seed = first; seed != first + count; ++seed) {
    SmallProgram const small = Generator(seed)();
    plan::Plan const plan = plan::make_plan(planned(small), {.memory_vs_makespan = true});
    ++verdicts[name_of(plan.verdict)];
    several_corners += plan.pareto.size() > 1 ? 1 : 0;
    std::string const what = difference(plan, Box(small));
    ASSERT_EQ(what, "") << "HIWAY_SEED=" << seed << " HIWAY_PLANS=1: " << line_of(small);
  }
  std::cout << count << " programs: " << verdicts["fits"] << " run, " << several_corners
            << " of them with several corners, " << verdicts["deadlock"] << " deadlock, " << verdicts["starved"]
            << " starve" << std::endl;
  if (count >= 1000) {  // the programs are worth something
    EXPECT_GT(verdicts["fits"], static_cast<int>(count / 4));
    EXPECT_GT(several_corners, static_cast<int>(count / 50));
    EXPECT_GT(verdicts["deadlock"], 0);
    EXPECT_GT(verdicts["starved"], 0);
  }
}

}  // namespace
