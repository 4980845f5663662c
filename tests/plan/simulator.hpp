// An oracle for the planner: small programs without loops, and a simulator that goes through them element by element, as
// the definitions read. It shares nothing with lib/plan.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hiway_tests {

struct SmallOperation {
  enum class Kind { write, read, peek };
  Kind kind;
  int stream;
  int count;
  int horizon;  // read: at least count; peek: count
};
struct SmallTask {
  std::vector<SmallOperation> operations;
  int process = -1;  // none
  int cost = 1;
};
struct SmallProgram {
  std::vector<int> elem_bytes;
  std::vector<int> initial;
  std::vector<SmallTask> tasks;
  bool fifo = false;
  bool drop = false;
};

class Simulator {
 public:
  explicit Simulator(SmallProgram const& program) : program_(program) {
    for (std::size_t s = 0; s < program.initial.size(); ++s) {
      Windows windows;
      windows.written = program.initial[s];
      for (SmallTask const& task : program.tasks) {
        // W and R: the sums of the tasks created before it.
        Window w{windows.written, 0, 0};
        Window r{windows.read, 0, 0};
        for (SmallOperation const& op : task.operations) {
          if (op.stream != static_cast<int>(s)) continue;
          if (op.kind == SmallOperation::Kind::write) {
            w.elements += op.count;
          } else {
            r.elements = std::max(r.elements, op.horizon);
            if (op.kind == SmallOperation::Kind::read) r.burst += op.count;
          }
        }
        r.elements = std::max(r.elements, r.burst);
        windows.written += w.elements;
        windows.read += r.burst;
        windows.write_of.push_back(w);
        windows.read_of.push_back(r);
      }
      streams_.push_back(windows);
    }
  }

  /// Elements ever written: with so much room nobody waits for it.
  [[nodiscard]] int written(std::size_t stream) const { return streams_[stream].written; }

  /// When the last task ends, each starting as early as it can; nothing when some task never runs.
  [[nodiscard]] std::optional<std::int64_t> makespan(std::vector<std::int64_t> const& capacities) const {
    std::vector<std::int64_t> ends(program_.tasks.size(), -1);  // -1: has not started
    std::vector<bool> ended(program_.tasks.size(), false);
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      for (int e = 0; e < program_.initial[s]; ++e) {
        if (!has_room(s, e, capacities[s], ended)) return std::nullopt;
      }
    }
    std::int64_t last = 0;
    for (std::int64_t now = 0;;) {
      for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t t = 0; t < ends.size(); ++t) {
          if (ends[t] == -1 && can_start(t, capacities, ended)) {
            ends[t] = now + program_.tasks[t].cost;
            changed = true;
          }
          if (ends[t] != -1 && ends[t] <= now && !ended[t]) {
            ended[t] = true;
            changed = true;
          }
        }
      }
      std::int64_t next = -1;
      for (std::size_t t = 0; t < ends.size(); ++t) {
        if (ends[t] != -1 && !ended[t] && (next == -1 || ends[t] < next)) next = ends[t];
      }
      if (next == -1) break;
      last = now = next;
    }
    if (std::ranges::find(ended, false) != ended.end()) return std::nullopt;
    return last;
  }

 private:
  struct Window {
    int first;
    int elements;
    int burst;
  };
  struct Windows {
    int written = 0;
    int read = 0;
    std::vector<Window> write_of;  // one a task; of no elements: it does not use the stream so
    std::vector<Window> read_of;
  };

  /// Nobody needs element e any more.
  [[nodiscard]] bool released(std::size_t s, int e, std::vector<bool> const& ended) const {
    if (!program_.drop && e >= streams_[s].read) return false;
    for (std::size_t t = 0; t < ended.size(); ++t) {
      Window const& r = streams_[s].read_of[t];
      if (r.elements > 0 && r.first <= e && !ended[t]) return false;
    }
    return true;
  }
  /// Element e may be written: all elements up to e - capacity are released.
  [[nodiscard]] bool has_room(std::size_t s, int e, std::int64_t capacity, std::vector<bool> const& ended) const {
    for (int before = 0; before <= e - capacity; ++before) {
      if (!released(s, before, ended)) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_written(std::size_t s, int e, std::vector<bool> const& ended) const {
    if (e < program_.initial[s]) return true;
    for (std::size_t t = 0; t < ended.size(); ++t) {
      Window const& w = streams_[s].write_of[t];
      if (w.first <= e && e < w.first + w.elements) return ended[t];
    }
    return false;
  }
  [[nodiscard]] bool can_start(std::size_t task, std::vector<std::int64_t> const& capacities,
                               std::vector<bool> const& ended) const {
    for (std::size_t t = 0; t < task; ++t) {
      if (program_.tasks[task].process >= 0 && program_.tasks[t].process == program_.tasks[task].process && !ended[t])
        return false;
    }
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      Window const& w = streams_[s].write_of[task];
      Window const& r = streams_[s].read_of[task];
      for (std::size_t t = 0; program_.fifo && t < task; ++t) {
        if (w.elements > 0 && streams_[s].write_of[t].elements > 0 && !ended[t]) return false;
        if (r.elements > 0 && streams_[s].read_of[t].elements > 0 && !ended[t]) return false;
      }
      for (int e = r.first; e < r.first + r.elements; ++e) {
        if (!is_written(s, e, ended)) return false;
      }
      for (int e = w.first; e < w.first + w.elements; ++e) {
        if (!has_room(s, e, capacities[s], ended)) return false;
      }
    }
    return true;
  }

  SmallProgram const& program_;
  std::vector<Windows> streams_;
};

}  // namespace hiway_tests
