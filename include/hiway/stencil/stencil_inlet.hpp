// StencilInlet<T>: a producer's end of a stencil tunnel.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "hiway/fault.hpp"
#include "hiway/inlet.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/stencil/produce.hpp"
#include "hiway/stencil/task.hpp"

namespace hiway {

/// A producer's end of a stencil tunnel: sets values.
template <class T>
class Inlet<StencilOf<T>> {
 public:
  using value_type = T;

  Inlet() = default;
  HIWAY_DEVICE explicit Inlet(InletView const& view) : view_(view) {}

  /// Sets the value at column `x`, row `y` of a frame, once. *Waits* until the frame has a buffer, that is, until all
  /// tasks of the frame `buffers` earlier have ended. Does not return when the run aborts. *Threads*: any number at
  /// once, in any order. *Errors*: set_twice, outside_matrix end the run with an error that names stage, tunnel and
  /// value.
  void set_h(std::int64_t x, std::int64_t y, T const& value, std::uint32_t frame = 0) const {
    on_this_thread([&](auto m) { set_with(m, x, y, value, frame); });
  }
  HIWAY_DEVICE void set_d(std::int64_t x, std::int64_t y, T const& value, std::uint32_t frame = 0) const {
    on_this_device([&](auto m) { set_with(m, x, y, value, frame); });
  }
  HIWAY_DEVICE void set(std::int64_t x, std::int64_t y, T const& value, std::uint32_t frame = 0) const {
    anywhere([&](auto m) { set_with(m, x, y, value, frame); });
  }

  /// Sets one value with a whole warp; all its lanes make the call. `fill(T& value)` runs in each lane and writes that
  /// lane's part in place. A part that no lane writes keeps what an earlier frame left there. For large values. A CPU
  /// thread counts as a warp.
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void set_in_place_warp_d(std::int64_t x, std::int64_t y, Fill&& fill, std::uint32_t frame = 0) const {
    on_this_device([&](auto m) { fill_with(m, x, y, fill, frame); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void set_in_place_warp(std::int64_t x, std::int64_t y, Fill&& fill, std::uint32_t frame = 0) const {
    anywhere([&](auto m) { fill_with(m, x, y, fill, frame); });
  }

  /// Sets values.size() values of row `y` from column `x` on.
  void set_h(std::int64_t x, std::int64_t y, std::span<T const> values, std::uint32_t frame = 0) const {
    on_this_thread([&](auto m) { row_with(m, x, y, values, frame); });
  }

  /// Ends the run with an error that says `message` and names the stage. Does not return.
  void fail_h(char const* message) const {
    on_this_thread([&](auto m) { fail_with(m, message); });
  }
  HIWAY_DEVICE void fail_d(char const* message) const {
    on_this_device([&](auto m) { fail_with(m, message); });
  }

 private:
  template <class Machine>
  HIWAY_DEVICE void set_with(Machine m, std::int64_t x, std::int64_t y, T const& value, std::uint32_t frame) const {
    detail::set_value(m, view_, sizeof(T), {x, y, frame}, WriteItem<T>{value});
  }
  HIWAY_NO_SPACE_CHECK template <class Machine, class Fill>
  HIWAY_DEVICE void fill_with(Machine m, std::int64_t x, std::int64_t y, Fill&& fill, std::uint32_t frame) const {
    detail::set_together(m, view_, sizeof(T), {x, y, frame}, [&](std::byte* slot) { fill(item_in<T>(slot)); });
  }
  template <class Machine>
  void row_with(Machine m, std::int64_t x, std::int64_t y, std::span<T const> values, std::uint32_t frame) const {
    detail::set_row(m, view_, {x, y, frame}, values);
  }
  template <class Machine>
  HIWAY_DEVICE void fail_with(Machine m, char const* message) const {
    detail::fail_at(m, view_, message);
  }

  InletView view_{};
};
template <class T>
using StencilInlet = Inlet<StencilOf<T>>;

}  // namespace hiway
