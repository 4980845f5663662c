#include "gene_alignment/input.hpp"

#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "cli/bad_input.hpp"
#include "genome/fasta.hpp"

namespace gene_alignment {
namespace {

void require(bool right, std::string const& what) {
  if (!right) throw cli::BadInput{what};
}

std::string shown(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

void require_length(std::optional<std::int64_t> const& length, std::string const& option) {
  if (length)
    require(*length >= 1 && *length <= genome::max_bases,
            option + " must be 1 to " + std::to_string(genome::max_bases) + ": " + std::to_string(*length));
}

/// What can be said before a file is opened.
void check(InputOptions const& o) {
  if (o.pair_file) {
    require(!o.target_file && !o.query_file && !o.target_length && !o.query_length && !o.query_at,
            "--pair brings query and target: it goes with none of --target, --query, --target-length, --query-length, "
            "--query-at");
  }
  require(!(o.target_file && o.target_length), "--target and --target-length exclude each other");
  require(!(o.query_file && (o.query_length || o.query_at)), "--query goes with neither --query-length nor --query-at");
  require(!o.query_file || o.target_file, "--query needs --target");
  require(!o.target_file || o.query_file || o.query_at, "--target needs --query, or --query-at with --query-length");
  require(!(o.query_at && !o.query_length), "--query-at needs --query-length");
  require(!o.mutate || o.query_at, "--mutate needs --query-at");
  require_length(o.target_length, "--target-length");
  require_length(o.query_length, "--query-length");
  require(!o.query_at || *o.query_at >= 0, "--query-at must be 0 or more: " + std::to_string(o.query_at.value_or(0)));
  require(!o.mutate || (*o.mutate >= 0 && *o.mutate <= 1), "--mutate must be 0 to 1: " + shown(o.mutate.value_or(0)));
}

// Two streams from one seed: the target must not depend on the query's length, nor the reverse.
std::uint64_t query_seed(std::uint64_t seed) { return seed + 0x9e37'79b9'7f4a'7c15U; }

}  // namespace

Sequence random_sequence(std::int64_t bases, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  Sequence sequence(static_cast<std::size_t>(bases));
  for (Base& base : sequence) base = static_cast<Base>(random() >> 62U);
  return sequence;
}

Sequence cut_query(Sequence const& target, std::int64_t position, std::int64_t bases, double rate, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  auto const begin = target.begin() + position;
  Sequence query(begin, begin + bases);
  for (Base& base : query) {
    bool const changes = static_cast<double>(random() >> 11U) * 0x1p-53 < rate;
    std::uint64_t const step = 1 + random() % 3;  // drawn always: a base's fate does not depend on those before it
    if (changes && base != Base::n) base = static_cast<Base>((static_cast<std::uint64_t>(base) + step) % 4);
  }
  return query;
}

Input make_input(InputOptions const& given) {
  check(given);
  InputOptions o = given;
  Input input;
  if (o.pair_file) {
    genome::PairFile pair = genome::read_pair(*o.pair_file);
    input.query = std::move(pair.query);
    input.target = std::move(pair.target);
  } else {
    if (!o.target_file && !o.target_length && !o.query_length) {
      o.query_at = default_query_at;
      o.mutate = default_mutate;
    }
    input.target = o.target_file ? genome::read_first_record(*o.target_file, input.notes)
                                 : random_sequence(o.target_length.value_or(default_target_length), o.seed);
    std::int64_t const query_bases = o.query_length.value_or(default_query_length);
    auto const target_bases = static_cast<std::int64_t>(input.target.size());
    if (o.query_file) {
      input.query = genome::read_first_record(*o.query_file, input.notes);
    } else if (o.query_at) {
      require(*o.query_at <= target_bases - query_bases,
              "--query-at " + std::to_string(*o.query_at) + " --query-length " + std::to_string(query_bases) +
                  ": reaches beyond the target's " + std::to_string(target_bases) + " bases");
      input.query = cut_query(input.target, *o.query_at, query_bases, o.mutate.value_or(0), query_seed(o.seed));
    } else {
      input.query = random_sequence(query_bases, query_seed(o.seed));
    }
  }
  require(input.query.size() <= input.target.size(), "the query (" + std::to_string(input.query.size()) +
                                                         " bases) is longer than the target (" +
                                                         std::to_string(input.target.size()) + " bases)");
  return input;
}

}  // namespace gene_alignment
