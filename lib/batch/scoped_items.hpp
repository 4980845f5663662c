// Items of tunnels with scopes on their way into batches and out of them: the thread takes items and words apart, and
// joins them again, a few KiB at a time, which stay in its cache.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hiway/batch/batch_stage.hpp"
#include "hiway/inlet/span.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/view.hpp"
#include "lib/batch/under_way.hpp"

namespace hiway {

/// Items with their words, in memory of the thread's own: as many as it copies at once.
class ScopedItems {
 public:
  explicit ScopedItems(BatchEnd const& end)
      : end_(end), most_(std::max(at_once_bytes / end.slot_bytes, std::size_t{1})), bytes_(most_ * end.slot_bytes) {}

  [[nodiscard]] std::size_t most() const { return most_; }
  [[nodiscard]] std::byte* slot(std::size_t i) { return bytes_.data() + i * end_.slot_bytes; }
  [[nodiscard]] std::uint64_t word(std::size_t i) {
    std::uint64_t word = 0;
    std::memcpy(&word, slot(i) + end_.scope_at, sizeof word);
    return word;
  }
  void set_word(std::size_t i, std::uint64_t word) { std::memcpy(slot(i) + end_.scope_at, &word, sizeof word); }
  /// Copies `n` items from the i-th on to a batch, or from a batch to the first ones.
  void copy_to(std::byte* batch, std::size_t i, std::size_t n);
  void copy_from(std::byte const* batch, std::size_t n);

 private:
  static constexpr std::size_t at_once_bytes = std::size_t{32} << 10;

  BatchEnd const& end_;
  std::size_t most_;
  std::vector<std::byte> bytes_;
};

/// What the thread has got, and no batch has yet.
class ScopedArrivals {
 public:
  ScopedArrivals(OutletView const& from, BatchEnd const& end) : from_(from), end_(end), items_(end) {}

  [[nodiscard]] bool any() const { return next_ != count_; }
  /// If there are none: one try for up to `most` items. Returns how many came.
  std::size_t get(StageThread m, std::size_t most);
  /// Moves to the batch what it takes, until it has `most` items. What comes first of a cancelled scope is dropped.
  /// False if nothing was done.
  bool move_to(StageThread m, UnderWay& batch, std::size_t most);

 private:
  [[nodiscard]] std::size_t of_one_scope(std::size_t most);
  void drop(StageThread m, std::size_t n);

  OutletView const& from_;
  BatchEnd const& end_;
  ScopedItems items_;
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

}  // namespace hiway
