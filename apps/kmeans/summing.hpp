// Summing: how the baseline's CPU finds centroids from all memberships, by threads that are kept.
#pragma once
#include <barrier>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "kmeans/input.hpp"
#include "kmeans/sums.hpp"

namespace kmeans {

/// *Threads*: one calls it. *Lifetime*: the input's, and that of the spans.
class Summing {
 public:
  /// `found`: each point's cluster, as it is to be compared and summed.
  Summing(Input const& input, std::span<std::uint32_t const> found, unsigned threads);
  ~Summing();
  Summing(Summing const&) = delete;
  Summing& operator=(Summing const&) = delete;

  /// Forgets all memberships.
  void begin();
  /// Takes what was found as memberships, and writes the centroids; how many memberships changed.
  std::uint64_t update(std::span<float> centroids);
  [[nodiscard]] std::vector<std::uint32_t> const& memberships() const { return memberships_; }

 private:
  struct alignas(64) Part {
    Part(std::uint32_t clusters, std::uint32_t features) : sums(clusters, features) {}
    Sums sums;
    std::uint64_t changes = 0;
  };
  void sum(unsigned thread);

  Input const& input_;
  std::span<std::uint32_t const> found_;
  std::vector<std::uint32_t> memberships_;
  std::vector<Part> parts_;  // by thread
  std::barrier<> meet_;
  bool is_over_ = false;
  std::vector<std::jthread> others_;
};

}  // namespace kmeans
