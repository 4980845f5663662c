// Staging: memory of a CPU thread's own in which its puts of single items lie until somebody takes them or moves them
// into the ring.
//
// A put into the ring costs locked operations on words that others write, too. So a thread of a stage that puts item by
// item stores them here. What happens to them then:
//
//   - a reader at the same home takes them from here. It stays with one writer's staging as long as that has items, so
//     several readers seldom meet
//   - across the bus they are moved into the ring, many by one claim, as a span is: by the thread itself when the other
//     end waits or its staging is full, or by the host's monitor when that thread puts slowly or no more
//   - the thread moves them before whatever must come after them: a put of another form, the end of a task, the close;
//     and when its staging stays full, because its readers are busy elsewhere. Inside a cycle, where a put must not
//     wait, what finds no room then goes to the spill pool
//
// So an item is on its way also while its thread computes and calls nothing.
//
//   word    written by            read by
//   put     the thread            takers and movers
//   moved   the holder of `busy`  the thread, takers and movers: items below it have left
//   seen    the holder of `busy`  takers and movers: `put` as last read, so that it is read once for many items
//   busy    takers and movers     takers and movers
//   taken   the holder of `busy`  the end check, reports: how many were taken from here
//
//   P1  the thread writes an item, then releases `put`; a taker or mover acquires `put`: the item is whole
//   P2  items are read, then `moved` is released; the thread acquires `moved` before it writes their slots again
//   P3  `busy` is a try-lock. Its holder alone takes or moves, from `moved` on: in the order of the puts. A put past
//       the staging first waits until nothing is staged
//   P4  an end of a task, or a close, first acquires a `moved` that has reached `put`: all that was staged is counted
//       before the task counts as finished, or the end as closed (termination.hpp T1, T3). The end check waits for
//       tasks only inside a cycle, and where a stage puts in its tasks alone, as in item and value form
//   P5  nobody waits with `busy` held but for the turn of a slot, which does not wait for this holder (ring.hpp I2)
//   P6  a reader takes from here only if, after it acquired `put`, it sees that every ticket of the ring's puts was
//       granted to a get. What the thread has put into the ring before is among these. So a reader that takes from here
//       and from the ring gets each writer's items in order
//   P7  an item is counted once as created: by its ticket when it is moved, or in `taken` when it is taken. A reader
//       counts in `taken` before its task counts as finished (T2). No item comes too late for the check (T5): one that
//       is staged keeps its thread from having closed, or its task from having finished (P4): the unit is open
// A put is staged before it has credit, so what is staged comes on top of the tunnel's capacity: an eighth of it at
// most. The run's report counts an item when it leaves its staging.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiway/fault.hpp"
#include "hiway/inlet/lateness.hpp"
#include "hiway/inlet/notice.hpp"
#include "hiway/inlet/staging_owner.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/relay.hpp"
#include "hiway/ring.hpp"
#include "hiway/trace.hpp"

namespace hiway {

/// Of one thread and one tunnel. *Threads*: as each method says.
class Staging {
 public:
  /// How many items each of `threads` threads stages; 0: too few to pay. A power of two. More across the bus, where all
  /// are moved by claims that the threads share.
  [[nodiscard]] static constexpr std::uint32_t slots_for(std::size_t item_bytes, std::size_t capacity_items,
                                                         std::size_t threads, bool crosses) {
    std::size_t const most_items = crosses ? 1024 : 256;
    constexpr std::size_t most_bytes = 16384;
    constexpr std::size_t least_items = 4;
    std::size_t fit = most_items;
    for (std::size_t const limit : {most_bytes / item_bytes, capacity_items / 8 / threads})
      fit = limit < fit ? limit : fit;
    return fit < least_items ? 0 : static_cast<std::uint32_t>(std::bit_floor(fit));
  }

  /// `taken` lies where the end check finds it.
  Staging(std::size_t item_bytes, std::uint32_t most, Word<std::uint64_t>* taken)
      : mask_(most - 1), memory_(item_bytes * most / sizeof(Line) + 1), item_bytes_(item_bytes), taken_(taken) {}

  /// The number `n` of the list that begins at `first`, round and round.
  [[nodiscard]] static Staging* nth(Staging* first, unsigned n) {
    Staging* at = first;
    for (; n != 0; --n) at = at->next_of_tunnel != nullptr ? at->next_of_tunnel : first;
    return at;
  }

  /// Before a run, while no thread of it is there: puts will go by `view`.
  void reset(InletView const& view) {
    view_ = view;
    put_.bits = moved_.bits = seen_.bits = 0;
    busy_.bits = 0;
    owner_.reset(view.relays != nullptr);
    next_ = limit_ = 0;
    asked_ = {};
  }
  [[nodiscard]] InletView const& view() const { return view_; }

  [[nodiscard]] StagingOwner& owner() { return owner_; }

  // The thread's own.
  template <class Machine>
  [[nodiscard]] bool is_full(Machine m) {
    if (next_ != limit_) return false;
    limit_ = m.load(moved_, MemoryOrder::acquire) + mask_ + 1;  // P2
    return next_ == limit_;
  }
  /// Where the next item goes; it is not full. Quicker where the type `Write` knows the items' size.
  template <class Write>
  [[nodiscard]] std::byte* slot() {
    if constexpr (size_is_known<std::remove_cvref_t<Write>>) {
      return memory() + (next_ & mask_) * std::remove_cvref_t<Write>::bytes;
    } else {
      return item(next_);
    }
  }
  /// The item in slot() is put. Returns how many were, which is its number.
  template <class Machine>
  std::uint64_t publish(Machine m) {
    std::uint64_t const next = next_ + 1;
    next_ = next;
    m.store(put_, next, MemoryOrder::release);  // P1
    return next;
  }

  /// How many items are staged. Movers write the word that this reads.
  template <class Machine>
  [[nodiscard]] std::uint64_t count(Machine m) {
    return next_ - m.load(moved_, MemoryOrder::relaxed);
  }
  /// The next look is when twice as many have gathered.
  template <class Machine>
  void look_later(Machine m) {
    owner_.look_later(next_, count(m));
  }
  /// Grows while readers at the same home take items of the tunnel, from whichever thread's staging. Their words: not
  /// to be asked often.
  template <class Machine>
  [[nodiscard]] std::uint64_t gets(Machine m) {
    std::uint64_t all = m.load(view_.ring.words->taken, MemoryOrder::relaxed);
    for (Staging* s = view_.end->staged; s != nullptr; s = s->next_of_tunnel)
      all += m.load(s->moved_, MemoryOrder::relaxed);
    return all;
  }

  // Any thread's.
  /// How many readers have taken from here.
  template <class Machine>
  [[nodiscard]] std::uint64_t taken(Machine m) {
    return m.load(*taken_, MemoryOrder::relaxed);
  }
  /// How many items were ever put.
  template <class Machine>
  [[nodiscard]] std::uint64_t puts(Machine m) {
    return m.load(put_, MemoryOrder::relaxed);
  }
  /// The first `puts` of them have left.
  template <class Machine>
  [[nodiscard]] bool have_left(Machine m, std::uint64_t puts) {
    return m.load(moved_, MemoryOrder::acquire) >= puts;  // P4
  }
  template <class Machine>
  [[nodiscard]] bool is_empty(Machine m) {
    return have_left(m, puts(m));
  }
  /// The host's monitor asks: something is staged, and nothing was put since it asked last, or it has asked four times
  /// and nothing has left.
  template <class Machine>
  [[nodiscard]] bool is_left_alone(Machine m) {
    constexpr unsigned patience = 4;
    std::uint64_t const put = m.load(put_, MemoryOrder::relaxed);
    std::uint64_t const moved = m.load(moved_, MemoryOrder::relaxed);
    bool const still = std::exchange(asked_.put, put) == put;
    asked_.stood = std::exchange(asked_.moved, moved) == moved && put != moved ? asked_.stood + 1 : 0;
    return put != moved && (still || asked_.stood >= patience);
  }
  /// Whether the next taker must read `put`, as far as is known.
  template <class Machine>
  [[nodiscard]] bool must_look(Machine m) {
    return m.load(seen_, MemoryOrder::relaxed) == m.load(moved_, MemoryOrder::relaxed);
  }
  /// One step: moves what is staged, as far as the ring has room, if nobody else does. True if something was moved.
  /// `copy(slot, staged, n)` copies `n` items.
  template <class Machine, class Copy>
  bool move_if_free(Machine m, Copy&& copy) {
    Ring const ring = detail::home_ring(m, view_);
    if (is_empty(m) || room_about(m, ring) <= 0) return false;
    return if_free(m, [&] { return move(m, ring, copy); }) != 0;
  }
  /// The same into the spill pool, where the ring has no room.
  template <class Machine, class Copy>
  bool spill_if_free(Machine m, Copy&& copy) {
    if (!has_spill(view_.spill) || is_empty(m)) return false;
    return if_free(m, [&] {
             return room_about(m, detail::home_ring(m, view_)) > 0 ? 0 : move(m, *view_.spill, copy);
           }) != 0;
  }
  /// One step of a reader at the same home: takes up to `n` items, if nobody else is at it and what was put into `ring`
  /// before is granted. Returns how many. `read(staged, i, n)` reads its items i to i + n.
  template <class Machine, class Read>
  std::uint32_t take_if_free(Machine m, Ring const& ring, std::uint32_t n, Read&& read) {
    if (!all_granted(m, ring)) return 0;
    return if_free(m, [&] { return take(m, ring, n, read); });
  }

  Staging* next_of_tunnel = nullptr;  ///< the list that begins at EndWords::staged
  Staging* next_of_thread = nullptr;  ///< the list that begins at StagedEnd::writes

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  /// What the monitor found when it asked last.
  struct Asked {
    std::uint64_t put = 0;
    std::uint64_t moved = 0;
    unsigned stood = 0;  ///< so often there were items, and none had left
  };

  [[nodiscard]] std::byte* memory() { return reinterpret_cast<std::byte*>(memory_.data()); }
  [[nodiscard]] std::byte* item(std::uint64_t number) { return memory() + (number & mask_) * item_bytes_; }

  // A call that finds nothing to do writes no word: others would wait for its line.
  template <class Machine, class Step>
  std::uint32_t if_free(Machine m, Step&& step) {
    if (must_look(m) && is_empty(m)) return 0;
    if (m.load(busy_, MemoryOrder::relaxed) != 0 || m.fetch_or(busy_, 1u, MemoryOrder::acquire) != 0) return 0;  // P3
    std::uint32_t const n = step();
    m.store(busy_, 0u, MemoryOrder::release);  // P3
    return n;
  }

  /// `work(staged, i, n)` for the items `first` to `first + count`, in at most two pieces: `i` counts from `first`.
  template <class Work>
  void in_pieces(std::uint64_t first, std::uint32_t count, Work&& work) {
    auto const lap = static_cast<std::uint32_t>(mask_ + 1 - (first & mask_));
    std::uint32_t const head = count < lap ? count : lap;
    work(item(first), 0u, head);
    if (head != count) work(item(first + head), head, count - head);
  }

  template <class Machine, class Copy>
  std::uint32_t move(Machine m, Ring const& ring, Copy&& copy) {
    std::uint64_t const from = m.load(moved_, MemoryOrder::relaxed);
    std::uint64_t const staged = look(m) - from;
    Run const run = claim_put_run(m, ring, static_cast<std::uint32_t>(staged));
    if (run.count == 0 || detail::record_if_late(m, view_, run)) return 0;
    commit_put_run(m, ring, run, *view_.control, [&](std::byte* slot, std::uint32_t i, std::uint32_t n) {
      in_pieces(from + i, n, [&](std::byte const* staged_items, std::uint32_t k, std::uint32_t some) {
        copy(slot + k * item_bytes_, staged_items, some);
      });
    });
    m.store(moved_, from + run.count, MemoryOrder::release);  // P2
    return run.count;
  }

  template <class Machine, class Read>
  std::uint32_t take(Machine m, Ring const& ring, std::uint32_t n, Read&& read) {
    std::uint64_t const from = m.load(moved_, MemoryOrder::relaxed);
    std::uint64_t staged = m.load(seen_, MemoryOrder::relaxed) - from;
    if (staged == 0) staged = look(m) - from;
    if (staged == 0 || !all_granted(m, ring)) return 0;
    std::uint32_t const count = n < staged ? n : static_cast<std::uint32_t>(staged);
    m.store(*taken_, m.load(*taken_, MemoryOrder::relaxed) + count, MemoryOrder::relaxed);  // P7
    in_pieces(from, count, read);
    m.store(moved_, from + count, MemoryOrder::release);  // P2
    return count;
  }
  /// `put`, for the holder of `busy`.
  template <class Machine>
  std::uint64_t look(Machine m) {
    std::uint64_t const put = m.load(put_, MemoryOrder::acquire);  // P1
    m.store(seen_, put, MemoryOrder::relaxed);
    return put;
  }
  /// Every ticket of a put that the calling thread knows of was granted to a get (P6).
  template <class Machine>
  [[nodiscard]] static bool all_granted(Machine m, Ring const& ring) {
    std::uint64_t const claimed = m.load(ring.words->claimed, MemoryOrder::relaxed);
    return m.load(ring.words->taken, MemoryOrder::relaxed) >= claimed;
  }

  // The thread's; others read `put_`.
  alignas(64) Word<std::uint64_t> put_{0};
  std::uint64_t next_ = 0;   ///< as put_
  std::uint64_t limit_ = 0;  ///< `next_` may go so far before it is full
  std::uint64_t mask_;
  StagingOwner owner_;
  std::vector<Line> memory_;
  std::size_t item_bytes_;
  // The movers'.
  alignas(64) Word<std::uint64_t> moved_{0};
  Word<std::uint64_t> seen_{0};
  Word<std::uint32_t> busy_{0};
  Word<std::uint64_t>* taken_;
  Asked asked_;
  InletView view_{};
};

namespace detail {

inline std::uint64_t count_taken(Staging* first) {
  std::uint64_t taken = 0;
  for (Staging* s = first; s != nullptr; s = s->next_of_tunnel) taken += s->taken(StageThread{});
  return taken;
}

/// The staging of a CPU thread's end; null: it has none, or the calling thread is another, or it has ended.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline Staging* staging_of([[maybe_unused]] Machine m, [[maybe_unused]] InletView const& v) {
  if constexpr (RoleOf<Machine>::stages_puts) {
    Staging* const staging = v.ports->staging;
    if (staging != nullptr && staging->owner().is_this_thread(m)) return staging;
  }
  return nullptr;
}

/// Copies items from a staging into slots of its tunnel.
struct CopyStaged {
  InletView const& v;
  void operator()(std::byte* slot, std::byte const* staged, std::uint32_t n) const {
    std::size_t const bytes = std::size_t{n} * v.ring.item_bytes;
    v.past_caches ? copy_past_caches(slot, staged, bytes) : static_cast<void>(std::memcpy(slot, staged, bytes));
  }
};

/// One step, which tells the other end; true if something was moved.
template <class Machine>
bool move_staged(Machine m, Staging& staging) {
  InletView const& v = staging.view();
  bool const moved = staging.move_if_free(m, CopyStaged{v});
  if (moved) help_to_leave(m, v, Sent::span);
  return moved;
}
/// The same for a thread that must not wait for room.
template <class Machine>
bool move_or_spill_staged(Machine m, Staging& staging) {
  if (move_staged(m, staging)) return true;
  InletView const& v = staging.view();
  bool const spilled = staging.spill_if_free(m, CopyStaged{v});
  if (spilled) help_to_leave(m, v, Sent::span);
  return spilled;
}
/// Puts of the tunnel may spill, and there is room nowhere.
template <class Machine>
[[nodiscard]] bool is_exhausted(Machine m, InletView const& v) {
  return has_spill(v.spill) && room_about(m, home_ring(m, v)) <= 0 && room_about(m, *v.spill) <= 0;
}

/// Waits until what is staged has left (P4), or the run aborts. The thread itself may go on putting meanwhile.
template <class Machine>
void empty_staging(Machine m, Staging& staging) {
  InletView const& v = staging.view();
  std::uint64_t const puts = staging.puts(m);
  for (unsigned misses = 0; !staging.have_left(m, puts) && !is_aborted(m, *v.control);) {
    if (move_or_spill_staged(m, staging)) {
      misses = 0;
    } else if (v.relays == nullptr || !hear_if_free(m, v.relays->hears)) {
      (void)record_if_late(m, v, Run{});  // no room comes after the end
      if (is_exhausted(m, v)) record_fault(m, *v.control, FaultKind::spill_exhausted, v.stage, v.tunnel, 0);
      m.relax(misses++);
    }
  }
}
/// The same for all tunnels that a thread puts into, from `first` on.
template <class Machine>
void empty_all_of_thread(Machine m, Staging* first) {
  for (Staging* s = first; s != nullptr; s = s->next_of_thread) empty_staging(m, *s);
}
/// After a put that makes a look due: across the bus the items are moved if the other end has nothing to do, as far as
/// is known. A look costs as much as many puts, since others write what it looks at, and what a move costs many items
/// share. So it is for the first item, and then whenever twice as many have gathered.
template <class Machine>
void look_across(Machine m, InletView const& v, Staging& staging) {
  if (is_answered(m, *v.relays)) (void)move_staged(m, staging);
  staging.look_later(m);
}

/// After a put, while readers or monitors nap. Monitors are woken in any case, a reader for the first item that is
/// staged, and then now and then: of several readers one may nap while the others get all that comes.
template <class Machine>
void wake_other_end(Machine m, InletView const& v, Staging& staging) {
  constexpr std::uint64_t now_and_then = 16;
  Bell& bell = *v.ports->bell;
  if (v.relays != nullptr) return bell.wake_all();
  std::uint64_t const n = staging.count(m);
  if (n == 1 || n % now_and_then == 0) bell.ring(1);
}

/// What few puts have to do besides: `put` is the number of the last.
template <class Machine>
[[gnu::noinline]] void follow_put(Machine m, InletView const& v, Staging& staging, std::uint64_t put) {
  StagingOwner& owner = staging.owner();
  if (owner.is_traced()) v.ports->trace->put(v.tunnel);
  if (owner.has_nappers()) wake_other_end(m, v, staging);
  owner.is_look_due(put) ? look_across(m, v, staging) : owner.follow_from(put);
}

/// A put finds its staging full. While readers at the same home take items quickly, from anywhere in the tunnel, they
/// come to it, too: what they find in the ring instead they get against each other. True: there is room now. False: the
/// items are to be moved. Readers that take their time with each item lose nothing by that, and their writer has other
/// things to do. It does not yield meanwhile: a reader in its place may keep the CPU for many items.
template <class Machine>
bool readers_make_room(Machine m, InletView const& v, Staging& staging) {
  constexpr unsigned looks = 12;
  constexpr unsigned pauses = 8;          // with the look some 0.4 us
  constexpr std::uint64_t quick_ns = 40;  // for an item, of all readers together: what a get against others takes
  if (v.relays != nullptr) return false;
  std::uint64_t gets = staging.gets(m);
  for (std::uint64_t time = m.now_ns();;) {
    for (unsigned look = 0; look < looks; ++look) {
      pause_thread(pauses);
      m.relax(0);
      leave_if_aborted(m, *v.control, v.tunnel);
      if (!staging.is_full(m)) return true;
    }
    std::uint64_t const before = std::exchange(gets, staging.gets(m));
    std::uint64_t const began = std::exchange(time, m.now_ns());
    if ((gets - before) * quick_ns <= time - began) return false;
  }
}

}  // namespace detail
}  // namespace hiway
