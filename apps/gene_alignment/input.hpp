// Input: the query and the target, as the options describe them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "genome/sequence.hpp"

namespace gene_alignment {

using genome::Base;
using genome::Sequence;

struct Input {
  Sequence target;
  Sequence query;                  ///< neither is empty; the query is not longer than the target
  std::vector<std::string> notes;  ///< what the user should know about how the files were read
};

/// What the user gave; an empty optional is an option that was not given.
struct InputOptions {
  std::optional<std::string> target_file{};
  std::optional<std::string> query_file{};
  std::optional<std::string> pair_file{};
  std::optional<std::int64_t> target_length{};
  std::optional<std::int64_t> query_length{};
  std::optional<std::int64_t> query_at{};
  std::optional<double> mutate{};
  std::uint64_t seed = 1;
};

inline constexpr std::int64_t default_target_length = 16384;
inline constexpr std::int64_t default_query_length = 256;
inline constexpr std::int64_t default_query_at = 4096;  // with no option at all: a random query would seldom match
inline constexpr double default_mutate = 0.05;

/// Bases drawn evenly from A, C, G, T. The same seed gives the same sequence on every machine.
Sequence random_sequence(std::int64_t bases, std::uint64_t seed);

/// `bases` bases of `target` from `position` on, each replaced by one of the other three with probability `rate`. An N
/// stays.
Sequence cut_query(Sequence const& target, std::int64_t position, std::int64_t bases, double rate, std::uint64_t seed);

/// *Throws* cli::BadInput in one line: options that exclude or need each other, values out of range, bad files.
Input make_input(InputOptions const& options);

}  // namespace gene_alignment
