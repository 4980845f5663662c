#include "aes/input.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "cli/bad_input.hpp"
#include "cli/bytes.hpp"
#include "cli/hash.hpp"
#include "cli/text.hpp"

namespace aes {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
constexpr std::int64_t block_bytes = sizeof(Block);
static_assert(std::endian::native == std::endian::little);

bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n'; }

std::string_view constexpr digits = "0123456789abcdef";

std::uint32_t digit_of(char letter, std::string const& name, std::size_t byte) {
  char const lower = letter >= 'A' && letter <= 'F' ? static_cast<char>(letter - 'A' + 'a') : letter;
  std::size_t const digit = digits.find(lower);
  if (digit == digits.npos) {
    throw cli::BadInput{name + ": byte " + std::to_string(byte) + " is not two hexadecimal digits: there is " +
                        cli::shown(letter)};
  }
  return static_cast<std::uint32_t>(digit);
}

std::vector<std::uint8_t> read(std::string const& path, std::int64_t most) {
  std::vector<std::uint8_t> bytes = bytes_of(cli::read_text(path, static_cast<std::size_t>(4 * most)), path);
  if (bytes.size() > static_cast<std::size_t>(most))
    throw cli::BadInput{path + ": more than " + std::to_string(most) + " bytes"};
  return bytes;
}

Text read_blocks(std::string const& path) {
  std::vector<std::uint8_t> const bytes = read(path, most_bytes);
  if (bytes.empty() || bytes.size() % block_bytes != 0) {
    throw cli::BadInput{path + ": " + std::to_string(bytes.size()) +
                        " bytes, which are not whole blocks of 16: nothing is padded"};
  }
  return text_of(bytes);
}

Key read_key(std::string const& path) {
  Key key{};
  std::vector<std::uint8_t> const bytes = read(path, 1 << 10);
  if (bytes.size() != key.size())
    throw cli::BadInput{path + ": a key has 32 bytes, not " + std::to_string(bytes.size())};
  std::ranges::copy(bytes, key.begin());
  return key;
}

Text random_text(std::uint64_t seed, std::string const& wanted) {
  std::int64_t const bytes = cli::parse_bytes("--bytes", wanted);
  if (bytes < block_bytes || bytes > most_bytes || bytes % block_bytes != 0)
    throw cli::BadInput{"--bytes must be 16 to 1073741824, and a multiple of 16: " + wanted};
  Text text(static_cast<std::size_t>(bytes / block_bytes));
  for (std::uint64_t i = 0; i < text.size(); ++i) {
    std::uint64_t const low = cli::mixed(seed + 2 * i * cli::mixed_step);
    std::uint64_t const high = cli::mixed(seed + (2 * i + 1) * cli::mixed_step);
    text[i].words = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                     static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
  }
  return text;
}

Key random_key(std::uint64_t seed) {
  Key key{};
  for (std::uint64_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(cli::mixed(seed - (i + 1)));
  return key;
}

}  // namespace

std::vector<std::uint8_t> bytes_of(std::string const& text, std::string const& name) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    std::uint32_t const high = digit_of(text[at], name, bytes.size());
    if (at + 1 == text.size() || is_blank(text[at + 1]))
      throw cli::BadInput{name + ": byte " + std::to_string(bytes.size()) + " has one hexadecimal digit"};
    bytes.push_back(static_cast<std::uint8_t>(high << 4 | digit_of(text[at + 1], name, bytes.size())));
    at += 2;
  }
  return bytes;
}

Text text_of(std::span<std::uint8_t const> bytes) {
  Text text(bytes.size() / block_bytes);
  std::memcpy(text.data(), bytes.data(), text.size() * block_bytes);
  return text;
}

std::string digits_of(Text const& text) {
  std::string all;
  all.reserve(text.size() * (2 * block_bytes + 1));
  for (Block const& block : text) {
    for (std::uint32_t const word : block.words)
      for (unsigned shift = 0; shift < 32; shift += 8) {
        all += digits[word >> (shift + 4) & 15];
        all += digits[word >> shift & 15];
      }
    all += '\n';
  }
  return all;
}

Problem make_problem(InputOptions const& options) {
  std::uint64_t const seed = cli::mixed(options.seed);
  return {.text = options.text_file.empty() ? random_text(seed, options.bytes) : read_blocks(options.text_file),
          .key = options.key_file.empty() ? random_key(seed) : read_key(options.key_file)};
}

}  // namespace aes
