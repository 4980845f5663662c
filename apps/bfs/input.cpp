#include "bfs/input.hpp"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/hash.hpp"
#include "cli/text.hpp"

namespace bfs {
namespace {

using cli::random_at;

/// Words of a line, apart by blanks; as many as fit, and how many there are.
struct Words {
  explicit Words(std::string_view line) {
    while (true) {
      std::size_t const begin = line.find_first_not_of(" \t");
      if (begin == std::string_view::npos) return;
      line.remove_prefix(begin);
      std::size_t const end = line.find_first_of(" \t");
      if (count < word.size()) word[count] = line.substr(0, end);
      ++count;
      if (end == std::string_view::npos) return;
      line.remove_prefix(end);
    }
  }
  std::array<std::string_view, 4> word;
  std::size_t count = 0;
};

class Reader {
 public:
  explicit Reader(std::string const& path) : lines_(path, std::size_t{1} << 36) {}

  Graph read() {
    while (lines_.next()) {
      Words const words{lines_.rest()};
      if (words.count == 0 || words.word[0].starts_with('c')) continue;
      if (words.word[0] == "p") {
        begin(words);
      } else if (words.word[0] == "a") {
        add(words);
      } else {
        lines_.fail("neither c, p nor a: " + cli::shown(words.word[0]));
      }
    }
    if (vertices_ == 0) lines_.fail_file("no line `p sp VERTICES EDGES`");
    if (edges_.size() != wanted_)
      lines_.fail_file("cut short: " + std::to_string(edges_.size()) + " edges, not " + std::to_string(wanted_));
    if (vertices_ > 2 * wanted_ + most_apart)
      lines_.fail_file(std::to_string(wanted_) + " edges leave most of " + std::to_string(vertices_) +
                       " vertices without any");
    return graph_of(vertices_, [this](auto const& emit) {
      for (auto const& [from, to] : edges_) emit(from, to);
    });
  }

 private:
  static constexpr std::uint64_t most_apart = 1U << 20;  ///< without edges; more are a mistake, and take memory

  void begin(Words const& words) {
    if (vertices_ != 0) lines_.fail("a second line p");
    if (words.count != 4 || words.word[1] != "sp") lines_.fail("not p sp VERTICES EDGES");
    vertices_ = static_cast<std::uint32_t>(number(words.word[2], 1, most_vertices));
    wanted_ = number(words.word[3], 0, most_edges);
  }
  void add(Words const& words) {
    if (vertices_ == 0) lines_.fail("an edge before the line p");
    if (words.count != 4) lines_.fail("not a FROM TO LENGTH");
    if (edges_.size() == wanted_) lines_.fail("more than " + std::to_string(wanted_) + " edges");
    auto const from = static_cast<std::uint32_t>(number(words.word[1], 1, vertices_) - 1);
    auto const to = static_cast<std::uint32_t>(number(words.word[2], 1, vertices_) - 1);
    double length = 0;
    if (!cli::parse_number(words.word[3], length)) lines_.fail("not a number: " + cli::shown(words.word[3]));
    edges_.emplace_back(from, to);
  }
  [[nodiscard]] std::uint64_t number(std::string_view text, std::uint64_t least, std::uint64_t most) const {
    std::uint64_t value = 0;
    if (!cli::parse_whole(text, value) || value < least || value > most)
      lines_.fail("not a number of " + std::to_string(least) + " to " + std::to_string(most) + ": " + cli::shown(text));
    return value;
  }

  cli::TextLines lines_;
  std::uint32_t vertices_ = 0;
  std::uint64_t wanted_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
};

/// One to one on numbers of `bits` bits.
std::uint32_t shuffled(std::uint32_t number, std::uint32_t bits, std::uint64_t seed) {
  std::uint32_t const mask = (1U << bits) - 1U;
  for (std::uint64_t round = 0; round < 3; ++round) {
    auto const odd = static_cast<std::uint32_t>(random_at(seed, ~round)) | 1U;
    number = (number + odd) * odd & mask;
    number ^= number >> (bits + 1) / 2;
  }
  return number;
}

}  // namespace

Graph make_road(std::uint32_t width, std::uint32_t height, std::uint64_t seed) {
  return graph_of(width * height, [=](auto const& add) {
    auto const both = [&](std::uint32_t a, std::uint32_t b) {
      add(a, b);
      add(b, a);
    };
    for (std::uint32_t y = 0; y < height; ++y) {
      for (std::uint32_t x = 0; x < width; ++x) {
        std::uint32_t const here = y * width + x;
        std::uint64_t const random = random_at(seed, here);
        if (x + 1 < width && random % 5 != 0) both(here, here + 1);
        if (y + 1 < height && (random >> 20) % 5 != 0) both(here, here + width);
        if (x + 1 < width && y + 1 < height && random >> 60 == 0) both(here, here + width + 1);
      }
    }
  });
}

Graph make_power_law(std::uint32_t scale, std::uint32_t edge_factor, std::uint64_t seed) {
  std::uint32_t const vertices = 1U << scale;
  std::uint64_t const edges = std::uint64_t{edge_factor} << scale;
  return graph_of(vertices, [=](auto const& add) {
    constexpr std::uint64_t one = 1U << 16;  // a quadrant for each 16 bits
    constexpr auto a = static_cast<std::uint64_t>(0.57 * one);
    constexpr auto b = static_cast<std::uint64_t>(0.19 * one);
    for (std::uint64_t edge = 0; edge < edges; ++edge) {
      std::uint32_t from = 0;
      std::uint32_t to = 0;
      std::uint64_t random = 0;
      for (std::uint32_t bit = 0; bit < scale; ++bit) {
        random = bit % 4 == 0 ? random_at(seed, edge * 8 + bit / 4) : random >> 16;
        std::uint64_t const quadrant = random % one;
        from = from << 1 | (quadrant >= a + b ? 1U : 0U);
        to = to << 1 | ((quadrant >= a && quadrant < a + b) || quadrant >= a + 2 * b ? 1U : 0U);
      }
      from = shuffled(from, scale, seed);
      to = shuffled(to, scale, seed);
      add(from, to);
      add(to, from);
    }
  });
}

Graph read_dimacs(std::string const& path) { return Reader{path}.read(); }

std::uint32_t busiest(Graph const& graph) {
  std::uint32_t found = 0;
  for (std::uint32_t v = 1; v < graph.vertices(); ++v) {
    if (graph.edges_of(v) > graph.edges_of(found)) found = v;
  }
  return found;
}

}  // namespace bfs
