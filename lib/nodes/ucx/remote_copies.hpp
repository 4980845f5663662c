// RemoteCopies: a stream of copies into another node's memory, and of words there that tell of them.
//
//   a direct peer (peer.hpp)  a memcpy for each row of each copy; a store by release for each word; ring (port.hpp N1)
//   the others                messages for each row of each copy; one for each word (message.hpp)
//
// What a line's network must keep (lib/nodes/line/network.hpp), and what else holds here:
//
//   O1  A submission's words arrive after its copies, and after all of the submissions before it.
//       - Direct: the same thread makes them in this order, the words by release; the other side acquires.
//       - Messages: UCX promises no order. It holds for TCP, by version 1.13.1's sources: all messages go by the
//         endpoint's one lane for them, on one connection. The other end's progress() copies each into place before it
//         reads the next one. Messages that find the socket full wait in one queue, first in, first out. None passes
//         it: it holds something only while the socket is full, and only progress() tries the socket again, which
//         empties the queue first (port.hpp N3, N4). There is no rendezvous. A message is one of UCX's own; if
//         UCX_TCP_TX_SEG_SIZE makes it several, they follow one another on the same lane (UCX_MAX_EAGER_RAILS is 1),
//         and the message is there with the last of them. Another transport needs a proof of its own.
//   O2  So words of one tunnel arrive in the order of submissions. They must only grow: a submission's may be seen
//       before the last one's, or be skipped (arrived_words.hpp).
//   O3  Both ways must not mix: a word stored directly would overtake items that wait in a socket. A peer's regions are
//       all of one kind (peer.hpp P2).
//   O4  A submission has completed when nothing needs its sources any more; a direct one at once. UCX keeps sources,
//       and the values of words, until it has handed them on. That says nothing of the other end: words do.
//   O5  Nothing waits. What the network does not take stays in UCX's queues, at most `most_under_way` submissions.
#pragma once
#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "hiway/backend.hpp"
#include "lib/nodes/ucx/message.hpp"
#include "lib/nodes/ucx/port.hpp"

namespace hiway::detail::nodes {

/// Targets and words are addresses in the other node's memory. *Threads*: the port's.
class RemoteCopies final : public CopyStream {
 public:
  RemoteCopies(Port& port, int node);
  /// *Waits*: for what is under way, one second at most.
  ~RemoteCopies() override;
  RemoteCopies(RemoteCopies const&) = delete;
  RemoteCopies& operator=(RemoteCopies const&) = delete;

  /// *Throws* Error that names the node; MisuseError if a word is not aligned, or if most_under_way are under way.
  std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) override;
  /// Makes progress. *Throws* Error that names the node.
  std::uint64_t completed() override;

 private:
  /// Submission n has number n mod most_under_way until it has completed.
  struct Submission {
    std::uint64_t under_way = 0;  // messages
    ucs_status_t failure = UCS_OK;
    std::deque<MessageHead> heads;     // of its messages: not moved while they are under way
    std::deque<std::uint64_t> values;  // of its words, likewise
  };
  using Submissions = std::array<Submission, most_under_way>;

  void submit_directly(std::span<Copy const> copies, std::span<WordCopy const> words);
  void send(Submission& of, std::byte const* source, std::uintptr_t target, std::size_t bytes);
  void send_one(Submission& of, std::byte const* source, std::uintptr_t target, std::size_t bytes);
  [[nodiscard]] Submission& number(std::uint64_t n) { return (*submissions_)[n % most_under_way]; }

  Port& port_;
  Peer& peer_;
  std::unique_ptr<Submissions> submissions_;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace hiway::detail::nodes
