// Gathering: what each node has found, brought to node 0 by a pipeline of its own.
#pragma once
#include <array>
#include <cstddef>
#include <cstdlib>
#include <hiway/pipeline.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/job.hpp"

namespace cli {

/// While it lives, pipelines write no trace and no numbers: these are asked for of the work, not of its end.
class Unobserved {
 public:
  Unobserved() {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (char const* const value = std::getenv(names[i])) values_[i] = value;
      unsetenv(names[i]);
    }
  }
  ~Unobserved() {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (values_[i]) setenv(names[i], values_[i]->c_str(), 1);
    }
  }
  Unobserved(Unobserved const&) = delete;
  Unobserved& operator=(Unobserved const&) = delete;

 private:
  static constexpr std::array names{"HIWAY_TRACE", "HIWAY_STATS", "HIWAY_WATCH"};
  std::array<std::optional<std::string>, names.size()> values_;
};

/// *Threads*: one. All nodes make it and call it in the same order.
template <class T>
class Gathering {
 public:
  explicit Gathering(Job const& job) : node_(job.node()), pipe_(job.pipeline()), all_(job.nodes()) {
    auto& found = pipe_.create_tunnel<Found>("found", hiway::Direction::cpu_to_cpu);
    pipe_.add_cpu_stage("send",
                        [this](hiway::Inlet<Found> out) {
                          for (T const& value : own_) out.put_h(Found{node_, value});
                        },
                        hiway::into(found), {.nodes = hiway::all_nodes});
    pipe_.add_cpu_stage(
        "gather", [this](Found const& f) { all_[f.node].push_back(f.value); }, hiway::from(found));
    pipe_.prepare();
  }
  Gathering(Gathering const&) = delete;
  Gathering& operator=(Gathering const&) = delete;

  /// What each node gave, by its number and in its order; on other nodes than 0 nothing. *Waits*: for all nodes.
  std::vector<std::vector<T>> const& run(std::span<T const> own) {
    Unobserved const unobserved;
    own_ = own;
    for (std::vector<T>& values : all_) values.clear();
    pipe_.run();
    return all_;
  }

 private:
  struct Found {
    unsigned node;
    T value;
  };

  unsigned node_;
  hiway::Pipeline pipe_;
  std::span<T const> own_;
  std::vector<std::vector<T>> all_;
};

}  // namespace cli
