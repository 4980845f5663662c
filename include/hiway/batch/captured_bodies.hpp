// CapturedBodies: what a batch stage's body has given to its stream, by the number of items of the batch, to be given
// again without a call of the body. Addresses are captured, too, so each place of a batch has its own.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "hiway/batch.hpp"

namespace hiway {

/// *Threads*: one at a time.
class CapturedBodies {
 public:
  /// Numbers of items; the body is called for batches of others.
  static constexpr std::size_t most = 16;

  /// Within a body: does what `body` does, which says sizes in `made`. The first time for so many items it is called as
  /// ever: libraries take memory then and load their code, which a capture forbids. The second time it is captured.
  void give(BatchStream& stream, std::size_t items, std::vector<detail::BatchSize>& made,
            std::function<void()> const& body) {
    Captured* const known = find(items);
    if (known == nullptr) {
      if (all_.size() < most) all_.push_back({.items = items});
      return body();
    }
    if (known->graph == nullptr) known->graph = stream.capture(body);
    if (known->graph == nullptr) return body();
    if (known->made.empty()) known->made = made;
    made = known->made;
    stream.replay(*known->graph);
  }

 private:
  struct Captured {
    std::size_t items = 0;
    std::vector<detail::BatchSize> made{};  ///< by inlet
    std::unique_ptr<BatchGraph> graph{};    ///< null before it is captured
  };

  [[nodiscard]] Captured* find(std::size_t items) {
    for (Captured& one : all_)
      if (one.items == items) return &one;
    return nullptr;
  }

  std::vector<Captured> all_;
};

}  // namespace hiway
