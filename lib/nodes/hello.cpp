#include "lib/nodes/hello.hpp"

#include <algorithm>
#include <string_view>

namespace hiway::detail::nodes {
namespace {

constexpr std::string_view first_bytes = "hiwaymt\n";

}  // namespace

void put_word(std::byte* at, std::uint32_t word) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(word >> (8 * i));
}

std::uint32_t get_word(std::byte const* at) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word |= std::to_integer<std::uint32_t>(at[i]) << (8 * i);
  return word;
}

HelloBytes bytes_of(Hello const& hello) {
  HelloBytes bytes{};
  std::ranges::transform(first_bytes, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  put_word(&bytes[8], hello.protocol);
  put_word(&bytes[12], hello.node);
  put_word(&bytes[16], hello.size);
  put_word(&bytes[20], static_cast<std::uint32_t>(hello.verdict));
  return bytes;
}

bool may_be_hello(std::span<std::byte const> first) {
  std::size_t const known = std::min(first.size(), first_bytes.size());
  return std::ranges::equal(first.first(known), first_bytes.substr(0, known), {}, {},
                            [](char c) { return static_cast<std::byte>(c); });
}

std::optional<Hello> hello_of(HelloBytes const& bytes) {
  if (!may_be_hello(bytes)) return std::nullopt;
  return Hello{get_word(&bytes[8]), get_word(&bytes[12]), get_word(&bytes[16]),
               static_cast<Verdict>(get_word(&bytes[20]))};
}

std::string refusal_of(Hello const& hello, Hello const& answer) {
  std::string const node = "node " + std::to_string(hello.node);
  switch (answer.verdict) {
    case Verdict::other_size:
      return node + " counts " + std::to_string(hello.size) + " nodes, node 0 counts " + std::to_string(answer.size);
    case Verdict::no_such_node: return node + " is none of " + std::to_string(answer.size) + " nodes";
    case Verdict::twice: return "there are two nodes " + std::to_string(hello.node);
    default:
      return node + " speaks version " + std::to_string(hello.protocol) + " of the protocol, node 0 speaks version " +
             std::to_string(answer.protocol) + ": the same hiway is needed on all nodes";
  }
}

}  // namespace hiway::detail::nodes
