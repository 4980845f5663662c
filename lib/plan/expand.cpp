#include "lib/plan/expand.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "hiway/error.hpp"
#include "lib/json.hpp"
#include "lib/plan/expression.hpp"
#include "lib/text.hpp"

namespace hiway::plan {
namespace {

constexpr std::int64_t max_work = 40'000'000;  // loop iterations, also without tasks, and operations
constexpr std::size_t max_depth = 100;

std::string at(std::string const& pointer, std::size_t index) { return pointer + "/" + std::to_string(index); }

/// Walks the body twice: `compile` reads every expression once, in its scope, and checks every name; `run` then creates
/// the tasks.
class Expander {
 public:
  Expander(Program const& program, Parameters const& params) : program_(program) {
    tasks_.params = program.params;
    for (auto const& [name, value] : params) {
      auto const own = tasks_.params.find(name);
      if (own == tasks_.params.end()) throw ConfigError{"no parameter '" + name + "' in the program"};
      own->second = value;
    }
    for (auto const& [name, value] : tasks_.params) {
      if (!is_name(name)) throw ConfigError{"/params: '" + name + "' is no name for an expression"};
    }
  }

  Tasks whole() {
    add_streams();
    Steps const body = compile(program_.body, "/body");
    run(body);
    check_sums();
    return std::move(tasks_);
  }

 private:
  struct Step;
  using Steps = std::vector<Step>;
  struct OperationStep {
    Access access;
    std::size_t stream;
    std::vector<Formula> index;
    Formula count;
    std::optional<Formula> horizon;
    std::string pointer;
    Place place;
  };
  struct TaskStep {
    std::uint32_t definition;
    std::uint32_t process;
    Formula cost;
    std::vector<OperationStep> operations;
  };
  struct ForStep {
    std::string variable;
    Formula from, to, step;
    Steps body;
  };
  struct IfStep {
    Formula condition;
    Steps then, otherwise;
  };
  struct Step {
    std::variant<TaskStep, ForStep, IfStep> is;
    std::string pointer;
    Place place;
  };
  struct Shape {
    std::size_t first_channel;
    std::vector<std::int64_t> dims;
  };

  [[noreturn]] void fail(Place place, std::string const& pointer, std::string const& what) const {
    fail_at(place, pointer, what + values_of_loops());
  }
  /// " (i=3, k=0)": where the loops are.
  [[nodiscard]] std::string values_of_loops() const {
    std::string text;
    for (std::size_t i = 0; i < slots_.size(); ++i)
      text += (i == 0 ? " (" : ", ") + *running_[i] + "=" + std::to_string(slots_[i]);
    return text.empty() ? text : text + ")";
  }

  Formula formula(Expression const& expression, std::string const& pointer) const {
    auto const meaning = [this](std::string_view name) -> std::optional<Meaning> {
      auto const variable = std::ranges::find(variables_, name);
      if (variable != variables_.end()) return Meaning{Meaning::Kind::slot, variable - variables_.begin()};
      auto const param = tasks_.params.find(std::string{name});
      if (param != tasks_.params.end()) return Meaning{Meaning::Kind::number, param->second};
      return std::nullopt;
    };
    auto const names = [this] {
      std::vector<std::string> all;
      for (auto const& [name, value] : tasks_.params) all.push_back(name);
      all.insert(all.end(), variables_.begin(), variables_.end());
      return all;
    };
    return {expression, pointer, {meaning, names}};
  }
  /// The formula's value, which must lie between `least` and `most`.
  std::int64_t bounded(Formula const& f, std::int64_t least, std::int64_t most, char const* what) const {
    std::int64_t const value = f.value(slots_);
    if (value >= least && value <= most) return value;
    f.fail(std::to_string(value) + " " + what + values_of_loops());
  }

  // ---- streams
  void add_streams() {
    for (std::size_t s = 0; s < program_.streams.size(); ++s) {
      Stream const& stream = program_.streams[s];
      std::string const pointer = at("/streams", s);
      for (std::size_t other = 0; other < s; ++other) {
        if (program_.streams[other].name == stream.name)
          fail(stream.place, pointer, "there are two streams '" + stream.name + "'");
      }
      tasks_.elem_bytes.push_back(
          bounded(formula(stream.elem_bytes, pointer + "/elem_bytes"), 1, std::int64_t{1} << 40, "bytes"));
      std::int64_t const initial =
          bounded(formula(stream.initial, pointer + "/initial"), 0, max_elements, "elements at the start");
      Shape shape{tasks_.channels.size(), {}};
      std::int64_t count = 1;
      for (std::size_t d = 0; d < stream.dims.size(); ++d) {
        shape.dims.push_back(bounded(formula(stream.dims[d], at(pointer + "/dims", d)), 0, max_tasks, "streams"));
        count *= shape.dims.back();
        if (count + static_cast<std::int64_t>(tasks_.channels.size()) > max_tasks)
          fail(stream.place, pointer, "more than " + std::to_string(max_tasks) + " streams");
      }
      for (std::int64_t c = 0; c < count; ++c) {
        tasks_.channels.push_back(
            {static_cast<std::uint32_t>(s), stream.name + index_text(shape.dims, c), initial, initial, 0});
      }
      tasks_.channels_of.push_back(count);
      shapes_.push_back(std::move(shape));
    }
  }
  static std::string index_text(std::vector<std::int64_t> const& dims, std::int64_t channel) {
    std::string text;
    for (std::size_t d = dims.size(); d-- > 0; channel /= dims[d])
      text = numbered(d == 0 ? "[" : ",", channel % dims[d]) + text;
    return text.empty() ? text : text + "]";
  }

  // ---- compile
  Steps compile(Body const& body, std::string const& pointer) {
    if (variables_.size() > max_depth || ++depth_ > max_depth)
      fail(body.empty() ? Place{} : body.front().place, pointer, "nested more than 100 deep");
    Steps steps;
    for (Node const& node : body) {
      std::string const own = at(pointer, steps.size());
      steps.push_back(
          {std::visit([&](auto const& is) { return compile_one(is, node.place, own); }, node.is), own, node.place});
    }
    --depth_;
    return steps;
  }
  using Compiled = std::variant<TaskStep, ForStep, IfStep>;

  Compiled compile_one(Task const& task, Place, std::string const& pointer) {
    TaskStep step{
        static_cast<std::uint32_t>(tasks_.definitions.size()), no_process, formula(task.cost, pointer + "/cost"), {}};
    tasks_.definitions.push_back({task.name, variables_});
    if (!task.process.empty()) {
      auto const known = std::ranges::find(tasks_.processes, task.process);
      step.process = static_cast<std::uint32_t>(known - tasks_.processes.begin());
      if (known == tasks_.processes.end()) tasks_.processes.push_back(task.process);
    }
    for (std::size_t o = 0; o < task.operations.size(); ++o) {
      step.operations.push_back(compile_operation(task.operations[o], at(pointer + "/ops", o)));
    }
    return step;
  }
  OperationStep compile_operation(Operation const& operation, std::string const& pointer) {
    auto const stream = std::ranges::find(program_.streams, operation.stream, &Stream::name);
    if (stream == program_.streams.end())
      fail(operation.place, pointer + "/stream", "no stream '" + operation.stream + "'");
    char const* const name = operation.access == Access::write  ? "/write"
                             : operation.access == Access::read ? "/read"
                                                                : "/peek";
    OperationStep step{operation.access,
                       static_cast<std::size_t>(stream - program_.streams.begin()),
                       {},
                       formula(operation.count, pointer + name),
                       {},
                       pointer,
                       operation.place};
    if (operation.index.size() != stream->dims.size()) {
      fail(operation.place, pointer,
           "stream '" + operation.stream + "' has " + std::to_string(stream->dims.size()) + " dims, and " +
               std::to_string(operation.index.size()) + " are given in 'index'");
    }
    for (std::size_t d = 0; d < operation.index.size(); ++d)
      step.index.push_back(formula(operation.index[d], at(pointer + "/index", d)));
    if (operation.horizon) step.horizon = formula(*operation.horizon, pointer + "/horizon");
    return step;
  }
  Compiled compile_one(For const& loop, Place place, std::string const& pointer) {
    if (!is_name(loop.variable)) fail(place, pointer + "/for", "'" + loop.variable + "' is no name");
    if (std::ranges::find(variables_, loop.variable) != variables_.end() || tasks_.params.contains(loop.variable))
      fail(place, pointer + "/for", "'" + loop.variable + "' is already a parameter or an outer loop's variable");
    ForStep step{loop.variable,
                 formula(loop.from, pointer + "/from"),
                 formula(loop.to, pointer + "/to"),
                 formula(loop.step, pointer + "/step"),
                 {}};
    variables_.push_back(loop.variable);
    step.body = compile(loop.body, pointer + "/body");
    variables_.pop_back();
    return step;
  }
  Compiled compile_one(If const& branch, Place, std::string const& pointer) {
    return IfStep{formula(branch.condition, pointer + "/if"), compile(branch.then, pointer + "/then"),
                  compile(branch.otherwise, pointer + "/else")};
  }

  // ---- run
  void run(Steps const& steps) {
    for (Step const& step : steps) {
      std::visit([&](auto const& is) { run_one(is, step); }, step.is);
    }
  }
  void run_one(ForStep const& loop, Step const& step) {
    std::int64_t const from = bounded(loop.from, -max_elements, max_elements, "as a loop's bound");
    std::int64_t const to = bounded(loop.to, -max_elements, max_elements, "as a loop's bound");
    std::int64_t const step_by = bounded(loop.step, 1, INT64_MAX, "as step: the loop would not end");
    std::int64_t const by = std::min(step_by, 2 * max_elements);  // every step beyond the end has the same effect
    for (std::int64_t i = from; i < to; i += by) {
      count_work(step.place, step.pointer);
      slots_.push_back(i);
      running_.push_back(&loop.variable);
      run(loop.body);
      slots_.pop_back();
      running_.pop_back();
    }
  }
  void run_one(IfStep const& branch, Step const&) {
    run(branch.condition.value(slots_) != 0 ? branch.then : branch.otherwise);
  }
  void run_one(TaskStep const& task, Step const& step) {
    if (tasks_.size() == max_tasks) fail(step.place, step.pointer, "more than " + std::to_string(max_tasks) + " tasks");
    auto const number = static_cast<std::uint32_t>(tasks_.size());
    tasks_.definition.push_back(task.definition);
    tasks_.process.push_back(task.process);
    tasks_.cost.push_back(bounded(task.cost, 0, max_elements, "as cost"));
    tasks_.first_value.push_back(tasks_.values.size());
    tasks_.values.insert(tasks_.values.end(), slots_.begin(), slots_.end());
    for (OperationStep const& operation : task.operations) operate(number, operation);
  }
  void count_work(Place place, std::string const& pointer) {
    if (++work_ > max_work)
      fail(place, pointer, "more than " + std::to_string(max_work) + " loop iterations and operations");
  }
  void operate(std::uint32_t task, OperationStep const& operation) {
    count_work(operation.place, operation.pointer);
    Channel& channel = tasks_.channels[channel_of(operation)];
    std::int64_t const count = bounded(operation.count, 0, max_elements, "elements");
    if (operation.access == Access::write) {
      if (count == 0) return;
      if (channel.writes.empty() || channel.writes.back().task != task)
        channel.writes.push_back({task, channel.written, 0});
      channel.writes.back().count += count;
      channel.written += count;
    } else {
      std::int64_t reach = count;
      if (operation.horizon)
        reach = bounded(*operation.horizon, count, max_elements, "as horizon, which must reach over all elements read");
      if (reach == 0) return;
      if (channel.reads.empty() || channel.reads.back().task != task)
        channel.reads.push_back({task, channel.read, 0, 0});
      Read& read = channel.reads.back();
      if (operation.access == Access::read) {
        read.count += count;
        channel.read += count;
      }
      read.reach = std::max({read.reach, reach, read.count});
    }
    if (std::max(channel.written, channel.read) > max_elements)
      fail(operation.place, operation.pointer, "more than 2^40 elements of '" + channel.name + "'");
  }
  [[nodiscard]] std::size_t channel_of(OperationStep const& operation) const {
    Shape const& shape = shapes_[operation.stream];
    std::size_t offset = 0;
    for (std::size_t d = 0; d < shape.dims.size(); ++d) {
      std::int64_t const index = operation.index[d].value(slots_);
      if (index < 0 || index >= shape.dims[d]) {
        operation.index[d].fail("index " + std::to_string(index) + " of '" + program_.streams[operation.stream].name +
                                "' is not within 0 to " + std::to_string(shape.dims[d] - 1) + values_of_loops());
      }
      offset = offset * static_cast<std::size_t>(shape.dims[d]) + static_cast<std::size_t>(index);
    }
    return shape.first_channel + offset;
  }
  /// No sum of bytes or of costs may need more than 64 bits.
  void check_sums() const {
    std::vector<std::int64_t> most(program_.streams.size(), 0);
    for (Channel const& channel : tasks_.channels)
      most[channel.stream] = std::max(most[channel.stream], channel.written);
    double bytes = 0;
    for (std::size_t s = 0; s < most.size(); ++s) {
      bytes += static_cast<double>(tasks_.elem_bytes[s]) * static_cast<double>(tasks_.channels_of[s]) *
               static_cast<double>(most[s]);
    }
    if (bytes > 0x1p62) throw ConfigError{"/streams: the streams together take more than 2^62 bytes"};
  }

  Program const& program_;
  Tasks tasks_;
  std::vector<Shape> shapes_;
  std::vector<std::string> variables_;  // of the loops around what is compiled
  std::size_t depth_ = 0;
  std::vector<std::int64_t> slots_;  // the loop variables' values while running
  std::vector<std::string const*> running_;
  std::int64_t work_ = 0;
};

}  // namespace

std::string Tasks::label(std::uint32_t task) const {
  Definition const& own = definitions[definition[task]];
  std::string text = own.name;
  for (std::size_t i = 0; i < own.variables.size(); ++i)
    text += (i == 0 ? "(" : ",") + own.variables[i] + "=" + std::to_string(values[first_value[task] + i]);
  return own.variables.empty() ? text : text + ")";
}

Tasks expand(Program const& program, Parameters const& params) { return Expander(program, params).whole(); }

}  // namespace hiway::plan
