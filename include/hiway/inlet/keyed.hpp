// Puts with a key: items of one key go to one thread of the CPU stage that reads the tunnel (PutOptions::key).
//
// Besides its own ring, a tunnel with keys has one for each thread of that stage. A put with a key goes into the ring
// of the key's thread, one without into the tunnel's. A thread gets from its own ring, and where that is empty from the
// tunnel's.
//
//   K1  a key has one thread, and a thread one ring, from which nothing else gets. A ring hands items over in the order
//       of their tickets. So items of one key are got by one thread, those of each writer in the order of its puts
//   K2  the tickets of all these rings count as created (termination.hpp T2), and the thread counts what it gets from
//       any of them in its one port
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/bell.hpp"
#include "hiway/ring/ring.hpp"

namespace hiway {

/// The rings of a tunnel with keys, at the host.
struct KeyedRings {
  Ring tunnel;                  ///< for items without a key
  Ring const* rings = nullptr;  ///< for each thread of the reading stage
  std::uint32_t threads = 0;
};

namespace detail {

/// The number of the key's thread. Keys in a row, or at any distance from each other, spread over all threads.
[[nodiscard]] constexpr std::uint32_t thread_of_key(std::uint64_t key, std::uint32_t threads) {
  constexpr std::uint64_t odd = 0xd6e8feb86659fd93U;
  for (int i = 0; i < 2; ++i) {
    key ^= key >> 32;
    key *= odd;
  }
  return static_cast<std::uint32_t>((key >> 32) * threads >> 32);
}

/// The inlet as puts with this key see it. *Errors*: put_with_key.
template <class Machine>
[[nodiscard]] InletView view_for_key(Machine m, InletView const& v, std::uint64_t key) {
  leave_if_aborted(m, *v.control, v.tunnel);  // while no run is under way the words have no value
  KeyedRings const* const keyed = v.end->keyed;
  if (keyed == nullptr) raise(m, *v.control, FaultKind::put_with_key, v.stage, v.tunnel, 0);
  InletView of_key = v;
  of_key.ring = keyed->rings[thread_of_key(key, keyed->threads)];
  return of_key;
}

/// After a put with a key: a put wakes one thread that naps, which may be another one than the key's.
class WakesReaders {
 public:
  explicit WakesReaders(InletView const& v) : v_(v) {}
  ~WakesReaders() {
    if (Bell* const bell = v_.ports->bell; bell != nullptr) bell->ring(~0U);
  }
  WakesReaders(WakesReaders const&) = delete;
  WakesReaders& operator=(WakesReaders const&) = delete;

 private:
  InletView const& v_;
};

}  // namespace detail
}  // namespace hiway
