// ServiceCounts: sums that many threads add to. Each thread adds to one of a few lines.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hiway/machine/stage_thread.hpp"

namespace hiway {

/// *Threads*: any.
class ServiceCounts {
 public:
  enum class Of : std::uint8_t {
    submitted,
    answered,
    failed,    ///< in the run
    expired,   ///< in the run
    refused,   ///< not admitted, with another error than the next
    too_late,  ///< not admitted by its deadline
    returned   ///< of those in the run: its receiver has it
  };

  void add(Of what) noexcept {
    Line& line = lines_[detail::number_of_this_thread() % lines_.size()];
    line.counts[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_acq_rel);
  }
  [[nodiscard]] std::uint64_t sum(Of what) const noexcept {
    std::uint64_t all = 0;
    for (Line const& line : lines_) all += line.counts[static_cast<std::size_t>(what)].load(std::memory_order_acquire);
    return all;
  }

 private:
  struct alignas(64) Line {
    std::array<std::atomic<std::uint64_t>, 7> counts{};
  };
  std::array<Line, 16> lines_;
};

}  // namespace hiway
