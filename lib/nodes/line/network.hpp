// Network: what a line needs of what lies below it. UCX's is lib/nodes/ucx/network.hpp.
//
//   O1  A submission's words (Network::copies_to) are there after its copies, and after all of the submissions before
//       it to the same node. Nothing is said of the order between two nodes.
//   O2  Words must only grow: a submission's may be seen before the last one's, or be skipped.
//   O4  A submission has completed when nothing needs its sources any more. That says nothing of the other end.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "hiway/backend.hpp"
#include "lib/nodes/meeting.hpp"

namespace hiway::detail::nodes {

/// *Threads*: one. *Lifetime*: outlives the streams that it makes.
class Network {
 public:
  virtual ~Network() = default;
  /// Memory that other nodes write, all 0. Once, before connect(). *Throws* Error. *Lifetime*: the network's.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) = 0;
  /// *Waits*: for all nodes to call it. *Throws* Error that names a node.
  virtual void connect(Meeting& meeting, Deadline until) = 0;

  /// Where these bytes of another node's memory lie in this process's address space; null: they must be copied there.
  [[nodiscard]] virtual std::byte* here(int node, std::uint64_t address, std::size_t bytes) = 0;
  /// Targets and words are addresses in that node's memory.
  [[nodiscard]] virtual std::unique_ptr<CopyStream> copies_to(int node) = 0;
  /// Sends and receives what can be; true if something was. Never waits.
  virtual bool progress() = 0;

  /// As in NodeLine: true if nothing has come; look once more at what has arrived then.
  [[nodiscard]] virtual bool begin_nap() = 0;
  virtual void end_nap() = 0;
  [[nodiscard]] virtual int descriptor() const = 0;
};

}  // namespace hiway::detail::nodes
