// ucx_perftest, which comes with UCX, as a floor of bench nodes: a server on one node, a client on another.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace bench {

/// Whether this host has it.
[[nodiscard]] bool has_perftest();

/// A server, for one client. *Threads*: one.
class PerftestServer {
 public:
  /// On a free port. *Throws* std::runtime_error.
  PerftestServer();
  PerftestServer(PerftestServer const&) = delete;
  PerftestServer& operator=(PerftestServer const&) = delete;
  /// *Waits*: for the client to be served, 30 seconds at most.
  ~PerftestServer();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  std::uint16_t port_;
  pid_t process_;
};

/// What a client prints.
struct PerftestFigures {
  double p50_us = 0;  ///< of an iteration
  double per_second = 0;
  std::string wrong{};  ///< empty when it ended well
};

struct PerftestRequest {
  std::string test;  ///< ucp_put_bw, ucp_put_lat
  std::size_t bytes = 0;
  std::uint64_t iterations = 0;
};
/// *Waits*: for the server, 5 seconds at most.
[[nodiscard]] PerftestFigures ask_perftest(std::string const& host, std::uint16_t port, PerftestRequest const& request);

}  // namespace bench
