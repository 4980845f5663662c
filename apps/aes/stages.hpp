// The stage code of the encryption: AES-256 by a table, word by word.
//
//   A round takes bytes from four columns, substitutes them and mixes them into a column. What a byte adds to its
//   column is a word of 256: table()[byte] for the column's first byte; for the others the same, turned by one to three
//   bytes. That is 2, 1, 1 and 3 times the substitute, so the last round, which does not mix, finds it in the second
//   byte.
#pragma once
#include <array>
#include <cstdint>
#include <hiway/pipeline.hpp>

#include "aes/input.hpp"

namespace aes {

inline constexpr std::uint32_t rounds = 14;
using Table = std::array<std::uint32_t, 256>;
/// By value, so that a kernel has them with its arguments.
using RoundKeys = std::array<std::uint32_t, 4 * (rounds + 1)>;

/// Towards higher bytes.
HIWAY_DEVICE constexpr std::uint32_t turned(std::uint32_t word, unsigned bytes) {
  return word << 8 * bytes | word >> (32 - 8 * bytes);
}
HIWAY_DEVICE constexpr std::uint32_t byte_of(std::uint32_t word, unsigned which) { return word >> 8 * which & 0xff; }

/// Goes through the powers of 3 and their inverses, which are all numbers but 0.
constexpr Table make_table() {
  auto const doubled = [](std::uint32_t a) { return (a << 1 ^ ((a & 0x80) != 0 ? 0x11b : 0)) & 0xff; };
  Table table{};
  auto const enter = [&](std::uint32_t number, std::uint32_t inverse) {
    std::uint32_t const twice = inverse << 8 | inverse;
    std::uint32_t const s = (inverse ^ twice >> 7 ^ twice >> 6 ^ twice >> 5 ^ twice >> 4 ^ 0x63) & 0xff;
    table[number] = doubled(s) | s << 8 | s << 16 | (doubled(s) ^ s) << 24;
  };
  enter(0, 0);
  std::uint32_t inverse = 1;
  for (std::uint32_t i = 0, power = 1; i < 255; ++i) {
    enter(power, inverse);
    power ^= doubled(power);
    inverse ^= inverse << 1;  // divided by 3
    inverse ^= inverse << 2;
    inverse = (inverse ^ inverse << 4) & 0xff;
    if ((inverse & 0x80) != 0) inverse ^= 0x09;
  }
  return table;
}
inline constexpr Table table = make_table();

constexpr std::uint32_t substituted(std::uint32_t word) {
  std::uint32_t all = 0;
  for (unsigned b = 0; b < 4; ++b) all |= byte_of(table[byte_of(word, b)], 1) << 8 * b;
  return all;
}

inline RoundKeys round_keys(Key const& key) {
  RoundKeys keys{};
  std::uint32_t constant = 1;
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    if (i < 8) {
      for (unsigned b = 0; b < 4; ++b) keys[i] |= std::uint32_t{key[4 * i + b]} << 8 * b;
    } else if (i % 8 == 0) {
      keys[i] = keys[i - 8] ^ substituted(turned(keys[i - 1], 3)) ^ constant;
      constant <<= 1;
    } else {
      keys[i] = keys[i - 8] ^ (i % 4 == 0 ? substituted(keys[i - 1]) : keys[i - 1]);
    }
  }
  return keys;
}

/// `lookup`: the table.
HIWAY_DEVICE inline Block encrypted(Block const& block, RoundKeys const& keys, std::uint32_t const* lookup) {
  std::uint32_t state[4];
  for (unsigned c = 0; c < 4; ++c) state[c] = block.words[c] ^ keys[c];
  for (std::uint32_t round = 1; round < rounds; ++round) {
    std::uint32_t mixed[4];
    for (unsigned c = 0; c < 4; ++c) {
      mixed[c] = keys[4 * round + c] ^ lookup[byte_of(state[c], 0)];
      for (unsigned b = 1; b < 4; ++b) mixed[c] ^= turned(lookup[byte_of(state[(c + b) % 4], b)], b);
    }
    for (unsigned c = 0; c < 4; ++c) state[c] = mixed[c];
  }
  Block out{};
  for (unsigned c = 0; c < 4; ++c) {
    out.words[c] = keys[4 * rounds + c];
    for (unsigned b = 0; b < 4; ++b) out.words[c] ^= byte_of(lookup[byte_of(state[(c + b) % 4], b)], 1) << 8 * b;
  }
  return out;
}

/// The table in the block's shared memory, of table_bytes. All threads of the block call it.
inline constexpr std::size_t table_bytes = sizeof(Table);
HIWAY_DEVICE inline std::uint32_t const* table_of_block(std::uint32_t const* on_device) {
  return hiway::on_this_device([=](auto m) -> std::uint32_t const* {
    auto* const own = reinterpret_cast<std::uint32_t*>(m.shared_memory());
    for (unsigned i = m.thread_in_block(); i < table.size(); i += m.block_threads()) own[i] = on_device[i];
    m.sync_block();
    return own;
  });
}

}  // namespace aes
