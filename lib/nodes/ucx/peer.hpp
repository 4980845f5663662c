// Peer: another node as one port reaches it: the endpoint, and the memory that can be written there.
//
//   P1  UCX's errors of the endpoint are kept, in a callback that only progress() runs; later calls throw them. They
//       are a help, not the guard: a direct peer may be dead, and stores into its memory go on. That it is gone is what
//       the meeting's connections tell.
//   P2  All regions of a node are reached in one way, either by this thread's own stores (`is_direct`) or by
//       messages. It is looked at once, when the keys are unpacked; a peer of both kinds is refused.
#pragma once
#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hiway/machine/machine.hpp"
#include "lib/nodes/ucx/introduction.hpp"
#include "lib/nodes/ucx/request.hpp"

namespace hiway::detail::nodes {

/// *Threads*: the port's. *Lifetime*: ends before the port's worker does.
class Peer {
 public:
  /// *Throws* Error that names the node.
  Peer(ucp_worker_h worker, int node, Introduction const& introduction);
  /// Takes the keys of its memory. Before anything else is asked of the peer. *Throws* Error that names the node.
  void unpack(Introduction const& introduction);
  Peer(Peer const&) = delete;
  Peer& operator=(Peer const&) = delete;

  [[nodiscard]] int node() const noexcept { return node_; }
  [[nodiscard]] ucp_ep_h endpoint() const noexcept { return endpoint_; }
  /// Its memory is in this process's address space, too: the node is on this host, and UCX may use shared memory.
  [[nodiscard]] bool is_direct() const noexcept { return regions_.front().here != nullptr; }
  /// Where its first region lies in its address space.
  [[nodiscard]] std::uint64_t doorstep() const noexcept { return regions_.front().address; }

  /// *Throws* Error if that node has told of no such memory.
  void require_memory(std::uint64_t address, std::size_t bytes) { (void)region(address, bytes); }
  /// Where they lie in this process's address space. Of direct peers. *Throws* likewise.
  [[nodiscard]] std::byte* here(std::uint64_t address, std::size_t bytes) {
    Region const& at = region(address, bytes);
    return at.here + (address - at.address);
  }
  /// *Throws* Error if the endpoint has failed.
  void require_alive() const;
  [[nodiscard]] bool has_failed() const noexcept { return failure_ != UCS_OK; }
  void fail(ucs_status_t status) noexcept {
    if (failure_ == UCS_OK) failure_ = status;
  }
  /// Gives the keys back, and begins to end the endpoint, after what is under way; one that has failed ends with the
  /// worker. The last call.
  [[nodiscard]] Request close();

 private:
  struct DestroyKey {
    void operator()(ucp_rkey_h key) const { ucp_rkey_destroy(key); }
  };
  struct Region {
    std::uint64_t address;
    std::uint64_t bytes;
    std::unique_ptr<std::remove_pointer_t<ucp_rkey_h>, DestroyKey> key;  // as long as `here` is used
    std::byte* here;  // in this process's address space; null unless the peer is direct

    [[nodiscard]] bool has(std::uint64_t at, std::size_t count) const noexcept {
      return at >= address && count <= bytes && at - address <= bytes - count;
    }
  };

  [[nodiscard]] Region const& region(std::uint64_t address, std::size_t bytes);

  int node_;
  ucp_ep_h endpoint_ = nullptr;
  std::vector<Region> regions_;
  std::size_t last_ = 0;           // the region that was asked for last
  ucs_status_t failure_ = UCS_OK;  // P1
};

}  // namespace hiway::detail::nodes
