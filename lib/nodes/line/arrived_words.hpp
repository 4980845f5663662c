// ArrivedWords: words that other nodes have written into this node's memory, handed on to the words that tunnels read.
//
//   word      written by                               read by
//   landing   the other node: directly, or through     step() alone, in the line's thread, after that
//             the network's progress()
//   local     step() alone                             relays, by acquire
//
//   W1  A landing word's values grow. What is read of it is never more than the last value that was sent, and
//       everything that value v tells of has arrived when anything above the value before v is read:
//       - A word that a direct node stores is eight aligned bytes, by one store: it is read whole. The store follows
//         the node's fence (network.hpp O1), and the load acquires.
//       - A word that progress() stores is stored by this thread, after the items, and whole
//         (lib/nodes/ucx/port.hpp N5).
//         Nothing would be lost if it had come in part, lowest byte first: the first bytes of the new value v, then
//         the last ones of the old value u. The upper part is u's then, and what is read is less than v if the upper
//         parts differ, and v otherwise.
//   W2  A value in part might also be less than u. So a local word only takes what is more than it has: it grows, and
//       lies between u and v until v is there.
//   W3  A number told to tunnels counts items, all of which are there up to it. So a number between u and v is as good.
//   W4  Local words are stored by release after the landing word was read: what is acquired there is whole.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "hiway/machine/thread_machine.hpp"

namespace hiway::detail::nodes {

static_assert(std::endian::native == std::endian::little);  // W1

/// *Threads*: the line's.
class ArrivedWords {
 public:
  /// From now on step() hands on `landing`, which other nodes write. Both words are equal at this time.
  void add(Word<std::uint64_t>& landing, Word<std::uint64_t>& local) { pairs_.push_back({&landing, &local}); }

  /// Hands on what has come, after Network::progress(); true if something had. Never waits.
  bool step() {
    ThreadMachine const m;
    bool news = false;
    for (Pair const& pair : pairs_) {
      std::uint64_t const value = m.load(*pair.landing, MemoryOrder::acquire);  // W1
      if (value <= m.load(*pair.local, MemoryOrder::relaxed)) continue;         // W2
      m.store(*pair.local, value, MemoryOrder::release);                        // W4
      news = true;
    }
    return news;
  }

 private:
  struct Pair {
    Word<std::uint64_t>* landing;
    Word<std::uint64_t>* local;
  };
  std::vector<Pair> pairs_;
};

}  // namespace hiway::detail::nodes
