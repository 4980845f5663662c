// The library's ring by spans, for its bench: `span` items of a lane in one call, each lane its own (LaneSpans), or those of
// a block together (BlockSpans). put calls `make(thread in the block, number)`, get calls `take(item)`.
#pragma once
#include <cstdint>
#include <hiway/inlet.hpp>
#include <hiway/outlet.hpp>

namespace bench {

/// As put_d(span) and get_d(span): converged lanes share a claim, and each copies from and to an array of its own.
template <class T>
struct LaneSpans {
  using Value = T;
  static constexpr unsigned span = 4;
  hiway::Ring ring;
  hiway::Control* control = nullptr;

  template <class Machine, class Make>
  HIWAY_DEVICE void put(Machine m, Make&& make) const {
    T own[span];
    for (unsigned k = 0; k < span; ++k) own[k] = make(m.thread_in_block(), k);
    until_all(m, [&](std::uint32_t done, hiway::Credits credits) {
      hiway::Run const run = hiway::claim_put_runs(m, ring, m.lanes(), span - done, credits, control);
      if (run.count != 0)
        hiway::copy_granted(m, ring, run, done, hiway::ClaimKind::put, *control, hiway::detail::WriteItems<T>{own});
      return run.count;
    });
  }
  template <class Machine, class Take>
  HIWAY_DEVICE void get(Machine m, Take&& take) const {
    T own[span];
    until_all(m, [&](std::uint32_t done, hiway::Credits credits) {
      hiway::Run const run = hiway::claim_get_runs(m, ring, m.lanes(), span - done, nullptr, credits, control);
      if (run.count != 0)
        hiway::copy_granted(m, ring, run, done, hiway::ClaimKind::get, *control, hiway::detail::ReadItems<T>{own});
      return run.count;
    });
    for (T const& item : own) take(item);
  }

 private:
  /// `some(done, credits)` in all lanes of the warp together, until each has done its span.
  template <class Machine, class Some>
  HIWAY_DEVICE void until_all(Machine m, Some&& some) const {
    std::uint32_t done = 0;
    for (unsigned misses = 0;;) {
      std::uint32_t const n = some(done, hiway::after_misses(misses));
      done += n;
      if (m.ballot(m.lanes(), done != span) == 0) return;
      if (n != 0) {
        misses = 0;
      } else if (done != span) {
        hiway::leave_if_aborted(m, *control);
        m.relax(misses++);
      }
    }
  }
};

/// As put_block_d(span) and get_block_d(span); items are made and taken where they lie, not in shared memory.
template <class T>
struct BlockSpans {
  using Value = T;
  static constexpr unsigned span = 4;
  hiway::Ring ring;
  hiway::Control* control = nullptr;

  template <class Machine, class Make>
  HIWAY_DEVICE void put(Machine m, Make&& make) const {
    unsigned const threads = m.block_threads();
    until_all(
        m, hiway::ClaimKind::put, [&](std::uint32_t n) { return hiway::claim_put_run(m, ring, n); },
        hiway::sized<T>([&](hiway::Several const& some) {
          for (unsigned k = 0; k < some.count; ++k) {
            auto const i = static_cast<std::uint32_t>(some.item(k));
            hiway::item_in<T>(some.slot(k)) = make(i % threads, i / threads);
          }
        }));
  }
  template <class Machine, class Take>
  HIWAY_DEVICE void get(Machine m, Take&& take) const {
    until_all(
        m, hiway::ClaimKind::get,
        [&](std::uint32_t n) { return hiway::claim_get_run(m, ring, n, nullptr, hiway::Credit::early); },
        hiway::sized<T>([&](hiway::Several const& some) {
          for (unsigned k = 0; k < some.count; ++k)
            take(hiway::item_in<T>(static_cast<std::byte const*>(some.slot(k))));
        }));
  }

 private:
  template <class Machine, class ClaimRun, class Copy>
  HIWAY_DEVICE void until_all(Machine m, hiway::ClaimKind kind, ClaimRun&& claim_run, Copy&& copy) const {
    hiway::BlockTeam<Machine> const team{m};
    std::uint32_t const all = span * m.block_threads();
    for (std::uint32_t done = 0; done != all;) {
      hiway::detail::Claimed const claimed =
          hiway::detail::claim_together(team, *control, all - done, [&](std::uint32_t n) {
            hiway::detail::Claimed found;
            for (unsigned misses = 0; (found.run = claim_run(n)).count == 0; ++misses) {
              hiway::leave_if_aborted(m, *control);
              m.relax(misses);
            }
            return found;
          });
      hiway::detail::copy_by_team(team, ring, claimed.run, done, kind, *control, copy);
      done += claimed.run.count;
    }
  }
};

}  // namespace bench
