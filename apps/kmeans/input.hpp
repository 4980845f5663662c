// Input: the points, read or made.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kmeans {

struct InputOptions {
  std::optional<std::string> file{};  ///< a point a line: a number that is not used, then its features
  std::optional<std::uint32_t> points{};
  std::optional<std::uint32_t> features{};
  std::uint32_t clusters = 5;
  std::uint32_t iterations = 500;  ///< at most
  std::uint64_t seed = 1;          ///< of points that are made
};

struct Input {
  std::uint32_t points = 0;
  std::uint32_t features = 0;
  std::uint32_t clusters = 0;
  std::uint32_t iterations = 0;  ///< at most
  /// Point by point. Sums of any of them are exact in doubles, so no order of additions changes a result.
  std::vector<float> values;

  [[nodiscard]] float const* point(std::size_t p) const { return values.data() + p * features; }
};

/// *Throws* BadInput.
Input make_input(InputOptions const& options);

/// Rounds each value to a multiple of a power of two such that sums of `points` values are exact in doubles. Changes no
/// value above 2^-29 points times the largest one, and none where all are integers below 2^53 / points.
void make_exact(std::span<float> values, std::uint32_t points);

}  // namespace kmeans
