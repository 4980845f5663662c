#include "blast/input.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "cli/bad_input.hpp"
#include "genome/fasta.hpp"

namespace blast {
namespace {

void require(bool right, std::string const& what) {
  if (!right) throw cli::BadInput{what};
}

void require_length(std::optional<std::int64_t> const& length, std::string const& option, std::int64_t most) {
  if (length)
    require(*length >= 1 && *length <= most,
            option + " must be 1 to " + std::to_string(most) + ": " + std::to_string(*length));
}

/// What can be said before a file is opened.
void check(InputOptions const& o) {
  require(!(o.database_file && o.bases), "--database and --bases exclude each other");
  require(!(o.query_file && o.query_bases), "--query and --query-bases exclude each other");
  require(!o.database_file || o.query_file, "--database needs --query");
  require_length(o.bases, "--bases", genome::max_bases);
  require_length(o.query_bases, "--query-bases", most_query_bases);
  require(o.stride == 1 || o.stride == 4, "--stride must be 1 or 4: " + std::to_string(o.stride));
}

// Streams of one seed that do not depend on one another.
enum Stream : std::uint64_t { of_database, of_query, of_pieces, of_unknown };
std::uint64_t seed_of(std::uint64_t seed, Stream stream) { return seed + stream * 0x9e37'79b9'7f4a'7c15U; }

Sequence read(std::string const& path, std::uint64_t seed, std::vector<std::string>& notes) {
  Sequence sequence = genome::read_first_record(path, notes);
  std::size_t const unknown = replace_unknown(sequence, seed);
  if (unknown > 0)
    notes.push_back(path + ": " + std::to_string(unknown) + " unknown bases, each replaced by a random one");
  return sequence;
}

}  // namespace

Sequence random_bases(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  Sequence sequence(count);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 32 == 0) bits = random();
    sequence[i] = static_cast<Base>(bits >> (62 - 2 * (i % 32)) & 3U);
  }
  return sequence;
}

Sequence database_with_pieces(std::size_t count, Sequence const& query, std::uint64_t seed) {
  Sequence database = random_bases(count, seed_of(seed, of_database));
  std::mt19937_64 random{seed_of(seed, of_pieces)};
  std::size_t const bases = std::min(piece_bases, query.size());
  for (std::size_t at = 0; at < count; at += bases_from_piece_to_piece) {
    std::size_t const from = random() % (query.size() - bases + 1);
    for (std::size_t i = 0; i < bases; ++i) {
      bool const changes = random() % 20 == 0;
      Base const other = static_cast<Base>(random() >> 62U);
      if (at + i < count) database[at + i] = changes ? other : query[from + i];
    }
  }
  return database;
}

std::size_t replace_unknown(Sequence& sequence, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::size_t unknown = 0;
  for (Base& base : sequence) {
    if (base != Base::n) continue;
    base = static_cast<Base>(random() >> 62U);
    ++unknown;
  }
  return unknown;
}

Input make_input(InputOptions const& o) {
  check(o);
  Input input{.stride = static_cast<std::int32_t>(o.stride)};
  input.query = o.query_file ? read(*o.query_file, seed_of(o.seed, of_unknown), input.notes)
                             : random_bases(static_cast<std::size_t>(o.query_bases.value_or(default_query_bases)),
                                            seed_of(o.seed, of_query));
  input.database = o.database_file ? read(*o.database_file, seed_of(o.seed, of_unknown), input.notes)
                                   : database_with_pieces(static_cast<std::size_t>(o.bases.value_or(default_bases)),
                                                          input.query, o.seed);
  return input;
}

}  // namespace blast
