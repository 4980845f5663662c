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

/// A producer's end of a stencil tunnel that carries `Reference`: sets values.
template <class T, class Reference>
class AnyStencilInlet {
 public:
  using value_type = T;

  AnyStencilInlet() = default;
  HIWAY_DEVICE explicit AnyStencilInlet(InletView const& view) : view_(view) {}

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

 protected:
  template <class Machine>
  HIWAY_DEVICE void set_with(Machine m, std::int64_t x, std::int64_t y, T const& value, std::uint32_t frame) const {
    detail::set_value<Reference>(m, view_, sizeof(T), {x, y, frame}, WriteItem<T>{value});
  }
  template <class Machine>
  void row_with(Machine m, std::int64_t x, std::int64_t y, std::span<T const> values, std::uint32_t frame) const {
    detail::set_row<Reference>(m, view_, {x, y, frame}, values);
  }

  InletView view_{};

 private:
  HIWAY_NO_SPACE_CHECK template <class Machine, class Fill>
  HIWAY_DEVICE void fill_with(Machine m, std::int64_t x, std::int64_t y, Fill&& fill, std::uint32_t frame) const {
    auto const write = [&](std::byte* slot) { fill(item_in<T>(slot)); };
    detail::set_together<Reference>(m, view_, sizeof(T), {x, y, frame}, write);
  }
  template <class Machine>
  HIWAY_DEVICE void fail_with(Machine m, char const* message) const {
    detail::fail_at(m, view_, message);
  }
};

/// A producer's end of a stencil tunnel.
template <class T>
class Inlet<StencilOf<T>> : public AnyStencilInlet<T, RegionReference> {
  using AnyStencilInlet<T, RegionReference>::AnyStencilInlet;
};
template <class T>
using StencilInlet = Inlet<StencilOf<T>>;

/// The same of one with scopes. A value is set in a task of a scope (*Errors*: put_without_scope). A task of the tunnel
/// belongs to the scope of the task that has set the last of the values around it; of lanes side by side, that of the
/// lowest.
template <class T>
class Inlet<Scoped<StencilOf<T>>> : public AnyStencilInlet<T, detail::ScopedReference> {
  using Base = AnyStencilInlet<T, detail::ScopedReference>;

 public:
  using Base::Base;
  using Base::set_h;

  /// Sets one value, or values of a row, as a task of `scope`. *Throws* Error if the scope is of another kind, or has
  /// been closed.
  void set_h(std::int64_t x, std::int64_t y, T const& value, Scope const& scope, std::uint32_t frame = 0) const {
    on_this_thread([&](auto m) {
      detail::TaskFromOutside const task(m, scope, this->view_);
      this->set_with(m, x, y, value, frame);
    });
  }
  void set_h(std::int64_t x, std::int64_t y, std::span<T const> values, Scope const& scope,
             std::uint32_t frame = 0) const {
    on_this_thread([&](auto m) {
      detail::TaskFromOutside const task(m, scope, this->view_);
      this->row_with(m, x, y, values, frame);
    });
  }
};
template <class T>
using ScopedStencilInlet = Inlet<Scoped<StencilOf<T>>>;

}  // namespace hiway
