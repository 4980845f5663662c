// Correction: what the CPU does in method hiway: it hears of changes, corrects sums, and when it has all changes of an
// iteration makes the next centroids, by several threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <hiway/outlet.hpp>
#include <span>
#include <vector>

#include "kmeans/input.hpp"
#include "kmeans/stages.hpp"
#include "kmeans/sums.hpp"

namespace kmeans {

/// *Lifetime*: the input's.
class Correction {
 public:
  /// `ends`: how many changes of none to none end an iteration.
  Correction(Input const& input, unsigned threads, std::uint32_t at_once, std::uint32_t ends);
  Correction(Correction const&) = delete;
  Correction& operator=(Correction const&) = delete;

  /// Before each run. The centroids are then the first ones.
  void begin();
  /// The stage, in each of its threads. The one that brings an iteration's last change calls `go_on` with the next
  /// centroids made, unless there is to be no iteration more, before it ends that change's task: so the loop does not
  /// end in between.
  void run(hiway::Outlet<Change> const& changes, std::function<void()> const& go_on);

  [[nodiscard]] std::span<float const> centroids() const { return centroids_; }
  [[nodiscard]] std::uint32_t iterations() const { return iterations_; }

 private:
  /// What one thread has heard of in this iteration.
  struct alignas(64) Part {
    Part(std::uint32_t clusters, std::uint32_t features) : sums(clusters, features) {}
    Sums sums;
    bool is_used = false;
  };

  void correct(std::span<Change const> changes, Part& part) const;
  /// Whether there is to be another one.
  [[nodiscard]] bool end_iteration();

  Input const& input_;
  std::uint32_t at_once_;
  std::int64_t whole_;  // what there_ is when all has come
  Sums sums_;
  std::vector<Part> parts_;  // by thread
  Centroids centroids_;
  std::uint32_t iterations_ = 0;
  std::atomic<unsigned> next_part_ = 0;
  // Of an iteration: a change counts 1, an end a large number less the changes that it tells of. It is a release of a
  // thread's part, and an acquire of the others'.
  std::atomic<std::int64_t> there_ = 0;
  std::atomic<bool> has_changes_ = false;
};

}  // namespace kmeans
