// Input: a text of whole blocks, and a key.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace aes {

/// What is encrypted at once: 16 bytes, as four words, low byte first.
struct alignas(16) Block {
  std::array<std::uint32_t, 4> words;
  bool operator==(Block const&) const = default;
};
using Text = std::vector<Block>;
using Key = std::array<std::uint8_t, 32>;

struct Problem {
  Text text;
  Key key{};
};

struct InputOptions {
  std::string bytes = "64KiB";  ///< of a random text
  std::string text_file;        ///< hexadecimal digits, two a byte; empty: a random text
  std::string key_file;         ///< likewise
  std::uint64_t seed = 1;
};
/// *Throws* BadInput.
Problem make_problem(InputOptions const& options);

/// What hexadecimal digits say, two a byte, white space between bytes or not. *Throws* BadInput that names `name`.
std::vector<std::uint8_t> bytes_of(std::string const& digits, std::string const& name);
/// Of whole blocks.
Text text_of(std::span<std::uint8_t const> bytes);
/// A block a line.
std::string digits_of(Text const& text);

}  // namespace aes
