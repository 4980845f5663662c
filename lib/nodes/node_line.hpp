// NodeLine: carries a pipeline's items to other nodes and from them. Below this seam is the network (ucx/); above it
// are a pipeline's ordinary tunnels.
//
// A tunnel that leads to other nodes is an ordinary tunnel on each of them (docs/adr/0049). Where it is put, the line
// reads its open outlet (a Departure); where it is got, the line puts into its open inlet (an Arrival). Between a
// departure and each arrival of the same tunnel the line has a lane: up to `capacity_items` slots in the arrival's
// node's memory.
//
//   L1  A task of the departure's outlet ends when its item has been put into the arrival's inlet. So an item is
//       always in a tunnel of some node whose end check counts it.
//   L2  An arrival's inlet closes when the outlets of all its departures have ended. By L1 nothing is on its way then.
//   L3  Items of one departure to one node keep their order.
//   L4  An item goes to the node that has room for it first: readers on several nodes share a tunnel's items by demand.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "hiway/cluster.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/outlet/view.hpp"

namespace hiway::detail::nodes {

/// Where a tunnel's items leave this node.
struct Departure {
  std::uint32_t tunnel = 0;  ///< the same number on all nodes
  OutletView outlet;         ///< open, on a CPU thread
  std::size_t item_bytes = 0;
  std::size_t capacity_items = 0;  ///< of each lane, at most
  std::vector<int> to;             ///< nodes; may have this one among them
};

/// Where a tunnel's items come to this node.
struct Arrival {
  std::uint32_t tunnel = 0;
  InletView inlet;  ///< open, on a CPU thread
  std::size_t item_bytes = 0;
  std::size_t capacity_items = 0;
  std::vector<int> from;  ///< nodes; may have this one among them
};

/// *Threads*: one.
class NodeLine {
 public:
  virtual ~NodeLine() = default;
  /// Before each run; all nodes call it. Nothing of an earlier run comes after it. `run` is its number, from 1, the
  /// same on all nodes, and larger each time; some may be left out, and on some nodes only. `look` is called again and
  /// again meanwhile and throws what ends the wait, as that a node is gone. *Waits*: for all nodes. *Throws* Error.
  virtual void begin(std::uint64_t run, std::function<void()> const& look) = 0;
  /// One step: sends and receives what can be; true if something moved. Never waits. *Throws* Error that names the
  /// node; Unwind if the run aborts.
  virtual bool step() = 0;
  /// Every departure has ended and has told so, and every arrival is closed.
  [[nodiscard]] virtual bool is_done() const = 0;
  /// All other nodes' memory lies in this process's address space: what a step sends is there at once, and takes no
  /// message.
  [[nodiscard]] virtual bool is_near() const = 0;

  /// For naps. True: nothing has come, and descriptor() becomes readable when something does. Both are followed by
  /// end_nap(). *Throws* Error.
  [[nodiscard]] virtual bool begin_nap() = 0;
  virtual void end_nap() = 0;
  [[nodiscard]] virtual int descriptor() const = 0;
};

/// What register_node_line() was given last; null if nothing.
[[nodiscard]] MakeNodeLine registered_node_line() noexcept;

}  // namespace hiway::detail::nodes
