// The serial oracle: FIPS 197 step by step, byte by byte.
#include <algorithm>
#include <array>
#include <bit>

#include "aes/methods.hpp"
#include "cli/hash.hpp"

namespace aes {
namespace {

using Byte = std::uint8_t;
using State = std::array<Byte, 16>;  // column by column
constexpr unsigned rounds = 14;

/// Of polynomials modulo x^8 + x^4 + x^3 + x + 1.
Byte product(Byte a, Byte b) {
  Byte sum = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1) != 0) sum ^= a;
    a = static_cast<Byte>(a << 1 ^ ((a & 0x80) != 0 ? 0x1b : 0));
  }
  return sum;
}

/// The inverse (of 0: 0), and a map of its bits.
Byte substitute_of(Byte value) {
  Byte inverse = 0;
  for (unsigned i = 1; i < 256 && value != 0; ++i)
    if (product(value, static_cast<Byte>(i)) == 1) inverse = static_cast<Byte>(i);
  Byte mapped = 0x63;
  for (int turn = 0; turn <= 4; ++turn) mapped ^= std::rotl(inverse, turn);
  return mapped;
}

Byte substitute(Byte value) {
  static std::array<Byte, 256> const all = [] {
    std::array<Byte, 256> made{};
    for (unsigned i = 0; i < made.size(); ++i) made[i] = substitute_of(static_cast<Byte>(i));
    return made;
  }();
  return all[value];
}

using Schedule = std::array<State, rounds + 1>;

Schedule schedule_of(Key const& key) {
  std::array<std::array<Byte, 4>, 4 * (rounds + 1)> words{};
  Byte constant = 1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i < 8) {
      std::copy_n(key.begin() + 4 * i, 4, words[i].begin());
      continue;
    }
    words[i] = words[i - 1];
    if (i % 8 == 0) std::ranges::rotate(words[i], words[i].begin() + 1);
    if (i % 4 == 0) std::ranges::transform(words[i], words[i].begin(), substitute);
    if (i % 8 == 0) {
      words[i][0] ^= constant;
      constant = product(constant, 2);
    }
    for (std::size_t b = 0; b < 4; ++b) words[i][b] ^= words[i - 8][b];
  }
  return std::bit_cast<Schedule>(words);
}

void shift_rows(State& state) {
  State const before = state;
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < 4; ++column) state[4 * column + row] = before[4 * ((column + row) % 4) + row];
}

void mix_columns(State& state) {
  State const before = state;
  for (std::size_t i = 0; i < state.size(); ++i) {
    auto const in_column = [&](std::size_t further) { return before[i / 4 * 4 + (i + further) % 4]; };
    state[i] = static_cast<Byte>(product(in_column(0), 2) ^ product(in_column(1), 3) ^ in_column(2) ^ in_column(3));
  }
}

void add(State& state, State const& round_key) {
  for (std::size_t i = 0; i < state.size(); ++i) state[i] ^= round_key[i];
}

State encrypted(State state, Schedule const& schedule) {
  add(state, schedule[0]);
  for (unsigned round = 1; round <= rounds; ++round) {
    std::ranges::transform(state, state.begin(), substitute);
    shift_rows(state);
    if (round != rounds) mix_columns(state);
    add(state, schedule[round]);
  }
  return state;
}

}  // namespace

Summary summarize(Text const& ciphertext) {
  Summary summary{.hash = cli::first_hash};
  for (Block const& block : ciphertext)
    for (Byte const byte : std::bit_cast<State>(block)) summary.hash = cli::hash_on(summary.hash, byte);
  return summary;
}

std::vector<Measurement> run_reference(Problem const& problem, Job const& job, Text& ciphertext) {
  ciphertext.resize(problem.text.size());
  return cli::repeated(job, [&] {
    arrays::Clock const clock;
    Schedule const schedule = schedule_of(problem.key);
    std::ranges::transform(problem.text, ciphertext.begin(), [&](Block const& block) {
      return std::bit_cast<Block>(encrypted(std::bit_cast<State>(block), schedule));
    });
    double const seconds = clock.seconds();
    return Measurement{.summary = summarize(ciphertext), .seconds = seconds, .items = ciphertext.size()};
  });
}

}  // namespace aes
