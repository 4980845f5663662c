// Sharing: the baseline's CPU threads, which are kept: they compute distances from the back of the work list, and when
// all distances are there, select the nearest.
#pragma once
#include <barrier>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "knn/input.hpp"
#include "knn/nearest.hpp"
#include "knn/shares.hpp"

namespace knn {

/// *Threads*: one calls it, which is itself none of those that compute distances. *Lifetime*: the input's, and that of
/// the list and the distances.
class Sharing {
 public:
  Sharing(Input const& input, Shares& shares, std::span<float> distances, unsigned threads, std::uint32_t at_once);
  ~Sharing();
  Sharing(Sharing const&) = delete;
  Sharing& operator=(Sharing const&) = delete;

  /// Lets the threads begin with distances.
  void begin() { meet_.arrive_and_wait(); }
  /// *Waits* for the threads' distances; those of others must be there.
  std::span<Key const> select();

 private:
  void compute();
  void select_part(unsigned thread);

  Input const& input_;
  Shares& shares_;
  std::span<float> distances_;
  std::uint32_t at_once_;
  std::vector<Nearest> parts_;  // by thread; the caller's is the first
  std::barrier<> meet_;
  bool is_over_ = false;
  std::vector<std::jthread> others_;
};

}  // namespace knn
