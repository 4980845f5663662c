// Meeting: the processes of one program, connected. Node 0 has a connection to each of the others, and they to it: what
// one says to all goes by way of node 0.
//
//   The connections stay open as long as the Meeting lives. A node that ends or is killed closes its own. Node 0 sees
//   it in its call, or at its next one, and tells the others which node it was; so their calls end, too. If node 0
//   itself is gone, all others see it. After that no call works any more.
//
// There is no thread: nothing moves between calls.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/nodes/channels.hpp"
#include "lib/nodes/joining.hpp"
#include "lib/nodes/launcher.hpp"

namespace hiway::detail::nodes {

/// *Threads*: one.
class Meeting {
 public:
  /// *Waits*: until all nodes are here. *Throws* ConfigError or Error.
  explicit Meeting(Launch const& launch);
  /// The same at node 0, with the place where it listens already.
  Meeting(Launch const& launch, Listener const& listener);
  /// All are here: the node has its connections.
  Meeting(Launch const& launch, Channels channels) : launch_(launch), channels_(std::move(channels)) {}
  Meeting(Meeting const&) = delete;
  Meeting& operator=(Meeting const&) = delete;

  [[nodiscard]] int node() const noexcept { return launch_.node; }
  [[nodiscard]] int size() const noexcept { return launch_.size; }

  /// Each node gives up to 64 MiB and gets what all have given, by number. All nodes call the same functions in the
  /// same order. *Waits*: for all nodes to call. *Throws* Error that names the node, as soon as one is gone;
  /// MisuseError without harm to the others if there are too many bytes.
  [[nodiscard]] std::vector<Bytes> exchange(std::span<std::byte const> mine);
  /// Each node gives a text. *Waits* likewise. *Throws*, besides, on all nodes the same ConfigError if the texts
  /// differ: it names `what`, a node and a line. The meeting goes on then.
  void require_same(std::string_view what, std::string_view text);

  /// For what is said while a run is under way (RunNews), which calls pass over.
  [[nodiscard]] Channels const& channels() const noexcept { return channels_; }
  /// The number of a run that begins, of whichever pipeline. All nodes begin the same runs in the same order.
  [[nodiscard]] std::uint32_t count_run() noexcept { return ++runs_; }
  /// *Throws* Error if no call works any more.
  void require_whole() const;
  /// Where something else has failed that may come of it: *throws* Error that names the node as soon as it is known
  /// that one is gone; after that no call works any more. *Waits*: until the deadline.
  void require_all_here(Deadline until);
  /// From now on no call works any more.
  void give_up(std::string_view why) { failed_ = why; }

 private:
  using Shared = std::vector<std::shared_ptr<Bytes>>;

  [[nodiscard]] std::vector<Bytes> round(Kind kind, std::span<std::byte const> mine);
  void gather_all(Kind kind, Shared& given);
  void hand_out(Kind kind, Shared const& given);
  void ask_node_0(Kind kind, Shared& given);
  [[noreturn]] void fail_as_told(Channel& node_0, Message const& why);
  [[noreturn]] void fail(std::string const& why);

  Launch launch_;
  Channels channels_;
  std::uint32_t runs_ = 0;
  std::string failed_;  // why no call works any more
};

}  // namespace hiway::detail::nodes
