// What the nodes say of a run begins with the run's number (N2 of run_news.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "lib/nodes/channel.hpp"
#include "lib/nodes/hello.hpp"

namespace hiway::detail::nodes {

constexpr std::size_t number_bytes = 4;  // at the front of a message: its run

/// What is too short to have a number is as old as can be.
[[nodiscard]] inline std::int32_t runs_after(std::uint32_t run, Message const& message) {
  if (message.bytes->size() < number_bytes) return INT32_MIN;
  return static_cast<std::int32_t>(get_word(message.bytes->data()) - run);  // the numbers may wrap
}

[[nodiscard]] inline std::shared_ptr<Bytes> bytes_of_run(std::uint32_t run, std::string_view text) {
  auto bytes = std::make_shared<Bytes>(number_bytes);
  put_word(bytes->data(), run);
  auto const all = std::as_bytes(std::span(text));
  bytes->insert(bytes->end(), all.begin(), all.end());
  return bytes;
}

/// Without the number. *Lifetime*: the message's.
[[nodiscard]] inline std::string_view text_of_run(Message const& message) {
  return text_of(*message.bytes).substr(number_bytes);
}

}  // namespace hiway::detail::nodes
