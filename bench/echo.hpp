// Echo: a stage that sends every item back, and one item's way there and back, timed. For the benches of latency.
#pragma once
#include <cstddef>
#include <cstdint>
#include <hiway/config.hpp>
#include <memory>
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
};

/// Round trips one after another, of which one item each is under way.
struct RoundTrips {
  std::vector<double> us;                          ///< ascending
  std::string wrong{};                             ///< empty when every item came back as what was sent makes it
  [[nodiscard]] double at(double quantile) const;  ///< 0.5: the median; 0 when there are none
};

/// A pipeline: an open inlet, a persistent GPU stage that waits, an open outlet. *Threads*: one.
class Echo {
 public:
  Echo() = default;
  Echo(Echo const&) = delete;
  Echo& operator=(Echo const&) = delete;
  virtual ~Echo() = default;

  /// Starts the pipeline, makes `trips` round trips behind a tenth as many that are not counted, and ends it.
  /// `alter`: one item is sent altered, which must be found.
  [[nodiscard]] virtual RoundTrips run(unsigned trips, bool alter = false) = 0;
};

/// *Throws* std::invalid_argument for a size that is not there.
[[nodiscard]] std::unique_ptr<Echo> make_echo(EchoSetup const& setup);

/// The device's processors: SMs.
[[nodiscard]] unsigned processors_of(std::string const& device);

}  // namespace bench
