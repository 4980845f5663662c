// Port: the one way by which a monitor thread's words and items leave for other nodes, and by which theirs come in.
//
// A port has a context and a worker of its own, so nothing in it is shared between threads of this process. Other nodes
// write its memory (OwnMemory). Its first region is the doorstep:
//
//   word        written by          read by
//   napping     this port           the ports of nodes that are direct (Peer::is_direct)
//   here[k]     node k              this port, in connect()
//
//   N1  A nap misses nothing. From a node that is not direct everything comes as a message, and an armed worker's
//       descriptor tells of it. A direct node stores into this memory, and nothing tells of that. So it rings:
//         this port     napping = 1;       fence (seq_cst);  looks at what arrived; poll
//         the other one stores the words;  fence (seq_cst);  looks at napping, and sends a message if it is 1
//       Of the two looks at least one sees the other side's store. The message makes the descriptor readable, be it
//       sent before the worker was armed (arm says BUSY then) or after it.
//   N2  A port has at most one message of ring() under way to a peer: one that is stopped gathers no more.
//   N3  connect() returns when all endpoints are wired up, its own and those of the others to it. Before that UCX keeps
//       operations in queues that it hands over later, and nothing is said of their order. A node knocks (sends 1);
//       that is done when the endpoint is wired up, for which the other node's progress is needed. Then it sends 2. A
//       node that has seen 2 of all others is needed by none of them any more.
//   N4  Callbacks of UCX only count or note. None starts an operation: it would overtake those that wait their turn.
//   N5  What comes as a message (message.hpp) is copied into place by progress(), whole, in the order in which a node
//       sent it, if the place lies in a region of this port. If not, that node's peer fails.
//   N6  A node that dies takes no other with it. While the nodes run no message makes UCX answer: what UCX sends by
//       itself is where it ends the process if it cannot. It answers what wires endpoints up, and the last flush of one
//       that closes; there it does not (ucp_wireup_msg_progress, uct_tcp_ep_post_put_ack). But what wires up must not
//       wait for a connection: if it fails in UCX's queue, UCX 1.13.1 stops in an assertion
//       (ucp_wireup_ep_pending_purge). So connect() knocks where the connection stands.
//   N7  Of UCX's two transports over shared memory a port has sysv only. With posix too, an endpoint has lanes of both.
//       What a node sent before it died has UCX look once more which of them reach it, and posix, whose files are those
//       of the process, does not any more. Then UCX 1.16 and 1.18 end this process: "endpoint reconfiguration not
//       supported yet". 1.13 and 1.20 do not.
#pragma once
#include <ucp/api/ucp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hiway/machine/machine.hpp"
#include "lib/nodes/ucx/message.hpp"
#include "lib/nodes/ucx/own_memory.hpp"
#include "lib/nodes/ucx/peer.hpp"
#include "lib/nodes/ucx/request.hpp"

namespace hiway::detail::nodes {

/// *Threads*: one. *Lifetime*: outlives the RemoteCopies that use its peers.
class Port {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  using Look = std::function<void()>;

  /// Of node `node` of `size`. UCX's own variables (UCX_TLS, ...) say by what it goes. *Throws* Error.
  Port(int node, int size);
  /// *Waits*: for what is under way, one second at most.
  ~Port();
  Port(Port const&) = delete;
  Port& operator=(Port const&) = delete;

  /// Memory that other nodes write. Only before introduction(). *Throws* Error. *Lifetime*: the port's.
  OwnMemory& allocate(std::size_t bytes);
  /// What all other nodes need to connect().
  [[nodiscard]] Bytes introduction() const;
  /// `introductions` by node. `look` is called again and again meanwhile and throws what ends the wait: by shared
  /// memory UCX does not notice that a node is gone. *Waits*: for all nodes to call it. *Throws* Error that names a
  /// node that did not come in time, or could not be reached.
  void connect(
      std::span<Bytes const> introductions, Deadline until, Look const& look = [] {});
  /// Only after connect(), of another node.
  [[nodiscard]] Peer& peer(int node) { return *peers_[static_cast<std::size_t>(node)]; }

  [[nodiscard]] int node() const noexcept { return static_cast<int>(node_); }
  /// Sends and receives what can be; true if something was. Never waits.
  bool progress() { return ucp_worker_progress(worker_.get()) != 0; }
  /// Starts no operation of its own: it rings a direct peer that naps (N1). Call it after the words' stores.
  void ring(Peer& peer);

  /// Becomes readable when something comes, after begin_nap(). For poll or epoll.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// True: look once more at what has arrived; if nothing has, descriptor() may be waited for. False: something has
  /// come already. Both are followed by end_nap(). *Throws* Error.
  [[nodiscard]] bool begin_nap();
  void end_nap();

 private:
  struct DestroyContext {
    void operator()(ucp_context_h context) const { ucp_cleanup(context); }
  };
  struct DestroyWorker {
    void operator()(ucp_worker_h worker) const { ucp_worker_destroy(worker); }
  };
  using Context = std::unique_ptr<std::remove_pointer_t<ucp_context_h>, DestroyContext>;
  using Worker = std::unique_ptr<std::remove_pointer_t<ucp_worker_h>, DestroyWorker>;

  [[nodiscard]] static Context make_context();
  [[nodiscard]] static Worker make_worker(ucp_context_h context);
  [[nodiscard]] Word<std::uint64_t>& doorstep_word(std::size_t number) const;
  static ucs_status_t heard_message(void* port, void const* head, std::size_t head_bytes, void* bytes,
                                    std::size_t count, ucp_am_recv_param_t const* param);
  void place(MessageHead const& of, void const* bytes, std::size_t count) noexcept;
  template <class Done>
  void await(Peer const& answer, Deadline until, Look const& look, Done done);
  [[nodiscard]] static bool is_open(Peer& peer);
  [[nodiscard]] Request tell(Peer& peer, MessageHead& head, std::uint64_t const& how_far);

  std::size_t node_;
  std::size_t size_;
  Context context_;
  std::vector<std::unique_ptr<OwnMemory>> memory_;  // the doorstep first
  Worker worker_;
  int descriptor_ = -1;
  std::vector<std::unique_ptr<Peer>> peers_;  // by node; null: this one
  std::vector<MessageHead> tell_heads_;       // by node, of messages that may be under way
  std::vector<Request> rings_;                // by node: N2
};

}  // namespace hiway::detail::nodes
