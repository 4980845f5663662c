// Cluster: the processes of one program on one or several machines, as a launcher started them.
#pragma once
#include <chrono>
#include <memory>
#include <vector>

namespace hiway {

namespace detail::nodes {

class Meeting;
class NodeLine;
struct Departure;
struct Arrival;

/// Makes the line of a pipeline whose tunnels have these ends (lib/nodes/node_line.hpp); all nodes call it. *Waits*:
/// for all nodes, until the deadline. *Throws* Error.
using MakeNodeLine = std::unique_ptr<NodeLine> (*)(Meeting& meeting, std::vector<Departure> departures,
                                                   std::vector<Arrival> arrivals,
                                                   std::chrono::steady_clock::time_point until);
/// *Threads*: before main, or one at a time. Returns true.
bool register_node_line(MakeNodeLine make) noexcept;
/// Defined in the library hiway::nodes (lib/nodes/ucx).
[[nodiscard]] MakeNodeLine ucx_node_line() noexcept;
#if defined(HIWAY_HAS_NODES)  // by the target hiway::nodes
inline bool const node_line_is_registered = register_node_line(ucx_node_line());
#endif

}  // namespace detail::nodes

/// The nodes of a program: its processes, by number. mpirun, mpiexec, srun, torchrun, `hiway launch` or HIWAY_NODES
/// with HIWAY_NODE say how many there are (docs/nodes.md); without them there is one, which costs nothing: no socket,
/// no thread. *Threads*: one at a time.
class Cluster {
 public:
  /// Finds the other nodes. *Waits*: for all of them, 30 seconds or HIWAY_MEET_SECONDS. *Throws* ConfigError if the
  /// launcher's variables make no sense, or if the nodes do not agree on them; Error if a node does not come.
  Cluster();
  /// The other nodes see that this one is gone.
  ~Cluster();
  Cluster(Cluster const&) = delete;
  Cluster& operator=(Cluster const&) = delete;

  /// This process's number, from 0.
  [[nodiscard]] int node() const noexcept { return node_; }
  /// How many nodes there are.
  [[nodiscard]] int size() const noexcept { return size_; }

 private:
  friend struct ClusterAccess;

  int node_ = 0;
  int size_ = 1;
  std::unique_ptr<detail::nodes::Meeting> meeting_;  // null: one node
};

}  // namespace hiway
