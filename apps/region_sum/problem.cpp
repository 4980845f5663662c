#include "region_sum/problem.hpp"

#include <algorithm>
#include <charconv>
#include <hiway/cpus.hpp>
#include <string_view>
#include <system_error>
#include <thread>

#include "cli/bad_input.hpp"
#include "cli/hash.hpp"

namespace region_sum {
namespace {

constexpr std::string_view uniform = "uniform:";

/// The k-th of a stream of numbers that look random.
std::uint64_t drawn(std::uint64_t stream, std::uint64_t k) { return cli::mixed(stream + (k + 1) * cli::mixed_step); }
std::uint64_t stream_of_ints(std::uint64_t seed) { return cli::mixed(2 * seed); }
std::uint64_t stream_of_lengths(std::uint64_t seed) { return cli::mixed(2 * seed + 1); }

void fill(std::vector<std::uint32_t>& ints, std::uint64_t seed) {
  std::uint64_t const stream = stream_of_ints(seed);
  std::uint64_t const threads = hiway::available_cpus();
  std::vector<std::jthread> all;
  for (std::uint64_t t = 0; t < threads; ++t) {
    all.emplace_back([&ints, stream, first = ints.size() * t / threads, end = ints.size() * (t + 1) / threads] {
      for (std::uint64_t i = first; i < end; ++i) ints[i] = static_cast<std::uint32_t>(drawn(stream, i));
    });
  }
}

}  // namespace

Problem make_problem(ProblemOptions const& options) {
  Problem problem;
  problem.ints.resize(options.ints);
  fill(problem.ints, options.seed);
  std::uint64_t const stream = stream_of_lengths(options.seed);
  for (std::uint64_t end = 0; end < options.ints;) {
    end += options.lengths == Lengths::fixed ? options.most : drawn(stream, problem.regions()) % (options.most + 1);
    if (problem.regions() == most_regions)
      throw cli::BadInput{"--region: " + std::to_string(options.ints) + " ints in more than " +
                          std::to_string(most_regions) + " regions"};
    problem.offsets.push_back(std::min(end, options.ints));
  }
  return problem;
}

Stretch stretch_of(Problem const& problem, std::uint64_t part, std::uint64_t parts) {
  auto const region_at = [&](std::uint64_t edge) {
    if (edge == parts) return problem.regions();
    std::uint64_t const first_int = problem.ints.size() * edge / parts;
    return static_cast<std::uint64_t>(std::ranges::lower_bound(problem.offsets, first_int) - problem.offsets.begin());
  };
  return {region_at(part), region_at(part + 1)};
}

void parse_region(std::string const& text, ProblemOptions& options) {
  bool const is_uniform = text.starts_with(uniform);
  char const* const end = text.data() + text.size();
  char const* const number = text.data() + (is_uniform ? uniform.size() : 0);
  auto const [stop, error] = std::from_chars(number, end, options.most);
  if (error != std::errc{} || stop != end || options.most < 1 || options.most > most_ints)
    throw cli::BadInput{"--region must be K or uniform:MAX, of 1 to 2147483648 ints: " + text};
  options.lengths = is_uniform ? Lengths::uniform : Lengths::fixed;
}

}  // namespace region_sum
