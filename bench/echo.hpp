// Echo: a stage that sends every item back, and one item's way there and back, timed: from a CPU thread, or from a
// running stage on another device. For the benches of latency.
#pragma once
#include <cstddef>
#include <cstdint>
#include <hiway/config.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bench {

struct EchoSetup {
  std::string device;
  std::size_t item_bytes = 8;  ///< 8, or one of item_sizes
  unsigned blocks = 1;
  unsigned threads_per_block = 32;
  hiway::Movement there = hiway::Movement::automatic;
  hiway::Movement back = hiway::Movement::automatic;
  bool low_latency = false;  ///< of `back`, and of `there` where one warp reads it
  /// Not -1: the number of the device that sends back what a stage of one warp on `device` sends; both wait as one
  /// warp.
  int to_device = -1;
  bool by_batches = false;  ///< a batch stage sends back, a batch a trip
};

/// Round trips one after another, of which one item each is under way.
struct RoundTrips {
  std::vector<double> us;                          ///< ascending
  std::string wrong{};                             ///< empty when every item came back as what was sent makes it
  [[nodiscard]] double at(double quantile) const;  ///< 0.5: the median; 0 when there are none
};

/// Of one item that goes to and fro: `came` has the cycles, which wrap, when it came back, each trip beginning where
/// the one before ended; from the first of them to the last `took_us` went by. The first `uncounted` are not among
/// them.
[[nodiscard]] RoundTrips rally_times(std::span<std::uint32_t const> came, unsigned uncounted, double took_us);

/// A pipeline that runs for as many round trips as one asks for. *Threads*: one.
class Echo {
 public:
  Echo() = default;
  Echo(Echo const&) = delete;
  Echo& operator=(Echo const&) = delete;
  virtual ~Echo() = default;

  /// Starts it, makes `trips` round trips behind a tenth as many that are not counted, and ends it.
  /// `alter`: one item is sent altered, which must be found.
  [[nodiscard]] virtual RoundTrips run(unsigned trips, bool alter = false) = 0;
};

/// From a CPU thread: an open inlet, a persistent GPU stage that waits, an open outlet. From a stage: a cycle of two
/// persistent stages on two devices. *Throws* std::invalid_argument for a size that is not there.
[[nodiscard]] std::unique_ptr<Echo> make_echo(EchoSetup const& setup);

/// The device's processors: SMs.
[[nodiscard]] unsigned processors_of(std::string const& device);

}  // namespace bench
