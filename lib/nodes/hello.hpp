// Hello: the first bytes on a connection, in both directions. A node says its number, node 0 its verdict. Their form is
// the same in every version, so that versions that differ can say so.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace hiway::detail::nodes {

constexpr std::uint32_t protocol_version = 1;

enum class Verdict : std::uint32_t { none, welcome, other_protocol, other_size, no_such_node, twice };

struct Hello {
  std::uint32_t protocol = protocol_version;
  std::uint32_t node = 0;
  std::uint32_t size = 0;
  Verdict verdict = Verdict::none;
};

using HelloBytes = std::array<std::byte, 24>;

[[nodiscard]] HelloBytes bytes_of(Hello const& hello);
/// None if the bytes do not begin as a Hello does.
[[nodiscard]] std::optional<Hello> hello_of(HelloBytes const& bytes);
/// True if so many of its first bytes may still become one.
[[nodiscard]] bool may_be_hello(std::span<std::byte const> first);

/// Why node 0, which said `answer`, does not let the other in, which said `hello`.
[[nodiscard]] std::string refusal_of(Hello const& hello, Hello const& answer);

/// 32 bits, the lowest byte first, whatever the machine.
void put_word(std::byte* at, std::uint32_t word);
[[nodiscard]] std::uint32_t get_word(std::byte const* at);

}  // namespace hiway::detail::nodes
