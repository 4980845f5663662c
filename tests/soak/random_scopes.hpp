// What random pipelines with random scopes share: scopes are opened one after the other, each with a fate, and each
// must end once, as its fate says.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include "hiway/pipeline.hpp"
#include "tests/device.hpp"

namespace hiway_tests {

enum class ScopeFate : std::uint8_t { ends_well, is_cancelled, is_failed, may_be_late };
/// How many of a scope's results have come.
enum class Came : std::uint8_t { all, fewer, wrong };

inline Came compared(std::uint64_t came, std::uint64_t expected) {
  return came == expected ? Came::all : came < expected ? Came::fewer : Came::wrong;
}

class RandomScopePipeline {
 protected:
  explicit RandomScopePipeline(unsigned seed, hiway::PipelineConfig const& config = quiet())
      : random_(seed), pipe_(config), most_open_(1 + random_() % 24) {
    jobs_ = &pipe_.create_scopes("jobs", {.most_open = most_open_});
    sums_ = std::vector<std::atomic<std::uint64_t>>(most_open_);
  }
  /// Calls `open_one()` for each of `scopes`, closes `in`, and waits for the run's end.
  template <class Item, class OpenOne>
  void run_scopes(unsigned scopes, hiway::Inlet<Item> const& in, OpenOne open_one) {
    pipe_.start();
    for (unsigned i = 0; i < scopes; ++i) open_one();
    in.close_h();
    pipe_.wait();
    EXPECT_EQ(ended_, scopes);
    EXPECT_EQ(wrong_, 0);
  }
  /// Puts the scope's items, and lets its fate come. `came()` is called at its end.
  template <class Item, class HasCome>
  void put_all(hiway::Scope job, ScopeFate fate, hiway::Inlet<Item> const& in, std::vector<Item> const& items,
               HasCome came) {
    if (fate == ScopeFate::may_be_late) job.set_deadline(std::chrono::microseconds(random_() % 2000));
    job.then([this, came, fate](std::exception_ptr const& error) {
      if (!is_right(fate, error != nullptr, came())) ++wrong_;
      ++ended_;
    });
    for (Item const& item : items) in.put_h(item, job);
    if (fate == ScopeFate::is_cancelled) job.cancel();
    if (coin()) job.close_h();
    if (random_() % 8 == 0) (void)job.wait_for(std::chrono::microseconds(200));
  }

  static hiway::PipelineConfig quiet() {
    hiway::PipelineConfig c = bounded();
    c.warn_of_cycles = false;
    return c;
  }
  static hiway::Direction between(bool from_gpu, bool to_gpu) {
    using hiway::Direction;
    if (from_gpu) return to_gpu ? Direction::gpu_to_gpu : Direction::gpu_to_cpu;
    return to_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu;
  }
  [[nodiscard]] bool coin() { return random_() % 2 != 0; }
  [[nodiscard]] ScopeFate random_fate() {
    unsigned const n = random_() % 10;
    return n < 3 ? static_cast<ScopeFate>(n + 1) : ScopeFate::ends_well;
  }
  [[nodiscard]] hiway::ScopedTunnelConfig tunnel() {
    using hiway::Movement;
    constexpr std::size_t capacities[] = {1, 2, 7, 64, 300};
    Movement const movements[] = {Movement::automatic, Movement::direct, Movement::dma};
    return {.capacity_items = capacities[random_() % 5],
            .movement = movements[random_() % 3],
            .spill_items = 1 << 16,
            .scopes = jobs_};
  }
  [[nodiscard]] hiway::GpuStageOptions grid() {
    return {.blocks = 1 + static_cast<unsigned>(random_() % 3), .threads_per_block = 32u << random_() % 2};
  }

  std::mt19937 random_;
  hiway::Pipeline pipe_;
  std::size_t most_open_;
  hiway::Scopes* jobs_ = nullptr;
  std::vector<std::atomic<std::uint64_t>> sums_;  ///< by place
  std::atomic<unsigned> ended_{0};
  std::atomic<int> wrong_{0};

 private:
  static bool is_right(ScopeFate fate, bool has_error, Came came) {
    bool const all = came == Came::all;
    bool const some = came != Came::wrong;
    switch (fate) {
      case ScopeFate::ends_well: return !has_error && all;
      case ScopeFate::is_cancelled: return has_error && some;
      case ScopeFate::is_failed: return has_error && all;
      case ScopeFate::may_be_late: return has_error ? some : all;
    }
    return false;
  }
};

/// Runs pipelines of consecutive seeds until one is wrong. HIWAY_SCOPE_SEEDS: how many; HIWAY_SCOPE_SEED: the first.
template <class Run>
void for_scope_seeds(Run run) {
  auto const first = static_cast<unsigned>(from_environment("HIWAY_SCOPE_SEED", 1));
  auto const seeds = static_cast<unsigned>(from_environment("HIWAY_SCOPE_SEEDS", 20));
  for (unsigned seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("HIWAY_SCOPE_SEED=" + std::to_string(seed));
    EXPECT_NO_THROW(run(seed));
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace hiway_tests
