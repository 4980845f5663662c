// Sockets of a meeting: one that listens, and ones that are connected. All are non-blocking, and no program that this
// one starts has them.
#pragma once
#include <poll.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "lib/nodes/descriptor.hpp"
#include "lib/nodes/place.hpp"

namespace hiway::detail::nodes {

using Deadline = std::chrono::steady_clock::time_point;

/// Waits until one of the sockets is ready; at the deadline nothing is. *Throws* Error if the system cannot do it.
void wait_for(std::span<pollfd> sockets, Deadline until);

/// Where node 0 waits for the others.
class Listener {
 public:
  /// Listens at once. *Throws* Error: the host cannot be resolved, the port is in use, and whatever the system refuses.
  explicit Listener(Place const& place);

  /// Where it listens: its port is a real one.
  [[nodiscard]] Place const& place() const noexcept { return place_; }
  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }
  /// One that has connected; none if there is none, or if it is another user's of this host. *Throws* Error.
  [[nodiscard]] Descriptor accept() const;

 private:
  Place place_;
  Descriptor socket_;
};

/// A connection, or why there is none yet.
struct Attempt {
  Descriptor socket;
  std::string refusal;
};

/// Tries once, at each of the host's addresses. *Throws* Error if there is no such host.
[[nodiscard]] Attempt connect_to(Place const& place, Deadline until);

/// Sends what there is room for: the number of bytes, or -1 with errno set. Raises no SIGPIPE.
[[nodiscard]] std::ptrdiff_t send_some(int socket, std::span<std::byte const> bytes);
/// Likewise what has come; 0: the other end has closed.
[[nodiscard]] std::ptrdiff_t receive_some(int socket, std::span<std::byte> bytes);
/// True if send_some or receive_some failed only because it has to wait.
[[nodiscard]] bool must_wait(int error) noexcept;

}  // namespace hiway::detail::nodes
