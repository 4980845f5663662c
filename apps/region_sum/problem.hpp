// Problem: ints, and where they are cut into regions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace region_sum {

/// How many ints a region has: `most`, but for the last one, which has what is left; or 0 to `most`, each as likely.
enum class Lengths : std::uint8_t { fixed, uniform };

struct ProblemOptions {
  std::uint64_t ints = 1U << 20;
  Lengths lengths = Lengths::fixed;
  std::uint64_t most = 128;  ///< 1 at least
  std::uint64_t seed = 1;
};

inline constexpr std::uint64_t most_ints = std::uint64_t{1} << 31;
inline constexpr std::uint64_t most_regions = ~std::uint32_t{0};  ///< their numbers have 32 bits

struct Problem {
  std::vector<std::uint32_t> ints;
  std::vector<std::uint64_t> offsets{0};  ///< of each region's first int, and of the end behind the last region

  [[nodiscard]] std::uint64_t regions() const { return offsets.size() - 1; }
};

/// Regions that follow one another.
struct Stretch {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};
/// The `part`-th of `parts`: all regions are in one, and their ints are about as many in each.
Stretch stretch_of(Problem const& problem, std::uint64_t part, std::uint64_t parts);

/// The same options give the same on every machine; more ints of one seed begin like fewer. *Throws* cli::BadInput:
/// more than most_regions.
Problem make_problem(ProblemOptions const& options);

/// Reads K or uniform:MAX into `options`. *Throws* cli::BadInput.
void parse_region(std::string const& text, ProblemOptions& options);

}  // namespace region_sum
