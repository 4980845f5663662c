// FreePlaces: which places of a kind of scopes are free. A bit says it for each, in words that have a cache line each.
// A thread begins to look where it has found one before, so threads seldom meet at a word.
//
//   F1  A place is taken by the thread that clears its bit, and free again once give() has set it
//   F2  give() releases, take() acquires: nothing of the place's last scope is seen by the next
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace hiway::detail {

/// *Threads*: any.
class FreePlaces {
 public:
  /// All of `count` places are free; at least 1.
  explicit FreePlaces(std::size_t count);

  /// Takes a place; none: all are taken.
  [[nodiscard]] std::optional<std::uint32_t> take() noexcept;
  void give(std::uint32_t place) noexcept;
  /// The place that the thread that has just taken `place` takes next, if it is alone and all of the next line are
  /// free. It may be none of the `count`.
  [[nodiscard]] std::uint32_t after(std::uint32_t place) const noexcept;

 private:
  struct alignas(64) Line {
    std::atomic<std::uint64_t> free{0};
  };
  [[nodiscard]] std::optional<std::uint32_t> take_of(std::size_t line) noexcept;

  unsigned line_bits_;  ///< place = line + (bit << line_bits_)
  std::unique_ptr<Line[]> lines_;
};

/// A small number of the calling thread's own; threads' numbers are far apart.
[[nodiscard]] std::uint32_t number_of_this_thread() noexcept;

}  // namespace hiway::detail
