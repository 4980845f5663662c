// Explorer: the library's algorithms under every schedule that a strategy can think of. CPU threads and lanes are
// fibers of one OS thread; before and after each access to a shared word a strategy says which goes on.
//
//   runnable --relax, nothing changed since its last relax--> asleep --any word changes--> runnable
//            --a warp operation whose lanes are not all there--> meeting --the last one comes--> runnable
//            --returns, or unwinds--> gone
//
//   S1  a schedule is a function of the strategy's decisions alone: worlds read no clock and no address, so a decision
//       list, or the seed that makes it, replays it
//   S2  a wait loop reads nothing but words between two relaxes. A round in which no word changed would be repeated as
//       it was: its fiber sleeps until one does. Waits therefore cost no decisions, and no strategy can starve a writer
//   S3  none runnable and some not gone: all wait for ever, and the schedule is a deadlock. Lanes of one warp that
//       only meet each other again are given `quiet_rounds` rounds to change something
//   S4  a fiber's switch is the only way from one to another, so a step between two points is indivisible; what a test
//       does to plain memory in one step must not hide a race (see Torn in worlds.hpp)
//   S5  a load brings any value that the orders of C++11 allow (weak_memory.hpp), and the strategy says how old a
//       one: an order that is too weak shows as an old value or a race. A round that has read an old value is not
//       slept on (S2)
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "hiway/machine/machine.hpp"
#include "lib/simt/fiber.hpp"
#include "tests/explore/weak_memory.hpp"

namespace hiway::explore {

/// Who decides. Called on whichever fiber runs.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Before a schedule of `fibers` fibers.
  virtual void begin(unsigned fibers) = 0;
  /// One of `runnable`, of which there are at least two; `preferred` goes on if nobody interferes.
  virtual unsigned pick(std::uint32_t runnable, unsigned preferred) = 0;
  /// Below `options`; 0 if nobody interferes.
  virtual unsigned choose(unsigned options) = 0;
  /// How old a value a load brings that may bring `options`; 0: the newest.
  virtual unsigned age(unsigned options) = 0;
  /// What replays the last schedule: the value of HIWAY_SEED.
  [[nodiscard]] virtual std::string seed() const = 0;
};

/// What a schedule came to.
struct Outcome {
  bool failed = false;
  std::string why;
  std::uint64_t trace = 0;  ///< a hash of its decisions, in their order
  unsigned points = 0;
};

enum class WarpOperation : std::uint8_t { sync, ballot, shuffle };

class Explorer {
 public:
  static constexpr unsigned most_fibers = WeakMemory::most_fibers;
  static constexpr unsigned most_points = 20'000;  ///< a schedule of a small world is long before that
  static constexpr unsigned quiet_rounds = 64;

  Explorer() {
    for (Lane& lane : lanes_) lane.fiber = std::make_unique<simt::Fiber>(std::size_t{128} * 1024);
  }

  /// The explorer whose fiber runs.
  static Explorer& here() { return *here_; }

  /// Runs `world` once: `world.run(warp, machine)` in each lane of each of World::warps, then `world.check()`.
  template <class Machine, class World>
  Outcome run(World& world, Strategy& strategy) {
    Weaken weaken = Weaken::nothing;
    if constexpr (requires { World::weaken; }) weaken = World::weaken;
    begin(World::warps.data(), World::warps.size(), strategy);
    memory_.begin(fibers_, weaken);
    world_ = &world;
    body_ = [](void* w, unsigned warp) { static_cast<World*>(w)->run(warp, Machine{}); };
    loop();
    if (!outcome_.failed) {
      try {
        world.check();
      } catch (Failure const& failure) {
        fail(failure.why);
      }
    }
    return outcome_;
  }

  // ---- for the machine: on a fiber

  /// Another fiber may go on here.
  void point() {
    if (++outcome_.points > most_points) throw Failure{"does not come to an end"};
    if ((runnable_ & (runnable_ - 1)) != 0) go_on(decide(current_));
  }
  /// The running fiber waits, and has looked at what it waits for.
  void relax() {
    Lane& me = lanes_[current_];
    if (++outcome_.points > most_points) throw Failure{"does not come to an end"};
    if (me.seen_changes == changes_ && !me.read_old) {
      asleep_ |= bit(current_);
      runnable_ &= ~bit(current_);
    }
    go_on(decide_after(current_));
    me.seen_changes = changes_;
    me.read_old = false;
  }

  // Accesses to words, each between two points. The word itself holds its newest value.

  template <class T>
  T load(Word<T>& word, MemoryOrder order) {
    unsigned const number = memory_.word(&word, bits_of(word.bits));
    return value_of<T>(memory_.load(current_, number, age(number), order));
  }
  template <class T>
  void store(Word<T>& word, T value, MemoryOrder order) {
    memory_.store(current_, memory_.word(&word, bits_of(word.bits)), bits_of(value), order);
    set(word, value);
  }
  /// Reads and sets to `value`.
  template <class T>
  T exchange(Word<T>& word, T value, MemoryOrder order) {
    memory_.exchange(current_, memory_.word(&word, bits_of(word.bits)), bits_of(value), order);
    T const before = word.bits;
    set(word, value);
    return before;
  }
  template <class T>
  bool compare_exchange(Word<T>& word, T& expected, T desired, MemoryOrder order) {
    if (word.bits == expected) {
      exchange(word, desired, order);
      return true;
    }
    expected = value_of<T>(memory_.load(current_, memory_.word(&word, bits_of(word.bits)), 0, MemoryOrder::relaxed));
    return false;
  }
  void fence() { memory_.fence(current_); }
  void fence_all() { memory_.fence_all(fibers_); }
  void acquire_fence() { memory_.acquire_fence(current_); }
  void release_fence() { memory_.release_fence(current_); }
  /// Plain memory that is written and read as a whole.
  void read_item(void const* address) { memory_.read_item(current_, address); }
  void write_item(void const* address) { memory_.write_item(current_, address); }

  /// The strategy's choice among `options`.
  unsigned choose(unsigned options) {
    unsigned const chosen = strategy_->choose(options);
    note(chosen);
    return chosen;
  }

  [[nodiscard]] unsigned lane() const { return lanes_[current_].lane; }
  [[nodiscard]] std::uint32_t warp_lanes() const { return lanes_below(lanes_[current_].width); }
  [[nodiscard]] bool is_own(void const* address) const { return lanes_[current_].fiber->holds(address); }
  unsigned& misses() { return lanes_[current_].misses; }
  LaneScope& scope() { return lanes_[current_].scope; }

  std::uint64_t meet(WarpOperation operation, std::uint32_t mask, std::uint64_t value, unsigned source) {
    point();
    Lane& me = lanes_[current_];
    me.meeting = mask;
    me.operation = operation;
    me.value = value;
    me.source = source;
    unsigned const first = me.first;
    std::uint32_t there = 0;
    for_each_bit(mask, [&](unsigned l) {
      Lane const& other = lanes_[first + l];
      if (other.meeting == 0) return;
      if (other.meeting != mask || other.operation != operation) throw Failure{"lanes of one mask part ways"};
      there |= 1u << l;
    });
    if (there == mask) {
      std::uint64_t all = 0;
      for_each_bit(mask, [&](unsigned l) { all |= std::uint64_t{lanes_[first + l].value != 0} << l; });
      for_each_bit(mask, [&](unsigned l) {
        Lane& other = lanes_[first + l];
        other.result = operation == WarpOperation::shuffle ? lanes_[first + other.source].value : all;
      });
      for_each_bit(mask, [&](unsigned l) {
        lanes_[first + l].meeting = 0;
        runnable_ |= bit(first + l);
      });
      if (operation == WarpOperation::sync) {
        memory_.synchronize([&](auto&& visit) { for_each_bit(mask, [&](unsigned l) { visit(first + l); }); });
      }
    } else {
      runnable_ &= ~bit(current_);
      go_on(decide_after(current_));
    }
    std::uint64_t const result = me.result;
    point();
    return result;
  }

  /// The lanes that stand at `site` with the caller and that chance made one group: any subset.
  std::uint32_t converged(unsigned site) {
    Lane& me = lanes_[current_];
    if (me.width == 1) return 1;
    me.parked_at = site + 1;
    me.group = 0;
    point();
    if (me.group != 0) return me.group;  // another lane took this one with it
    std::uint32_t group = 0;
    for (unsigned l = 0; l < me.width; ++l) {
      Lane const& other = lanes_[me.first + l];
      if (&other == &me || (other.parked_at == me.parked_at && choose(2) == 0)) group |= 1u << l;
    }
    for_each_bit(group, [&](unsigned l) {
      lanes_[me.first + l].parked_at = 0;
      lanes_[me.first + l].group = group;
    });
    return group;
  }

 private:
  /// Thrown through a fiber of a schedule that has failed elsewhere.
  struct Abandoned {};

  struct Lane {
    std::unique_ptr<simt::Fiber> fiber;
    unsigned warp = 0;
    unsigned first = 0;  ///< the fiber of its warp's lane 0
    unsigned lane = 0;
    unsigned width = 1;
    unsigned misses = 0;
    LaneScope scope{};
    bool started = false;
    std::uint64_t seen_changes = 0;  ///< when its last relax returned
    bool read_old = false;           ///< since then, a value that was not the newest
    std::uint32_t meeting = 0;       ///< the mask it waits for, 0: none
    WarpOperation operation{};
    std::uint64_t value = 0;
    unsigned source = 0;
    std::uint64_t result = 0;
    unsigned parked_at = 0;
    std::uint32_t group = 0;
  };

  static std::uint32_t bit(unsigned fiber) { return 1u << fiber; }
  template <class Body>
  static void for_each_bit(std::uint32_t mask, Body&& body) {
    for (; mask != 0; mask &= mask - 1) body(static_cast<unsigned>(std::countr_zero(mask)));
  }

  void begin(unsigned const* warps, std::size_t warp_count, Strategy& strategy) {
    unsigned n = 0;
    for (unsigned w = 0; w < warp_count; ++w) {
      unsigned const first = n;
      for (unsigned l = 0; l < warps[w]; ++l) {
        Lane& lane = lanes_.at(n++);
        std::unique_ptr<simt::Fiber> fiber = std::move(lane.fiber);
        lane = {};
        lane.fiber = std::move(fiber);
        lane.warp = w;
        lane.first = first;
        lane.lane = l;
        lane.width = warps[w];
        lane.fiber->prepare(&Explorer::enter);
      }
    }
    strategy_ = &strategy;
    outcome_ = {};
    fibers_ = n;
    live_ = runnable_ = lanes_below(n);
    asleep_ = 0;
    changes_ = 1;  // nobody sleeps in its first relax
    quiet_ = 0;
    abandoned_ = false;
    strategy.begin(n);
  }

  void loop() {
    here_ = this;
    for (unsigned next = first_pick(); live_ != 0;) {
      current_ = next;
      lanes_[next].started = true;
      main_.switch_to(*lanes_[next].fiber);
      // The one that came back has returned.
      lanes_[current_].fiber->retire();
      live_ &= ~bit(current_);
      runnable_ &= ~bit(current_);
      if (outcome_.failed) {
        abandon();
        return;
      }
      if (live_ == 0) return;
      try {
        next = decide_after(current_);
      } catch (Failure const& failure) {
        fail(failure.why);
        abandon();
        return;
      }
    }
  }
  unsigned first_pick() { return fibers_ == 1 ? 0 : decide(0); }

  /// Lets the stacks of a failed schedule unwind.
  void abandon() {
    abandoned_ = true;
    for_each_bit(live_, [&](unsigned f) {
      if (lanes_[f].started) {
        current_ = f;
        main_.switch_to(*lanes_[f].fiber);
      }
      lanes_[f].fiber->retire();
    });
    live_ = 0;
  }

  static void enter(simt::Fiber& self) {
    Explorer& e = *here_;
    unsigned const me = e.current_;
    e.lanes_[me].started = true;
    try {
      e.body_(e.world_, e.lanes_[me].warp);
    } catch (Failure const& failure) {
      e.fail(failure.why);
    } catch (Unwind const&) {
      // an abort: as good as a return
    } catch (Abandoned const&) {
    } catch (std::exception const& error) {
      e.fail(error.what());
    }
    self.leave_to(e.main_);
  }

  void fail(std::string const& why) {
    if (outcome_.failed) return;
    outcome_.failed = true;
    outcome_.why = why;
  }

  void note(unsigned decision) { outcome_.trace = (outcome_.trace ^ (decision + 1)) * 1099511628211u; }

  /// The age of what a load of the running fiber brings.
  unsigned age(unsigned word) {
    unsigned const options = memory_.readable(current_, word);
    if (options == 1) return 0;
    unsigned const chosen = strategy_->age(options);
    note(chosen);
    if (chosen != 0) lanes_[current_].read_old = true;
    return chosen;
  }
  template <class T>
  void set(Word<T>& word, T value) {
    if (word.bits == value) return;
    word.bits = value;
    ++changes_;
    quiet_ = 0;
    runnable_ |= asleep_;
    asleep_ = 0;
  }
  template <class T>
  static std::uint64_t bits_of(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  template <class T>
  static T value_of(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  /// Who goes on, where `preferred` is runnable.
  unsigned decide(unsigned preferred) {
    unsigned const next = strategy_->pick(runnable_, preferred);
    note(next);
    return next;
  }
  /// Who goes on, where `fiber` cannot or would rather not.
  unsigned decide_after(unsigned fiber) {
    if (runnable_ == 0) wake_the_awaited();
    std::uint32_t const behind = runnable_ & ~lanes_below(fiber + 1);
    unsigned const preferred = static_cast<unsigned>(std::countr_zero(behind != 0 ? behind : runnable_));
    return (runnable_ & (runnable_ - 1)) == 0 ? preferred : decide(preferred);
  }
  void wake_the_awaited() {  // S3
    std::uint32_t awaited = 0;
    for_each_bit(live_ & ~asleep_, [&](unsigned f) { awaited |= lanes_[f].meeting << lanes_[f].first; });
    awaited &= asleep_;
    if (awaited == 0 || ++quiet_ > quiet_rounds) throw Failure{"everybody waits for ever"};
    asleep_ &= ~awaited;
    runnable_ |= awaited;
  }
  void go_on(unsigned next) {
    if (next == current_) return;
    Lane& me = lanes_[current_];
    current_ = next;
    me.fiber->switch_to(*lanes_[next].fiber);
    if (abandoned_) throw Abandoned{};
  }

  static inline Explorer* here_ = nullptr;

  simt::Fiber main_{simt::Fiber::ThisThread{}};
  std::array<Lane, most_fibers> lanes_;
  WeakMemory memory_;
  Strategy* strategy_ = nullptr;
  void* world_ = nullptr;
  void (*body_)(void*, unsigned) = nullptr;
  Outcome outcome_;
  unsigned fibers_ = 0;
  unsigned current_ = 0;
  std::uint32_t live_ = 0;
  std::uint32_t runnable_ = 0;
  std::uint32_t asleep_ = 0;
  std::uint64_t changes_ = 0;
  unsigned quiet_ = 0;
  bool abandoned_ = false;
};

}  // namespace hiway::explore
