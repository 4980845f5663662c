#include "lib/nodes/sockets.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <system_error>

#include "hiway/error.hpp"

namespace hiway::detail::nodes {
namespace {

constexpr int kind_of_socket = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
constexpr int most_waiting = 1024;  // connections that are not accepted yet
constexpr std::chrono::seconds one_address_takes{5};

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void give_up(Place const& place, std::string const& why) {
  throw Error("nodes: cannot listen at " + place.text() + ": " + why);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// *Throws* Error, except that the list is empty where the name server asks to try again.
Addresses addresses_of(Place const& place) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int const error = getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &wanted, &found);
  if (error != 0 && error != EAI_AGAIN)
    throw Error("nodes: there is no host '" + place.host + "' (" + place.text() + "): " + gai_strerror(error));
  return {error == 0 ? found : nullptr, &freeaddrinfo};
}

struct UnixAddress {
  explicit UnixAddress(std::string const& name) {
    address.sun_family = AF_UNIX;
    std::size_t const most = sizeof address.sun_path - 1;
    std::memcpy(address.sun_path + 1, name.data(), std::min(name.size(), most));  // after a 0: no file
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::min(name.size(), most));
  }
  [[nodiscard]] sockaddr const* get() const { return reinterpret_cast<sockaddr const*>(&address); }

  sockaddr_un address{};
  socklen_t length = 0;
};

void set(int socket, int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof value); }

/// Small messages go at once, and a host that is cut off is noticed within 20 seconds.
void prepare_tcp(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 20000);
}

bool is_own_user(int socket) {
  ucred other{};
  socklen_t length = sizeof other;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 && other.uid == geteuid();
}

bool is_loopback(addrinfo const& address) {
  if (address.ai_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, address.ai_addr, sizeof in);
    return (ntohl(in.sin_addr.s_addr) >> 24) == 127;
  }
  sockaddr_in6 in{};
  std::memcpy(&in, address.ai_addr, sizeof in);
  return address.ai_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in.sin6_addr) != 0;
}

/// True if the host is written as this host itself. A host's own name often has a loopback address, too, at which other
/// hosts do not reach it.
bool means_this_host(Place const& place) {
  return place.host == "localhost" || place.host == "::1" || place.host.starts_with("127.");
}

/// 0, or the error.
int listen_on(Descriptor& socket, sockaddr const* address, socklen_t length) {
  socket = Descriptor(::socket(address->sa_family, kind_of_socket, 0));
  if (!socket) return errno;
  if (address->sa_family != AF_UNIX) set(socket.number(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address->sa_family == AF_INET6) set(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (bind(socket.number(), address, length) != 0 || listen(socket.number(), most_waiting) != 0) return errno;
  return 0;
}

/// At all addresses of this host. 0, or the error.
int listen_everywhere(Descriptor& socket, std::uint16_t port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  int const error = listen_on(socket, reinterpret_cast<sockaddr const*>(&six), sizeof six);
  if (error != EAFNOSUPPORT && error != EADDRNOTAVAIL) return error;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  return listen_on(socket, reinterpret_cast<sockaddr const*>(&four), sizeof four);
}

/// 0, or the error.
int listen_at(Descriptor& socket, Place const& place) {
  if (place.is_local()) {
    UnixAddress const address(place.name);
    return listen_on(socket, address.get(), address.length);
  }
  Addresses const addresses = addresses_of(place);
  if (!means_this_host(place)) return listen_everywhere(socket, place.port);
  int error = EADDRNOTAVAIL;
  for (addrinfo const* one = addresses.get(); one != nullptr; one = one->ai_next) {
    if (is_loopback(*one)) error = listen_on(socket, one->ai_addr, one->ai_addrlen);
    if (error == 0 || error == EADDRINUSE) break;
  }
  return error;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) != 0) return 0;
  sockaddr_in in{};  // the port is at the same place in an IPv6 address
  std::memcpy(&in, &own, sizeof in);
  return ntohs(in.sin_port);
}

/// A connection to a port of this host from which the system has chosen the same port for this end.
bool is_to_itself(int socket) {
  sockaddr_storage own{}, other{};
  socklen_t own_length = sizeof own, other_length = sizeof other;
  return getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
         getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_length) == 0 && own_length == other_length &&
         std::memcmp(&own, &other, own_length) == 0;
}

Attempt connect_once(sockaddr const* address, socklen_t length, Deadline until) {
  Descriptor socket(::socket(address->sa_family, kind_of_socket, 0));
  if (!socket) return {{}, reason(errno)};
  int error = connect(socket.number(), address, length) == 0 ? 0 : errno;
  if (error == EINPROGRESS || error == EINTR) {
    pollfd ready{socket.number(), POLLOUT, 0};
    wait_for({&ready, 1}, until);
    if (ready.revents == 0) return {{}, reason(ETIMEDOUT)};
    socklen_t bytes = sizeof error;
    if (getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  }
  if (error != 0) return {{}, reason(error)};
  if (address->sa_family == AF_UNIX) {
    if (!is_own_user(socket.number())) return {{}, "it is another user's"};
    return {std::move(socket), {}};
  }
  if (is_to_itself(socket.number())) return {{}, reason(ECONNREFUSED)};
  prepare_tcp(socket.number());
  return {std::move(socket), {}};
}

}  // namespace

void wait_for(std::span<pollfd> sockets, Deadline until) {
  using std::chrono::milliseconds;
  for (;;) {
    auto const left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    auto const most = std::clamp(left, milliseconds(0), milliseconds(1'000'000));
    int const ready = poll(sockets.data(), sockets.size(), static_cast<int>(most.count()));
    if (ready > 0 || (ready == 0 && left <= most)) return;
    if (ready < 0 && errno != EINTR) throw Error("nodes: cannot wait for the other nodes: " + reason(errno));
  }
}

Listener::Listener(Place const& place) : place_(place) {
  int const error = listen_at(socket_, place);
  if (error == EADDRINUSE) give_up(place, "it is in use; HIWAY_MEET may name another place");
  if (error != 0) give_up(place, reason(error));
  if (!place.is_local()) place_.port = port_of(socket_.number());
}

Descriptor Listener::accept() const {
  Descriptor socket(accept4(socket_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    bool const no_room = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (no_room) give_up(place_, reason(errno));
    return {};  // it has gone again, or failed by itself
  }
  if (!place_.is_local()) {
    prepare_tcp(socket.number());
    return socket;
  }
  return is_own_user(socket.number()) ? std::move(socket) : Descriptor{};
}

Attempt connect_to(Place const& place, Deadline until) {
  if (place.is_local()) {
    UnixAddress const address(place.name);
    return connect_once(address.get(), address.length, until);
  }
  Addresses const addresses = addresses_of(place);
  Attempt last{{}, "its name cannot be looked up for now"};
  for (addrinfo const* one = addresses.get(); one != nullptr; one = one->ai_next) {
    Deadline const soon = std::min(until, std::chrono::steady_clock::now() + one_address_takes);
    last = connect_once(one->ai_addr, one->ai_addrlen, soon);
    if (last.socket) break;
  }
  return last;
}

std::ptrdiff_t send_some(int socket, std::span<std::byte const> bytes) {
  std::ptrdiff_t sent = 0;
  do {
    sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

std::ptrdiff_t receive_some(int socket, std::span<std::byte> bytes) {
  std::ptrdiff_t received = 0;
  do {
    received = ::recv(socket, bytes.data(), bytes.size(), 0);
  } while (received < 0 && errno == EINTR);
  return received;
}

bool must_wait(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace hiway::detail::nodes
