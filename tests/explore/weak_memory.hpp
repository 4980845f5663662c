// WeakMemory: which values a load may bring, and which steps are ordered before which, by views of C++11's release and
// acquire (Kang et al., POPL 2017, without promises).
//
//   message   a value that a word has had, with the view of whoever released it
//   view      of a fiber: for each word the oldest message that it may still read, for each fiber how far that fiber's
//             steps happen before its own next one. Views are joined by the greater of each
//
//   V1  a load reads its word's newest message or an older one that the view allows; never again one before it
//   V2  an acquire joins the message's view. A relaxed read keeps it for a later fence
//   V3  a release gives its message the view of all that its fiber did and saw; a relaxed write, the view of the last
//       fence. A read-modify-write reads the newest message, hands its view on, and so continues a release sequence
//   V4  a fence (seq_cst) is an acquire of all that was read, a release for all that follows, and joins the words' part
//       of one view that all fences share. An acquire fence is the first of these, a release fence the second
//   V5  sync_warp joins the views of its lanes; ballot and shuffle order nothing
//   V6  two accesses to plain memory, one of them a write, of which neither happens before the other are a race
// What it cannot do: a load never reads what is written later (no load buffering), and a write is its word's newest. An
// order that only these two need passes.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "hiway/machine/machine.hpp"

namespace hiway::explore {

/// Why a schedule is wrong; thrown by worlds, in a fiber or in their check.
struct Failure {
  std::string why;
};

/// A fault of the whole memory, for tests of what depends on it: what no access, or no operation of a warp, does.
enum class Weaken : std::uint8_t { nothing, releases, acquires, fences, warp_syncs };

class WeakMemory {
 public:
  static constexpr unsigned most_fibers = 16;
  static constexpr unsigned most_words = 112;
  static constexpr unsigned most_items = 32;
  static constexpr unsigned depth = 4;  ///< messages of a word that can be read

  using Stamp = std::int16_t;  ///< a schedule of at most_points steps makes fewer

  void begin(unsigned fibers, Weaken weaken) {
    weaken_ = weaken;
    words_.clear();
    items_.clear();
    fences_ = {};
    for (unsigned f = 0; f < fibers; ++f) {
      fibers_[f] = {};
      fibers_[f].now.steps[f] = 1;
    }
  }

  /// A word's number. `value` is what it holds; whoever changes it, tells.
  unsigned word(void const* address, std::uint64_t value) {
    bool fresh = false;
    unsigned const number = words_.number(address, fresh);
    WordState& w = states_[number];
    if (fresh) {
      w.newest = 0;
      w.messages[0] = {value, {}};
    }
    if (newest(w).value != value) throw Failure{"a word has changed behind the explorer's back"};
    return number;
  }
  /// How many messages of `word` the fiber may read.
  [[nodiscard]] unsigned readable(unsigned fiber, unsigned word) const {
    int const unseen = states_[word].newest - fibers_[fiber].now.words[word];
    return std::min<unsigned>(static_cast<unsigned>(unseen) + 1, depth);
  }
  /// What a load of the `age`-th newest message brings.
  std::uint64_t load(unsigned fiber, unsigned word, unsigned age, MemoryOrder order) {
    WordState const& w = states_[word];
    auto const stamp = static_cast<Stamp>(w.newest - static_cast<Stamp>(age));
    Message const& message = w.messages[static_cast<unsigned>(stamp) % depth];
    read(fibers_[fiber], word, stamp, message, order);
    return message.value;
  }
  void store(unsigned fiber, unsigned word, std::uint64_t value, MemoryOrder order) {
    write(fiber, word, value, order, nullptr);
  }
  /// A read-modify-write that leaves `value`.
  void exchange(unsigned fiber, unsigned word, std::uint64_t value, MemoryOrder order) {
    WordState const& w = states_[word];
    View const before = newest(w).view;
    read(fibers_[fiber], word, w.newest, newest(w), order);
    write(fiber, word, value, order, &before);
  }
  void fence(unsigned fiber) {  // V4
    if (weaken_ == Weaken::fences) return;
    Fiber& f = fibers_[fiber];
    f.now.join(f.unacquired);
    f.now.join_words(fences_);
    fences_.join_words(f.now);
    release(fiber, f.fenced);
  }
  /// A fence of each of `fibers` fibers, all of them at one moment.
  void fence_all(unsigned fibers) {
    for (int twice = 0; twice != 2; ++twice) {  // so that each sees what all others have done
      for (unsigned fiber = 0; fiber != fibers; ++fiber) fence(fiber);
    }
  }
  void acquire_fence(unsigned fiber) {
    if (weaken_ != Weaken::acquires) fibers_[fiber].now.join(fibers_[fiber].unacquired);
  }
  void release_fence(unsigned fiber) {
    if (weaken_ != Weaken::releases) release(fiber, fibers_[fiber].fenced);
  }
  /// `for_each(visit)` visits each fiber.
  template <class ForEach>
  void synchronize(ForEach&& for_each) {  // V5
    if (weaken_ == Weaken::warp_syncs) return;
    View all;
    for_each([&](unsigned fiber) { release(fiber, all); });
    for_each([&](unsigned fiber) { fibers_[fiber].now.join(all); });
  }

  // Plain memory, by the address of what is read and written as a whole.

  void read_item(unsigned fiber, void const* address) {  // V6
    Item& item = item_at(address);
    View const& now = fibers_[fiber].now;
    if (item.written > now.steps[item.writer]) throw Failure{"a race: an item is read that may not be written yet"};
    item.read[fiber] = now.steps[fiber];
  }
  void write_item(unsigned fiber, void const* address) {
    Item& item = item_at(address);
    View const& now = fibers_[fiber].now;
    if (item.written > now.steps[item.writer]) throw Failure{"a race: an item is written twice at once"};
    for (unsigned f = 0; f < most_fibers; ++f) {
      if (item.read[f] > now.steps[f] && f != fiber) throw Failure{"a race: an item is written that may be read still"};
    }
    item = {static_cast<std::uint8_t>(fiber), now.steps[fiber], {}};
  }

 private:
  struct alignas(32) View {
    std::array<Stamp, most_fibers> steps{};
    std::array<Stamp, most_words> words{};
    void join(View const& other) {
      for (unsigned i = 0; i < most_fibers; ++i) steps[i] = std::max(steps[i], other.steps[i]);
      join_words(other);
    }
    void join_words(View const& other) {
      for (unsigned i = 0; i < most_words; ++i) words[i] = std::max(words[i], other.words[i]);
    }
  };
  struct Message {
    std::uint64_t value = 0;
    View view;
  };
  struct WordState {
    Stamp newest = 0;
    std::array<Message, depth> messages;
  };
  struct Fiber {
    View now;
    View unacquired;  ///< of what it read relaxed
    View fenced;      ///< what its last fence released
  };
  struct Item {
    std::uint8_t writer = 0;
    Stamp written = 0;  ///< 0: before the schedule
    std::array<Stamp, most_fibers> read{};
  };

  /// Numbers for addresses, in the order in which they are first asked for: schedules depend on no address.
  template <unsigned Most>
  class Numbers {
   public:
    void clear() {
      used_ = 0;
      ++epoch_;
    }
    unsigned number(void const* address, bool& fresh) {
      auto at = static_cast<unsigned>((reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15u) >> 55);
      for (;; at = (at + 1) % places_.size()) {
        Place& place = places_[at];
        if (place.epoch == epoch_ && place.address != address) continue;
        if (place.epoch == epoch_) return place.number;
        if (used_ == Most) throw Failure{"a world of too many words"};
        fresh = true;
        place = {address, epoch_, used_};
        return used_++;
      }
    }

   private:
    struct Place {
      void const* address = nullptr;
      std::uint64_t epoch = 0;
      unsigned number = 0;
    };
    std::array<Place, 512> places_{};
    std::uint64_t epoch_ = 0;
    unsigned used_ = 0;
  };

  static bool acquires(MemoryOrder order) { return order == MemoryOrder::acquire || order == MemoryOrder::acq_rel; }
  static bool releases(MemoryOrder order) { return order == MemoryOrder::release || order == MemoryOrder::acq_rel; }
  static Message const& newest(WordState const& w) { return w.messages[static_cast<unsigned>(w.newest) % depth]; }

  void read(Fiber& fiber, unsigned word, Stamp stamp, Message const& message, MemoryOrder order) {
    fiber.now.words[word] = std::max(fiber.now.words[word], stamp);                                      // V1
    (acquires(order) && weaken_ != Weaken::acquires ? fiber.now : fiber.unacquired).join(message.view);  // V2
  }
  void write(unsigned fiber, unsigned word, std::uint64_t value, MemoryOrder order, View const* continued) {  // V3
    WordState& w = states_[word];
    Fiber& f = fibers_[fiber];
    f.now.words[word] = ++w.newest;
    Message& message = w.messages[static_cast<unsigned>(w.newest) % depth];
    message.value = value;
    message.view = f.fenced;
    if (continued != nullptr) message.view.join(*continued);
    message.view.words[word] = w.newest;
    if (releases(order) && weaken_ != Weaken::releases) release(fiber, message.view);
  }
  /// Puts all that the fiber did and saw into `view`; what it does from now on is not in there.
  void release(unsigned fiber, View& view) {
    View& now = fibers_[fiber].now;
    view.join(now);
    ++now.steps[fiber];
  }
  Item& item_at(void const* address) {
    bool fresh = false;
    Item& item = plain_[items_.number(address, fresh)];
    if (fresh) item = {};
    return item;
  }

  Weaken weaken_ = Weaken::nothing;
  Numbers<most_words> words_;
  Numbers<most_items> items_;
  std::array<WordState, most_words> states_;
  std::array<Item, most_items> plain_;
  std::array<Fiber, most_fibers> fibers_;
  View fences_;
};

}  // namespace hiway::explore
