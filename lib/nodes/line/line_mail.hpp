// LineMail: what one step of a line sends to a node: the copies and words of all of its lanes, as one submission.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hiway/backend.hpp"
#include "lib/nodes/line/network.hpp"

namespace hiway::detail::nodes {

/// *Threads*: the line's. *Lifetime*: ends before the network does.
class LineMail {
 public:
  /// To the line's own node: no copies, and words are stored at once by send().
  LineMail() = default;
  /// Only after Network::connect(), to another node.
  LineMail(Network& network, int node) : network_(&network), node_(node), copies_(network.copies_to(node)) {}
  LineMail(LineMail const&) = delete;
  LineMail& operator=(LineMail const&) = delete;

  /// Where these bytes of that node's memory lie in this process's address space; null: they must be copied there.
  [[nodiscard]] std::byte* here(std::uint64_t address, std::size_t bytes) const {
    return network_ == nullptr ? reinterpret_cast<std::byte*>(address) : network_->here(node_, address, bytes);
  }

  /// At the beginning of a step: looks at what has completed. *Throws* Error that names the node.
  void look();
  /// Whether this step may send; does not change in a step.
  [[nodiscard]] bool has_room() const noexcept { return submitted_ - completed_ < CopyStream::most_under_way; }
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
  Network* network_ = nullptr;  ///< null: to the line's own node
  int node_ = -1;               ///< of others, as is the next
  std::unique_ptr<CopyStream> copies_;
  std::vector<Copy> rows_;
  std::vector<WordCopy> words_;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace hiway::detail::nodes
