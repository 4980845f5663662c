// Correction: what the CPU does in method hiway: it hears of changes, corrects sums and memberships, and when it has
// all changes of an iteration makes the next centroids, by several threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <hiway/inlet.hpp>
#include <hiway/outlet.hpp>
#include <vector>

#include "kmeans/input.hpp"
#include "kmeans/stages.hpp"
#include "kmeans/sums.hpp"

namespace kmeans {

/// *Lifetime*: the input's.
class Correction {
 public:
  Correction(Input const& input, unsigned threads, std::uint32_t at_once);
  Correction(Correction const&) = delete;
  Correction& operator=(Correction const&) = delete;

  /// Before each run.
  void begin();
  /// Puts the first centroids: a stage.
  void put_first(hiway::Inlet<float> const& centroids) const;
  /// The stage, in each of its threads. The one that brings an iteration's last change puts the next centroids, if
  /// there are to be any, before it ends that change's task: so the loop does not end in between.
  void run(hiway::Outlet<Change> const& changes, hiway::Inlet<float> const& centroids);

  [[nodiscard]] std::vector<std::uint32_t> const& memberships() const { return memberships_; }
  [[nodiscard]] std::uint32_t iterations() const { return iterations_; }

 private:
  /// What one thread has heard of in this iteration.
  struct alignas(64) Part {
    Part(std::uint32_t clusters, std::uint32_t features) : sums(clusters, features) {}
    Sums sums;
    bool is_used = false;
  };

  void end_iteration(hiway::Inlet<float> const& centroids);

  Input const& input_;
  std::uint32_t at_once_;
  std::vector<std::uint32_t> memberships_;
  Sums sums_;
  std::vector<Part> parts_;  // by thread
  Centroids centroids_;
  std::uint32_t iterations_ = 0;
  std::atomic<unsigned> next_part_ = 0;
  // Of an iteration: changes that have come, and since its end has come, too, all_there less those that it counts. It
  // is a release of a thread's part and an acquire of others'.
  std::atomic<std::int64_t> there_ = 0;
  std::atomic<bool> is_last_ = false;  // the iteration had no change
};

}  // namespace kmeans
