// The serial oracle: the rules word for word, base by base.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "blast/methods.hpp"

namespace blast {
namespace {

using PlacesOfWords = std::vector<std::vector<std::size_t>>;

std::size_t word_at(Sequence const& sequence, std::size_t position) {
  std::size_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word = 4 * word + static_cast<std::size_t>(sequence[position + i]);
  return word;
}

/// Of each word in the query.
PlacesOfWords positions_of_words(Sequence const& query) {
  PlacesOfWords positions(65536);
  for (std::size_t q = 0; q + 8 <= query.size(); ++q) positions[word_at(query, q)].push_back(q);
  return positions;
}

/// A seed at database[d] and query[q]; a side's bases are counted from the one beside the seed.
struct Extension {
  Sequence const& database;
  Sequence const& query;
  std::size_t d, q;

  [[nodiscard]] std::size_t left_room() const { return std::min(d, q); }
  [[nodiscard]] std::size_t right_room() const { return std::min(database.size() - d, query.size() - q) - 8; }
  [[nodiscard]] bool left_equal(std::size_t i) const { return database[d - 1 - i] == query[q - 1 - i]; }
  [[nodiscard]] bool right_equal(std::size_t i) const { return database[d + 8 + i] == query[q + 8 + i]; }

  [[nodiscard]] bool keeps_eleven() const {
    std::size_t left = 0;
    while (left < std::min<std::size_t>(3, left_room()) && left_equal(left)) ++left;
    std::size_t right = 0;
    while (right < std::min<std::size_t>(4, right_room()) && right_equal(right)) ++right;
    return left + right >= 3;
  }
  [[nodiscard]] std::int32_t score() const {
    std::int32_t best_left = 0;
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(28, left_room()); ++i) {
      sum += left_equal(i) ? 1 : -3;
      best_left = std::max(best_left, sum);
    }
    std::int32_t best_right = 0;
    sum = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(28, right_room()); ++i) {
      sum += right_equal(i) ? 1 : -3;
      best_right = std::max(best_right, sum);
    }
    return best_left + best_right;
  }
};

/// Seeds that begin in [first, end), every `stride` bases.
Found search(Input const& input, PlacesOfWords const& positions, std::size_t first, std::size_t end) {
  Found found;
  for (std::size_t d = first; d < end && d + 8 <= input.database.size(); d += static_cast<std::size_t>(input.stride)) {
    std::vector<std::size_t> const& here = positions[word_at(input.database, d)];
    if (here.empty()) continue;
    ++found.counts.seeds_found;
    for (std::size_t const q : here) {
      ++found.counts.positions;
      Extension const extension{input.database, input.query, d, q};
      if (!extension.keeps_eleven()) continue;
      ++found.counts.kept_exact;
      std::int32_t const score = extension.score();
      if (score >= 3) found.hits.push_back({static_cast<std::int32_t>(d), static_cast<std::int32_t>(q), score});
    }
  }
  return found;
}

}  // namespace

Found reference_hits(Input const& input, unsigned threads) {
  PlacesOfWords const positions = positions_of_words(input.query);
  // Ranges begin at seeds.
  std::size_t const range = (input.database.size() / threads + 4) / 4 * 4;
  std::vector<Found> parts(threads);
  {
    std::vector<std::jthread> searchers;
    for (unsigned t = 0; t < threads; ++t)
      searchers.emplace_back([&, t] { parts[t] = search(input, positions, t * range, (t + 1) * range); });
  }
  Found all;
  for (Found const& part : parts) {
    all.hits.insert(all.hits.end(), part.hits.begin(), part.hits.end());
    all.counts.seeds_found += part.counts.seeds_found;
    all.counts.positions += part.counts.positions;
    all.counts.kept_exact += part.counts.kept_exact;
  }
  return all;
}

std::vector<Measurement> run_reference(Input const& input, Job const& job, Hits& hits) {
  return cli::repeated(job, [&] {
    auto const begin = std::chrono::steady_clock::now();
    hits = reference_hits(input, 1).hits;
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return Measurement{.summary = summarize(hits), .seconds = seconds, .items = hits.size()};
  });
}

}  // namespace blast
