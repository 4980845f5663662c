// BatchStage: a batch stage as the pipeline keeps it. One CPU thread runs it: it gets a batch, calls the body, and when
// the stream has done what the body gave it, puts what was made and ends the batch's tasks (lib/batch/batch_stage.cpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hiway/batch.hpp"
#include "hiway/batch/captured_bodies.hpp"
#include "hiway/persistent.hpp"
#include "hiway/tunnel.hpp"

namespace hiway {

class Arena;

/// The end of a tunnel that a batch stage gets from, or puts into.
struct BatchEnd {
  std::size_t item_bytes = 0;  ///< in a batch
  std::size_t capacity = 0;    ///< in items
  bool on_device = false;      ///< the slots are on the stage's device: the thread does not reach them
  bool has_scopes = false;
  std::size_t slot_bytes = 0;  ///< of an item with its scope's word
  std::size_t scope_at = 0;    ///< where the word lies, in bytes
};
/// Where items of a batch lie: for CPU threads, and for the body. The same if the stage is on the CPU; `host` is null
/// if the thread reaches no items of that end.
struct BatchMemory {
  std::byte* host = nullptr;
  std::byte* device = nullptr;
};
/// Of one batch under way.
struct BatchPlace {
  BatchMemory got{};
  std::vector<BatchMemory> made{};  ///< by inlet
  std::uint32_t* counts = nullptr;  ///< by inlet, at the host: of what only the stream can count
  CapturedBodies captured{};
};

class BatchStage {
 public:
  /// Calls the user's body for one batch: that got, null for a stage that gets none, and those to be made.
  using Body = std::function<void(detail::RawBatch const* got, detail::RawBatch const* made, Stream stream)>;

  /// `from`: null if it gets nothing. *Throws* ConfigError.
  BatchStage(std::string name, TunnelBase const* from, std::vector<TunnelBase*> const& into, BatchOptions options,
             Body body);

  [[nodiscard]] BatchOptions const& options() const { return options_; }
  /// Takes from prepare() which ends have their slots on the device, one for each tunnel.
  void take_slots(std::vector<bool> const& from, std::vector<bool> const& into);
  /// Takes the batches' memory, at prepare(): at the host, and on the stage's device, if it has one.
  void place(Arena& host, Arena* on_device);
  /// Opens the stream. `device`: what runs the body's kernels; null if it is a GPU's pipeline, and the stage on the
  /// CPU.
  void open_stream(Backend* device);
  /// Bodies of the next run wait for the work that the user's stream has now.
  void follow(CUstream_st* stream) { stream_->follow(stream); }
  /// The whole run, on its thread.
  void run(OutletView const* from, InletView const* into);

 private:
  friend class BatchRun;

  std::string title_;
  std::optional<BatchEnd> from_;
  std::vector<BatchEnd> into_;
  BatchOptions options_;
  Body body_;
  std::vector<BatchPlace> places_;
  std::unique_ptr<Backend> own_device_;  ///< of a stage on the CPU, where the pipeline's device is a GPU
  std::unique_ptr<BatchStream> stream_;
};

/// BatchStage::run, with as many ends as the stage has.
template <unsigned Outlets, unsigned Inlets>
struct BatchRunner {
  static constexpr unsigned outlet_count = Outlets;
  static constexpr unsigned inlet_count = Inlets;
  static constexpr unsigned stage_count = 1;

  BatchStage* stage;

  template <class Machine>
  void operator()(Machine, OutletView const* from, InletView const* into) {
    stage->run(Outlets == 0 ? nullptr : from, into);
  }
};

}  // namespace hiway
