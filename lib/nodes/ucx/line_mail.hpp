// LineMail: what one step of a line sends to a node: the copies and words of all of its lanes, as one submission.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hiway/backend.hpp"
#include "lib/nodes/ucx/port.hpp"
#include "lib/nodes/ucx/remote_copies.hpp"

namespace hiway::detail::nodes {

/// *Threads*: the port's. *Lifetime*: ends before the port does.
class LineMail {
 public:
  /// To the port's own node: no copies, and words are stored at once by send().
  LineMail() = default;
  /// Only after Port::connect(), to another node.
  LineMail(Port& port, int node) : peer_(&port.peer(node)), copies_(std::in_place, port, node) {}
  LineMail(LineMail const&) = delete;
  LineMail& operator=(LineMail const&) = delete;

  /// Where these bytes of that node's memory lie in this process's address space; null: they must be copied there.
  [[nodiscard]] std::byte* here(std::uint64_t address, std::size_t bytes) const {
    if (peer_ == nullptr) return reinterpret_cast<std::byte*>(address);
    return peer_->is_direct() ? peer_->here(address, bytes) : nullptr;
  }

  /// At the beginning of a step: looks at what has completed. *Throws* Error that names the node.
  void look();
  /// Whether this step may send; does not change in a step.
  [[nodiscard]] bool has_room() const noexcept { return submitted_ - completed_ < RemoteCopies::most_under_way; }
  /// Until send(), nobody changes the source; nor after it, until `next()`, as it was before, has completed.
  void add(Copy const& copy) { rows_.push_back(copy); }
  void add(std::uint64_t word, std::uint64_t value) {
    words_.push_back({reinterpret_cast<Word<std::uint64_t>*>(word), value});
  }
  /// At the end of a step; true if there was something to send.
  bool send();
  /// Forgets what was added.
  void drop() noexcept;

  /// The number of the submission that send() makes.
  [[nodiscard]] std::uint64_t next() const noexcept { return submitted_ + 1; }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }
  [[nodiscard]] bool is_idle() const noexcept { return submitted_ == completed_ && rows_.empty() && words_.empty(); }

 private:
  Peer* peer_ = nullptr;                ///< null: the port's own node
  std::optional<RemoteCopies> copies_;  ///< to others
  std::vector<Copy> rows_;
  std::vector<WordCopy> words_;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace hiway::detail::nodes
