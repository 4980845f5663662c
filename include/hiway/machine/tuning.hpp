// Tuning: numbers that make a machine quick. An algorithm is right whatever they are, so they stand apart from what a
// machine must supply (machine.hpp). A machine names its own as `Tuning`.
#pragma once

namespace hiway {

/// A CPU thread's numbers, which also serve a machine that names none.
struct ThreadTuning {
  /// Only once in this many rounds (or misses of a wait) the end check looks for readers that have left items behind,
  /// or for an abort. Across the bus such a look takes time, and it only ever finds an error. Here it costs one cache
  /// miss.
  static constexpr unsigned rounds_a_look_for_errors = 1;
  /// How often the end check, when it finds a put that came too late, looks whether that put has failed by itself: the
  /// put's own fault names its stage.
  static constexpr unsigned looks_for_a_late_put = 256;
  /// How many loads under way at once pay.
  static constexpr unsigned counts_at_once = 1;
};
/// An emulated lane has several loads under way, too, so that tests without a GPU run that code.
struct EmulatedTuning : ThreadTuning {
  static constexpr unsigned counts_at_once = 2;
};
struct GpuTuning : ThreadTuning {
  static constexpr unsigned rounds_a_look_for_errors = 16;
  static constexpr unsigned counts_at_once = 8;
};

template <class Machine>
struct TuningOf : ThreadTuning {};
template <class Machine>
requires requires { typename Machine::Tuning; }
struct TuningOf<Machine> : Machine::Tuning {};

}  // namespace hiway
