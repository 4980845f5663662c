#include "free_places.hpp"

#include <algorithm>
#include <bit>

#include "hiway/machine/stage_thread.hpp"

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

FreePlaces::FreePlaces(std::size_t count)
    : line_bits_(static_cast<unsigned>(std::countr_zero(lines_for(count)))),
      lines_(std::make_unique<Line[]>(std::size_t{1} << line_bits_)) {
  for (std::size_t place = 0; place < count; ++place) give(static_cast<std::uint32_t>(place));
}

/// The place of the lowest of `bits`.
std::uint32_t FreePlaces::lowest(std::size_t line, std::uint64_t bits) const noexcept {
  return static_cast<std::uint32_t>(line + (static_cast<std::size_t>(std::countr_zero(bits)) << line_bits_));
}

std::uint32_t FreePlaces::soon(std::uint32_t place) const noexcept {
  std::size_t const line = place & (line_count() - 1);
  std::uint64_t const free = lines_[line].free.load(std::memory_order_relaxed);
  std::uint64_t const after_next = free & (free - 1);
  return after_next != 0 ? lowest(line, after_next) : place;
}

std::optional<std::uint32_t> FreePlaces::take_of_line(std::size_t line) noexcept {
  Line& words = lines_[line];
  std::uint64_t free = words.free.load(std::memory_order_relaxed);
  while (free != 0) {
    if (words.free.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire))  // F1, F2
      return lowest(line, free);
  }
  if (words.given.load(std::memory_order_relaxed) == 0) return std::nullopt;
  std::uint64_t const given = words.given.exchange(0, std::memory_order_acquire);  // F2
  if (given == 0) return std::nullopt;
  if (std::uint64_t const rest = given & (given - 1); rest != 0) words.free.fetch_or(rest, std::memory_order_release);
  return lowest(line, given);
}

std::optional<std::uint32_t> FreePlaces::take_of_few() noexcept {
  constexpr std::uint32_t few = 16;
  std::uint32_t const lines = line_count();
  return take_of(lines <= few ? lines : std::max<std::uint32_t>(4, lines / 64));
}

std::optional<std::uint32_t> FreePlaces::take_of(std::uint32_t lines) noexcept {
  thread_local std::uint32_t start = number_of_this_thread();
  // Odd, so it comes by all lines; and another one than other threads', which would follow each other else, each to
  // lines that the one before it has emptied.
  thread_local std::uint32_t const step = number_of_this_thread() | 1;
  for (std::uint32_t i = 0; i < lines; ++i, start += step) {
    if (auto const place = take_of_line(start & (line_count() - 1))) return place;
  }
  return std::nullopt;
}

void FreePlaces::expect(std::uint32_t place) const noexcept {
  __builtin_prefetch(&lines_[place & (line_count() - 1)].given, 1);
}

void FreePlaces::give(std::uint32_t place) noexcept {
  std::uint64_t const bit = std::uint64_t{1} << (place >> line_bits_);
  lines_[place & (line_count() - 1)].given.fetch_or(bit, std::memory_order_release);  // F2
}

}  // namespace hiway::detail
