// Cluster: the processes of one program on one or several machines, as a launcher started them.
#pragma once
#include <memory>

namespace hiway {

namespace detail::nodes {
class Meeting;
}

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
