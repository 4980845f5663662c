// One scope under every schedule: its words at the host and at one device, its mail, and what lanes and threads do with
// them. It ends once, after all its tasks, and the thread that ends it sees all that they have written.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>

#include "hiway/scope/task.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace hiway::explore {

/// A CPU thread's machine.
struct HostMachine : ExploreMachine {
  struct Role : ExploreMachine::Role {
    static constexpr bool counts_scopes = true;
  };
  explicit HostMachine(ExploreMachine const& m) : ExploreMachine(m) {}
};

/// Room for a few letters.
template <class Mail, std::size_t Slots>
struct MailRoom {
  explicit MailRoom(Mail& mail) {
    mail.letters = slots.data();
    mail.texts = texts.data();
    mail.read = &read;
  }
  std::array<TaggedSlot, Slots> slots{};
  std::array<ScopeText, Slots> texts{};
  Word<std::uint64_t> read{0};
};

/// One scope of `Tasks` tasks, at the host and at one device of `Lanes` lanes, which come first. Each thread of the
/// host has a table of its own, so that it knows whether it is the one that ends the scope.
template <unsigned Tasks, unsigned Lanes, unsigned Threads>
struct OneScope {
  static constexpr std::uint32_t place = 1;
  static constexpr auto warps = [] {
    std::array<unsigned, Lanes + Threads> lanes{};
    lanes.fill(1);
    return lanes;
  }();
  struct Ends final : ScopeEnds {
    void end_scope(std::uint32_t at) noexcept override { ended += at == place ? 1 : 100; }
    void fail_scope(std::uint32_t, char const*) noexcept override {}
    void note_task(std::uint32_t, std::uint32_t) noexcept override {}
    unsigned ended = 0;
  };

  OneScope(std::uint64_t outstanding, std::uint64_t in_pot, std::uint64_t counted) {
    counts[place].outstanding.bits = outstanding;
    pots[place].pot.bits = in_pot * detail::one_of_pot + counted;
    for (unsigned t = 0; t < Threads; ++t) {
      host[t].counts = counts.data();
      host[t].ends = &ends[t];
    }
    device.pots = pots.data();
    device.control = &control;
  }

  [[nodiscard]] InletView inlet(ScopeTable& home, std::array<EndWords, 3>& roads, ScopeRoad road) {
    EndWords& end = roads[static_cast<std::size_t>(road)];
    end.scopes = &home;
    end.scope_road = road;
    InletView v;
    v.end = &end;
    v.control = &control;
    return v;
  }
  [[nodiscard]] InletView at_device(ScopeRoad road) { return inlet(device, device_roads, road); }
  [[nodiscard]] InletView at_host(unsigned thread, ScopeRoad road) {
    return inlet(host[thread], host_roads[thread], road);
  }

  /// A ring of one item.
  static void put(ExploreMachine m, Word<std::uint64_t>& ring, std::uint64_t item) {
    m.store(ring, item, MemoryOrder::release);
  }
  [[nodiscard]] std::uint64_t get(ExploreMachine m, Word<std::uint64_t>& ring) {
    for (unsigned misses = 0;; m.relax(misses++)) {
      if (std::uint64_t const item = m.load(ring, MemoryOrder::acquire); item != 0) return item;
      leave_if_aborted(m, control);
    }
  }

  void begin_task(ExploreMachine m, std::uint64_t value) {
    std::uint64_t const word = value == 0 ? detail::counted_word(place, 1) : detail::scope_word(place, value);
    detail::begin_scope_task(m, at_device(ScopeRoad::here), word);
  }
  /// The lane puts an item.
  void put_on(ExploreMachine m, ScopeRoad road, Word<std::uint64_t>& ring) {
    put(m, ring, detail::share_scope(m, at_device(road)));
  }
  void result_on(ExploreMachine m, unsigned task, ScopeRoad road, Word<std::uint64_t>& ring) {
    traces.leave(m, task);
    put(m, ring, detail::hand_scope_on(m, at_device(road)));
    detail::end_scope_task(m, at_device(ScopeRoad::here));  // of a task that has handed all on
  }
  void end_task(ExploreMachine m, unsigned task) {
    traces.leave(m, task);
    detail::end_scope_task(m, at_device(ScopeRoad::here));
    require(m.scope().word == 0, "a lane has the scope of a task that has ended");
  }
  void work_on(ExploreMachine m, unsigned task, Word<std::uint64_t>& ring) {
    detail::begin_scope_task(m, at_device(ScopeRoad::here), get(m, ring));
    end_task(m, task);
  }
  /// The lane is through.
  void leave(ExploreMachine m) { m.fetch_add(gone, 1u, MemoryOrder::release); }

  // At the host: `thread` is the caller's number.

  void begin_host_task(ExploreMachine m, unsigned thread, std::uint64_t word) {
    detail::begin_scope_task(HostMachine(m), at_host(thread, ScopeRoad::here), word);
  }
  void end_host_task(ExploreMachine m, unsigned thread, unsigned task) {
    traces.leave(m, task);
    detail::end_scope_task(HostMachine(m), at_host(thread, ScopeRoad::here));
    look_at_the_end(m, thread);
  }
  void work_at_host(ExploreMachine m, unsigned thread, unsigned task, Word<std::uint64_t>& ring) {
    begin_host_task(m, thread, get(m, ring));
    end_host_task(m, thread, task);
  }
  void give_back(ExploreMachine m, unsigned thread, std::uint64_t value) {
    detail::give_back(HostMachine(m), host[thread], place, value);
    look_at_the_end(m, thread);
  }
  /// Reads letters until all lanes are through.
  void read_mail(ExploreMachine m, unsigned thread) {
    std::uint64_t first = 0;
    bool over = false;
    auto const step = [&] {
      bool const last = m.load(gone, MemoryOrder::acquire) == Lanes;
      std::uint64_t const n = detail::read_letters(
          m, device.mail, first, [](std::uint32_t) {},
          [&](std::uint32_t at, std::uint64_t value, char const* text) {
            require(at == place, "a letter of another scope");
            if ((value & letter_of_failure) != 0) failed = std::strcmp(text, "no") == 0;
            give_back(m, thread, value & ~letter_of_failure);
          });
      first += n;
      over = last && n == 0;
      return n != 0 || over;
    };
    step_until(m, step, [&] { return over || is_aborted(m, control); });
  }
  void look_at_the_end(ExploreMachine m, unsigned thread) {
    if (ends[thread].ended == 0 || seen) return;
    seen = true;
    traces.see_all(m);
    failed_before_the_end = failed;
  }

  void check() const {
    require(control.aborted.bits == 0, "a fault without a cause");
    unsigned ended = 0;
    for (Ends const& e : ends) ended += e.ended;
    require(ended != 0, "the scope has not ended");
    require(ended == 1, "the scope has ended twice, or another one has");
    require(counts[place].outstanding.bits == 0, "a value is left");
    require(pots[place].pot.bits == 0, "something is left in the pot");
  }

  Control control;
  std::array<ScopeCount, 2> counts{};
  std::array<ScopePot, 2> pots{};
  std::array<Ends, Threads> ends{};
  std::array<ScopeTable, Threads> host{};
  std::array<std::array<EndWords, 3>, Threads> host_roads{};
  ScopeTable device;
  std::array<EndWords, 3> device_roads{};
  MailRoom<ScopeMail, 8> room{device.mail};
  Traces<Tasks> traces;
  Word<std::uint32_t> gone{0};
  bool seen = false;
  bool failed = false;
  bool failed_before_the_end = false;
};

}  // namespace hiway::explore
