// Input: the database and the query, as the options describe them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "genome/sequence.hpp"

namespace blast {

using genome::Base;
using genome::Sequence;

struct Input {
  Sequence database;  ///< neither it nor the query is empty or has an N
  Sequence query;
  std::int32_t stride = 4;         ///< bases from a seed to the next
  std::vector<std::string> notes;  ///< what the user should know about how the files were read
};

/// What the user gave; an empty optional is an option that was not given.
struct InputOptions {
  std::optional<std::string> database_file{};
  std::optional<std::string> query_file{};
  std::optional<std::int64_t> bases{};
  std::optional<std::int64_t> query_bases{};
  std::int64_t stride = 4;
  std::uint64_t seed = 1;
};

inline constexpr std::int64_t default_bases = 65536;
inline constexpr std::int64_t default_query_bases = 1000;
inline constexpr std::int64_t most_query_bases = 1'000'000;

/// Of a generated database: how much of the query lies in it, and how far apart.
inline constexpr std::size_t piece_bases = 120;
inline constexpr std::size_t bases_from_piece_to_piece = 4 * 65536;

/// The same seed gives the same bases on every machine.
Sequence random_bases(std::size_t count, std::uint64_t seed);

/// Random bases; at every bases_from_piece_to_piece a piece of the query from a random place, each base of it replaced by a
/// random one, with luck the same, with probability 0.05.
Sequence database_with_pieces(std::size_t count, Sequence const& query, std::uint64_t seed);

/// Two bits hold no unknown base: puts a random one in the place of each N, and returns how many there were.
std::size_t replace_unknown(Sequence& sequence, std::uint64_t seed);

/// *Throws* cli::BadInput in one line: options that exclude or need each other, values out of range, bad files.
Input make_input(InputOptions const& options);

}  // namespace blast
