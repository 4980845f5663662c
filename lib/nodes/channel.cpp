#include "lib/nodes/channel.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "lib/nodes/hello.hpp"
#include "lib/nodes/sockets.hpp"

namespace hiway::detail::nodes {
namespace {

constexpr std::size_t piece_bytes = std::size_t{256} << 10;
constexpr int pieces_at_once = 8;  // then the other channels have their turn

}  // namespace

void Channel::send(Message message) {
  if (!broken_.empty()) return;
  if (message.bytes == nullptr) message.bytes = std::make_shared<Bytes>();
  outgoing_.push_back({std::move(message), 0});
}

void Channel::step() {
  send_some();
  for (int i = 0; i < pieces_at_once && broken_.empty(); ++i) {
    if (!receive_some()) break;
  }
  if (!broken_.empty()) outgoing_.clear();
}

void Channel::send_some() {
  while (!outgoing_.empty()) {
    auto& [message, sent] = outgoing_.front();
    std::byte head[head_bytes];
    put_word(head, static_cast<std::uint32_t>(message.kind));
    put_word(head + 4, message.node);
    put_word(head + 8, static_cast<std::uint32_t>(message.bytes->size()));
    std::span<std::byte const> const rest = sent < head_bytes
                                                ? std::span<std::byte const>(head).subspan(sent)
                                                : std::span<std::byte const>(*message.bytes).subspan(sent - head_bytes);
    if (rest.empty()) {
      outgoing_.pop_front();
      continue;
    }
    std::ptrdiff_t const now = detail::nodes::send_some(socket_.number(), rest);
    if (now < 0) {
      // The other end has closed. What it said before is still to be read: it may say why.
      if (!must_wait(errno)) outgoing_.clear();
      return;
    }
    sent += static_cast<std::size_t>(now);
  }
}

/// False: there is nothing more for now.
bool Channel::receive_some() {
  std::span<std::byte> room;
  if (head_read_ < head_bytes) {
    room = std::span(head_).subspan(head_read_);
  } else {
    Bytes& bytes = *reading_.bytes;
    std::size_t const had = bytes.size();
    bytes.resize(std::min(length_, had + piece_bytes));  // grows with what comes, not with what is announced
    room = std::span(bytes).subspan(had);
  }
  std::ptrdiff_t const now = detail::nodes::receive_some(socket_.number(), room);
  int const error = errno;
  std::size_t const got = now > 0 ? static_cast<std::size_t>(now) : 0;
  if (head_read_ == head_bytes) reading_.bytes->resize(reading_.bytes->size() - room.size() + got);
  if (now < 0 && must_wait(error)) return false;
  if (now <= 0) {
    broken_ = now == 0 ? "its connection was closed" : std::generic_category().message(error);
    return false;
  }
  if (head_read_ < head_bytes) {
    head_read_ += got;
    if (head_read_ < head_bytes) return true;
    if (!read_head()) return false;
  }
  if (reading_.bytes->size() == length_) {
    incoming_.push_back(std::exchange(reading_, {}));
    head_read_ = 0;
  }
  return true;
}

/// False: it is none.
bool Channel::read_head() {
  std::uint32_t const kind = get_word(head_);
  length_ = get_word(head_ + 8);
  bool const known =
      kind >= static_cast<std::uint32_t>(Kind::welcome) && kind <= static_cast<std::uint32_t>(Kind::last);
  if (!known || length_ > most_bytes) {
    broken_ = "it sent what is no message";
    return false;
  }
  reading_ = {static_cast<Kind>(kind), get_word(head_ + 4), std::make_shared<Bytes>()};
  return true;
}

std::optional<Message> Channel::take() {
  if (incoming_.empty()) return std::nullopt;
  Message message = std::move(incoming_.front());
  incoming_.pop_front();
  return message;
}

void Channel::finish() noexcept { shutdown(socket_.number(), SHUT_WR); }

}  // namespace hiway::detail::nodes
