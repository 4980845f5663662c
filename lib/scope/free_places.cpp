#include "free_places.hpp"

#include <algorithm>
#include <bit>

namespace hiway::detail {
namespace {

constexpr std::size_t places_of_line = 64;
/// So many lines for few places, too: one for each of a few threads.
constexpr std::size_t least_lines = 16;

std::size_t lines_for(std::size_t count) {
  std::size_t const needed = (count + places_of_line - 1) / places_of_line;
  return std::bit_ceil(std::max(needed, std::min(least_lines, count)));
}

}  // namespace

std::uint32_t number_of_this_thread() noexcept {
  static std::atomic<std::uint32_t> threads{0};
  constexpr std::uint32_t far_apart = 0x9E3779B1;  // odd: the last bits of consecutive numbers differ, too
  thread_local std::uint32_t const number = threads.fetch_add(1, std::memory_order_relaxed) * far_apart;
  return number;
}

FreePlaces::FreePlaces(std::size_t count)
    : line_bits_(static_cast<unsigned>(std::countr_zero(lines_for(count)))),
      lines_(std::make_unique<Line[]>(std::size_t{1} << line_bits_)) {
  for (std::size_t place = 0; place < count; ++place) give(static_cast<std::uint32_t>(place));
}

std::optional<std::uint32_t> FreePlaces::take_of(std::size_t line) noexcept {
  std::atomic<std::uint64_t>& word = lines_[line].free;
  std::uint64_t free = word.load(std::memory_order_relaxed);
  while (free != 0) {
    std::uint64_t const lowest = free & (0 - free);
    if (word.compare_exchange_weak(free, free ^ lowest, std::memory_order_acquire))  // F1, F2
      return static_cast<std::uint32_t>(line + (static_cast<std::size_t>(std::countr_zero(lowest)) << line_bits_));
  }
  return std::nullopt;
}

std::optional<std::uint32_t> FreePlaces::take() noexcept {
  thread_local std::uint32_t start = number_of_this_thread();
  std::uint32_t const lines = std::uint32_t{1} << line_bits_;
  for (std::uint32_t i = 0; i < lines; ++i, ++start) {
    if (auto const place = take_of(start & (lines - 1))) return place;
  }
  return std::nullopt;
}

std::uint32_t FreePlaces::after(std::uint32_t place) const noexcept {
  std::uint32_t const lines = std::uint32_t{1} << line_bits_;
  std::uint32_t const line = place & (lines - 1);
  std::uint64_t const free = lines_[line].free.load(std::memory_order_relaxed);
  if (free == 0) return (line + 1) & (lines - 1);
  return line + (static_cast<std::uint32_t>(std::countr_zero(free)) << line_bits_);
}

void FreePlaces::give(std::uint32_t place) noexcept {
  std::uint32_t const lines = std::uint32_t{1} << line_bits_;
  std::uint64_t const bit = std::uint64_t{1} << (place >> line_bits_);
  lines_[place & (lines - 1)].free.fetch_or(bit, std::memory_order_release);  // F2
}

}  // namespace hiway::detail
