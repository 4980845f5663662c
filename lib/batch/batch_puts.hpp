// BatchPuts: how what a body has made comes into its tunnels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hiway/inlet/view.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "lib/batch/scoped_items.hpp"
#include "lib/batch/under_way.hpp"

namespace hiway {

/// All is put; or more is given to the stream, or put; or there is no room.
enum class PutProgress : std::uint8_t { all, some, none };

/// *Threads*: the stage's.
class BatchPuts {
 public:
  struct Inlets {
    InletView const* views;
    std::vector<BatchEnd> const& ends;
  };
  BatchPuts(Inlets into, BatchOptions const& options, BatchStream& stream, BatchesUnderWay& batches);

  /// After the body: begins the copies of what was made, or of its count where only that tells how much it is.
  void fetch(UnderWay& batch);
  /// Goes on with batches that are not finished: false if nothing was to be done.
  bool give_next() { return count_next() || give_next_to_ring(); }
  /// Puts what the oldest batch has made; the stream has come so far.
  PutProgress put_some(UnderWay& batch);

 private:
  bool count_next();
  void fetch_counted(UnderWay& batch);
  void fetch_items(UnderWay& batch, std::size_t inlet);
  void fetch_rest(UnderWay& batch, std::size_t inlet);
  void check_size(UnderWay const& batch, std::size_t inlet) const;
  [[nodiscard]] bool goes_to_ring(UnderWay const& batch, std::size_t inlet) const;
  [[nodiscard]] bool is_next_in_ring(UnderWay const& batch, std::size_t inlet) const;
  bool give_next_to_ring();
  bool give_to_ring(UnderWay& batch, std::size_t inlet);
  PutProgress put_some(UnderWay& batch, std::size_t inlet);
  PutProgress put_in_ring(UnderWay& batch, std::size_t inlet);
  void put_rest(UnderWay& batch, std::size_t inlet);
  void put_with_words(UnderWay& batch, std::size_t inlet);

  StageThread m_{};
  Inlets into_;
  BatchOptions const& options_;
  BatchStream& stream_;
  BatchesUnderWay& batches_;
  std::vector<std::optional<ScopedItems>> joined_{};  ///< by inlet, of tunnels with scopes
  bool waits_for_room_ = false;
};

}  // namespace hiway
