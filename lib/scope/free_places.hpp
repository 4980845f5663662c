// FreePlaces: which places of a kind of scopes are free. A bit says it for each, in words that have a cache line each.
// A thread begins to look where it has found one before, so threads that take seldom meet at a word. Places are given
// back by other threads, to a second word: a thread that takes moves what is there to its own, many at once.
//
//   F1  A place is free while its bit is set in one of the two words. It is taken by the thread that clears it in
//       `free`
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

  /// Takes a place. None: all are taken, or another thread is moving the last ones.
  [[nodiscard]] std::optional<std::uint32_t> take() noexcept { return take_of(line_count()); }
  /// The same for a thread that waits and tries again: it looks at a few lines only, and at others the next time. Each
  /// look takes a line from the threads that give places back.
  [[nodiscard]] std::optional<std::uint32_t> take_of_few() noexcept;
  /// After take() gave `place`: what the same thread will probably take the time after next.
  [[nodiscard]] std::uint32_t soon(std::uint32_t place) const noexcept;
  void give(std::uint32_t place) noexcept;
  /// The calling thread will give the place before long.
  void expect(std::uint32_t place) const noexcept;

 private:
  struct alignas(64) Line {
    std::atomic<std::uint64_t> free{0};
    alignas(64) std::atomic<std::uint64_t> given{0};
  };
  [[nodiscard]] std::uint32_t line_count() const noexcept { return std::uint32_t{1} << line_bits_; }
  [[nodiscard]] std::optional<std::uint32_t> take_of(std::uint32_t lines) noexcept;
  [[nodiscard]] std::optional<std::uint32_t> take_of_line(std::size_t line) noexcept;
  [[nodiscard]] std::uint32_t lowest(std::size_t line, std::uint64_t bits) const noexcept;

  unsigned line_bits_;  ///< place = line + (bit << line_bits_)
  std::unique_ptr<Line[]> lines_;
};

}  // namespace hiway::detail
