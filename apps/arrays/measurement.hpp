// Measurement: what one run of an application of arrays says.
#pragma once
#include <chrono>
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <vector>

namespace arrays {

/// seconds: from the input in CPU memory to the result in CPU memory, copies included; allocation, kernel loading and
/// summing up excluded.
template <class Summary>
struct Measurement {
  Summary summary{};
  double seconds = 0;
  std::uint64_t items = 0;
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// Since it was made.
class Clock {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace arrays
