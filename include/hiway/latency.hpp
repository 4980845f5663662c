// Latency: how long sampled items take on a path through a pipeline. The item carries a stamp from begin to end.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "hiway/report.hpp"

namespace hiway {

/// Put it into items, all or some, as a member. Stages copy it along, also on a GPU.
struct Stamp {
  std::int64_t ns = 0;  ///< the CPU's steady clock at the beginning; 0: not sampled
};

/// The latency of one path, from Pipeline::create_latency. *Threads*: any CPU threads, at once.
class Latency {
 public:
  /// One of `every` items is sampled; 0 counts as 1.
  Latency(std::string path, unsigned every) : path_(std::move(path)), every_(every == 0 ? 1 : every) {}

  [[nodiscard]] Stamp begin_h();
  /// Does nothing if the stamp was not sampled.
  void end_h(Stamp stamp);

  [[nodiscard]] LatencyReport report() const;
  /// Forgets all samples.
  void reset();

 private:
  static constexpr std::size_t most_samples = std::size_t{1} << 16;

  std::string path_;
  std::uint64_t every_;
  std::atomic<std::uint64_t> begun_{0};
  mutable std::mutex mutex_;
  std::vector<std::int64_t> samples_;  ///< in ns; if there were more than fit, each was equally likely to stay
  std::uint64_t ended_ = 0;
  std::int64_t least_ = 0;
  std::int64_t most_ = 0;
  std::uint64_t random_ = 1;
};

}  // namespace hiway
