// Problem: a matrix, row by row, by which ranks are multiplied round by round.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pagerank {

/// A node that refers to another, and how much of its rank it gives.
struct Entry {
  std::uint32_t column;
  float value;
};

struct Problem {
  std::vector<std::uint32_t> rows{0};  ///< of each node: its first entry; the last one is the number of entries
  std::vector<Entry> entries;          ///< of each node: those that refer to it
  std::uint32_t rounds = 20;

  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(rows.size() - 1); }
};

inline constexpr std::uint32_t most_nodes = 1U << 20;
inline constexpr std::uint64_t most_entries = std::uint64_t{1} << 28;

/// Each node has `connections` others that refer to it: one by a shuffle of all nodes, so that each refers to some, and
/// the others at random, perhaps twice. A node shares its rank out evenly.
[[nodiscard]] Problem make_problem(std::uint32_t nodes, std::uint32_t connections, std::uint64_t seed);

/// Hetero-Mark's file, plain or gzip; numbers apart by blanks or lines: how many entries, how many nodes; the first
/// entry of each node, and the number of entries; the entries' columns; their values. *Throws* BadInput in one line.
[[nodiscard]] Problem read_problem(std::string const& path);

/// Of a node, after the last round.
using Ranks = std::vector<float>;

/// The largest difference of a rank from the oracle's, by the oracle's; infinite where a rank is not a number.
[[nodiscard]] double difference(Ranks const& ranks, std::vector<double> const& oracle);
/// What is right, as in the original: all ranks within a thousandth.
inline constexpr double tolerance = 1e-3;

}  // namespace pagerank
