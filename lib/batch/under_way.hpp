// BatchesUnderWay: the batches of a run between their first item and the end of their tasks.
#pragma once
#include <cstddef>
#include <vector>

#include "hiway/batch/batch_stage.hpp"
#include "hiway/batch_stream.hpp"
#include "lib/batch/batch_scopes.hpp"
#include "lib/batch/ring_runs.hpp"

namespace hiway {

/// What a batch makes for one tunnel.
struct BatchMade {
  RingRuns in_ring{};         ///< items to whose slots the stream copies
  std::size_t gone = 0;       ///< the first ones, which were put or are in the ring
  bool rest_at_host = false;  ///< the copies of the others to the batch's memory at the host are given
};

struct UnderWay {
  BatchScopes scopes;  ///< of its items, if they have any
  BatchPlace* place = nullptr;
  std::size_t number = 0;                  ///< of the place; its mark in the stream
  std::size_t items = 0;                   ///< that were got
  std::size_t given = 0;                   ///< of them the first ones, whose copies the stream has
  RingRuns got{};                          ///< of them those that lie in the ring
  std::vector<detail::BatchSize> sizes{};  ///< by inlet
  std::vector<BatchMade> made{};           ///< by inlet
  bool is_counted = false;                 ///< all sizes are known
};

/// A ring: those under way from the oldest on, and then the one that is collected.
class BatchesUnderWay {
 public:
  BatchesUnderWay(std::vector<BatchPlace>& places, BatchOptions const& options)
      : all_(places.size(), UnderWay{.scopes = BatchScopes(options)}) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      all_[i].place = &places[i];
      all_[i].number = i;
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool is_full() const { return size_ == all_.size(); }
  /// The i-th after the oldest.
  [[nodiscard]] UnderWay& operator[](std::size_t i) { return all_[(oldest_ + i) % all_.size()]; }
  /// The one that is collected. Not if they are full.
  [[nodiscard]] UnderWay& next() { return (*this)[size_]; }
  /// In any order.
  [[nodiscard]] std::vector<UnderWay> const& all() const { return all_; }

  void begin_next() { ++size_; }
  void end_oldest() {
    UnderWay& oldest = (*this)[0];
    oldest.items = oldest.given = 0;
    oldest_ = (oldest_ + 1) % all_.size();
    --size_;
  }

 private:
  std::vector<UnderWay> all_;
  std::size_t oldest_ = 0;
  std::size_t size_ = 0;
};

/// A copy of so many bytes takes the device longer than the thread takes to give it; on an emulated device few, so that
/// both happen.
inline std::size_t good_copy(BatchStream const& stream) {
  return stream.cuda() == nullptr ? 128 : std::size_t{512} << 10;
}
/// From so many bytes on the stream copies from and to the ring.
inline std::size_t least_copy(BatchStream const& stream, BatchEnd const& end) {
  return end.on_device ? 1 : good_copy(stream) / 8;
}

}  // namespace hiway
