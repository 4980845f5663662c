// Channel: the connection between node 0 and another node, once they have met. Messages go out and come in, in order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/nodes/descriptor.hpp"

namespace hiway::detail::nodes {

using Bytes = std::vector<std::byte>;
constexpr std::size_t most_bytes = std::size_t{64} << 20;  // of one message

[[nodiscard]] inline std::string_view text_of(Bytes const& bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

enum class Kind : std::uint32_t {
  welcome = 1,  ///< from node 0: all are here
  bytes,        ///< of exchange
  text,         ///< of require_same
  failed,       ///< from node 0: why the meeting has ended
  run_beat,     ///< this and those below: of RunNews. Its node is there
  run_over,
  run_failed,
  run_gone,
  run_said,   ///< a text for node 0's log
  run_asked,  ///< from node 0: say what you are doing
  run_clock,  ///< this and the next: of RunParts
  run_piece,
  last = run_piece,
};

[[nodiscard]] constexpr bool is_of_run(Kind kind) noexcept { return kind >= Kind::run_beat; }
[[nodiscard]] constexpr bool is_of_part(Kind kind) noexcept { return kind >= Kind::run_clock; }

struct Message {
  Kind kind = Kind::welcome;
  std::uint32_t node = 0;  ///< whose bytes they are
  std::shared_ptr<Bytes> bytes;
};

/// *Threads*: one.
class Channel {
 public:
  explicit Channel(Descriptor socket) noexcept : socket_(std::move(socket)) {}

  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }
  /// Queues it, unless the connection is broken; step() sends it. *Lifetime*: shares the bytes, which nobody changes
  /// until they are sent.
  void send(Message message);
  [[nodiscard]] bool has_to_send() const noexcept { return !outgoing_.empty(); }
  /// Sends and receives what can be without waiting.
  void step();
  /// The next message that has come; null: there is none. *Lifetime*: until take().
  [[nodiscard]] Message const* next() const noexcept { return incoming_.empty() ? nullptr : &incoming_.front(); }
  /// The same, which is taken away.
  [[nodiscard]] std::optional<Message> take();
  /// Why no more messages come, after those that take() still gives; empty while the connection is open.
  [[nodiscard]] std::string const& broken() const noexcept { return broken_; }
  /// Tells the other end that nothing more comes from this one.
  void finish() noexcept;

 private:
  static constexpr std::size_t head_bytes = 12;  // kind, node, length: words of 32 bits

  struct Outgoing {
    Message message;
    std::size_t sent = 0;  // of its head, then of its bytes
  };

  void send_some();
  [[nodiscard]] bool receive_some();
  [[nodiscard]] bool read_head();

  Descriptor socket_;
  std::deque<Outgoing> outgoing_;
  std::deque<Message> incoming_;
  std::byte head_[head_bytes]{};
  std::size_t head_read_ = 0;
  Message reading_;  // whose head has come
  std::size_t length_ = 0;
  std::string broken_;
};

}  // namespace hiway::detail::nodes
