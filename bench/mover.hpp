// A mover: one way to bring numbered items from where they are made to where they are checked. hiway's own are
// pipelines (traffic.cpp), the others are written by hand (raw_cuda.cu).
#pragma once
#include <cstddef>
#include <cstdint>
#include <hiway/config.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "bench/numbered.hpp"

namespace bench {

/// Where items are made and checked. both: each way, at the same time, as many items.
enum class Flow : std::uint8_t { cpu_to_gpu, gpu_to_cpu, both, gpu_to_gpu };
[[nodiscard]] char const* name_of(Flow flow);

/// What to move, and who.
struct Work {
  std::string device;
  Flow flow = Flow::cpu_to_gpu;
  std::size_t item_bytes = 16;  ///< one of item_sizes, or the largest
  unsigned cpu_threads = 1;     ///< for each way that has a CPU end
  Plant plant = Plant::none;
  int to_device = -1;          ///< gpu_to_gpu: the number of the device that gets; -1: the same
  std::vector<int> through{};  ///< gpu_to_gpu: devices on whose stages the items pass on their way, in order
};

/// One run of a mover.
struct Moved {
  double seconds =
      0;  ///< steady clock, from the start of everything that makes items to the return of the last checker
  std::string wrong{};  ///< empty when every item came once and as it was put
};

/// *Threads*: one.
class Mover {
 public:
  Mover() = default;
  Mover(Mover const&) = delete;
  Mover& operator=(Mover const&) = delete;
  virtual ~Mover() = default;

  /// Moves `items`, below 2^31, each way.
  [[nodiscard]] virtual Moved move(std::uint64_t items) = 0;
  /// Of the last move: what the reader needs beside its time.
  [[nodiscard]] virtual Json facts() const { return Json::object(); }
};

/// The items of the `run`-th move of a mover: none has the number that the one before in its place had.
[[nodiscard]] inline Order order_of(unsigned run, std::uint64_t items, Plant plant) {
  return {items, run * 0x0123'4567U & 0x3fff'ffffU, plant};
}

/// How items are handed to a tunnel or taken from it on a CPU thread.
enum class Calls : std::uint8_t { item, span };  ///< put_h(item), get_h(item); put_h(span), next_h(span)

/// How hiway moves them. 0: as the bench or the library chooses.
struct Traffic {
  hiway::Movement movement = hiway::Movement::automatic;
  std::optional<hiway::Movement> movement_back{};  ///< of both ways: that of the way from the GPU, where it differs
  Calls calls = Calls::span;
  std::size_t capacity_items = 0;
  std::size_t batch_items = 0;
  bool low_latency = false;  ///< then one warp gets, as the library asks
  bool by_batches = false;   ///< both ways: a batch stage copies the items that came and sends the copies back
  bool block_spans = false;  ///< from GPU to GPU: blocks put and get spans of items up to 64 bytes, in shared memory
  unsigned blocks = 0;
  unsigned threads_per_block = 0;
};
[[nodiscard]] std::unique_ptr<Mover> make_traffic(Work const& work, Traffic const& traffic);

}  // namespace bench
