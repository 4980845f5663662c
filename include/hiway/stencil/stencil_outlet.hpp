// StencilOutlet<T>: a consumer's end of a stencil tunnel.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/outlet.hpp"
#include "hiway/stencil/consume.hpp"
#include "hiway/stencil/scoreboard.hpp"
#include "hiway/stencil/task.hpp"

namespace hiway {

HIWAY_ITEMS_MAY_LOOK_UNSET
/// A consumer's end of a stencil tunnel that carries `Strip`: gets tasks and fetches values. Each lane has its own,
/// which keeps the tasks that were taken and not given out yet.
template <class T, class Strip>
class AnyStencilOutlet {
 public:
  using value_type = T;

  AnyStencilOutlet() = default;
  HIWAY_DEVICE AnyStencilOutlet(OutletView const& regions, OutletView const& strips, InletView const& into_strips)
      : views_{regions, strips, into_strips} {}

  /// Gets a task if there is one; never waits for one. The task is open until end_task. A lane with open tasks of one
  /// frame gets none of another. With scopes a lane has one open task (*Errors*: scope_task_open).
  [[nodiscard]] bool get_h(StencilTask& task) const {
    return on_this_thread([&](auto m) { return get_with(m, task); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get_d(StencilTask& task) const {
    return on_this_device([&](auto m) { return get_with(m, task); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get(StencilTask& task) const {
    return anywhere([&](auto m) { return get_with(m, task); });
  }
  /// Gets a task. *Waits* until there is one; false when the tunnel has ended.
  [[nodiscard]] bool next_h(StencilTask& task) const {
    return on_this_thread([&](auto m) { return next_with(m, task); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next_d(StencilTask& task) const {
    return on_this_device([&](auto m) { return next_with(m, task); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next(StencilTask& task) const {
    return anywhere([&](auto m) { return next_with(m, task); });
  }

  /// The value at column `x`, row `y`, in the frame of the task that the lane got last. It stays there until that task
  /// is ended. The values of the task's stencil have arrived; others may have. *Errors*: outside_matrix.
  [[nodiscard]] T const& fetch_h(std::int64_t x, std::int64_t y) const {
    return on_this_thread([&](auto m) -> T const& { return fetch_with(m, x, y); });
  }
  [[nodiscard]] HIWAY_DEVICE T const& fetch_d(std::int64_t x, std::int64_t y) const {
    return on_this_device([&](auto m) -> T const& { return fetch_with(m, x, y); });
  }
  [[nodiscard]] HIWAY_DEVICE T const& fetch(std::int64_t x, std::int64_t y) const {
    return anywhere([&](auto m) -> T const& { return fetch_with(m, x, y); });
  }
  /// Whether all values of the stencil centred at (x, y) have arrived, in the same frame. *Errors*: outside_matrix,
  /// also at a place that never is a task.
  [[nodiscard]] bool is_stencil_ready_h(std::int64_t x, std::int64_t y) const {
    return on_this_thread([&](auto m) { return ready_with(m, x, y); });
  }
  [[nodiscard]] HIWAY_DEVICE bool is_stencil_ready_d(std::int64_t x, std::int64_t y) const {
    return on_this_device([&](auto m) { return ready_with(m, x, y); });
  }
  [[nodiscard]] HIWAY_DEVICE bool is_stencil_ready(std::int64_t x, std::int64_t y) const {
    return anywhere([&](auto m) { return ready_with(m, x, y); });
  }

  /// Ends one task that the lane got. The task's puts come before this call. *Errors*: end_task_too_many.
  void end_task_h() const {
    on_this_thread([&](auto m) { end_with(m); });
  }
  HIWAY_DEVICE void end_task_d() const {
    on_this_device([&](auto m) { end_with(m); });
  }
  HIWAY_DEVICE void end_task() const {
    anywhere([&](auto m) { end_with(m); });
  }

  /// Calls `body(task)` for every task and ends it, until the tunnel has ended: the whole persistent loop.
  template <class Body>
  void for_each_h(Body&& body) const {
    on_this_thread([&](auto m) { each_with(m, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_d(Body&& body) const {
    on_this_device([&](auto m) { each_with(m, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each(Body&& body) const {
    anywhere([&](auto m) { each_with(m, body); });
  }

  /// This tunnel will bring no more tasks.
  [[nodiscard]] bool has_ended_h() const {
    return on_this_thread([&](auto m) { return ended_with(m); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool has_ended_d() const {
    return on_this_device([&](auto m) { return ended_with(m); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool has_ended() const {
    return anywhere([&](auto m) { return ended_with(m); }, true);
  }
  /// No outlet of this stage will bring more.
  [[nodiscard]] bool is_terminate_h() const {
    return on_this_thread([&](auto m) { return stage_ended_with(m); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool is_terminate_d() const {
    return on_this_device([&](auto m) { return stage_ended_with(m); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool is_terminate() const {
    return anywhere([&](auto m) { return stage_ended_with(m); }, true);
  }

  /// Ends the run with an error that says `message` and names the stage. Does not return.
  void fail_h(char const* message) const {
    on_this_thread([&](auto m) { fail_with(m, message); });
  }
  HIWAY_DEVICE void fail_d(char const* message) const {
    on_this_device([&](auto m) { fail_with(m, message); });
  }
  HIWAY_DEVICE void fail(char const* message) const {
    anywhere([&](auto m) { fail_with(m, message); });
  }

 private:
  HIWAY_DEVICE GetBoard const& board() const { return views_.board(); }
  HIWAY_DEVICE void enter_frame(std::uint32_t frame) const {
    StencilShape const& s = board().shape;
    frame_ = frame;
    values_ = reinterpret_cast<T const*>(board().values) + s.buffer(frame) * s.values();
    width_ = s.width;
    height_ = s.height;
  }
  /// The `i`-th task of a strip.
  HIWAY_DEVICE static StencilTask task_of(StencilStrip const& strip, std::uint32_t i, StripShape const& shape) {
    return {strip.x + (shape.goes_down ? 0 : i), strip.y + (shape.goes_down ? i : 0), strip.frame};
  }

  template <class Machine>
  HIWAY_DEVICE T const& fetch_with(Machine m, std::int64_t x, std::int64_t y) const {
    if (x < 0 || x >= width_ || y < 0 || y >= height_)
      detail::raise_at(m, views_.strips, FaultKind::outside_matrix, {x, y, frame_});
    return values_[static_cast<std::size_t>(y) * width_ + static_cast<std::size_t>(x)];
  }
  template <class Machine>
  HIWAY_DEVICE bool ready_with(Machine m, std::int64_t x, std::int64_t y) const {
    return detail::is_stencil_ready(m, views_, {x, y, frame_});
  }
  template <class Machine>
  HIWAY_DEVICE bool ended_with(Machine m) const {
    return left_.count == 0 && detail::tunnel_ended(m, views_.strips);
  }
  template <class Machine>
  HIWAY_DEVICE bool stage_ended_with(Machine m) const {
    return detail::stage_ended(m, views_.strips);
  }
  template <class Machine>
  HIWAY_DEVICE void fail_with(Machine m, char const* message) const {
    detail::fail_at(m, views_.strips, message);
  }

  HIWAY_NO_SPACE_CHECK template <class Machine>
  HIWAY_DEVICE bool get_with(Machine m, StencilTask& task) const {
    if constexpr (detail::has_word<Strip>) {
      if (detail::has_open_scope_task(m, views_.strips))
        raise(m, *views_.strips.control, FaultKind::scope_task_open, views_.strips.stage, views_.strips.tunnel, 0);
      while (get_place(m, task)) {
        detail::begin_place(m, views_.strips, views_.into_strips, left_.scope, left_.count == 0);
        if (!detail::is_cancelled(m, views_.strips, m.scope().word)) return true;
        end_with(m);
      }
      return false;
    } else {
      return get_place(m, task);
    }
  }
  template <class Machine>
  HIWAY_DEVICE bool get_place(Machine m, StencilTask& task) const {
    if (left_.count == 0 && !take_with(m)) {
      unsigned& misses = m.misses(misses_);
      leave_if_aborted(m, *views_.strips.control);
      m.relax(misses++);
      return false;
    }
    m.misses(misses_) = 0;
    task = {left_.x, left_.y, left_.frame};
    (board().strips.goes_down ? left_.y : left_.x) += 1;
    --left_.count;
    ++unended_;
    return true;
  }
  /// Takes a strip for the lane, together with the lanes that are converged with it.
  template <class Machine>
  HIWAY_DEVICE bool take_with(Machine m) const {
    std::uint32_t const group = detail::together(m, views_.strips);
    Strip strip{};
    bool const got = detail::take_strip_or_region(m, views_, group, after_misses(m.misses(misses_)), strip);
    bool const other = got && unended_ != 0 && strip.frame != frame_;
    detail::put_together(m, views_.into_strips, group, other, WriteItem<Strip>{strip});
    detail::end_tasks(m, views_.strips, group, other);
    if (!got || other) return false;
    left_ = strip;
    tasks_ += strip.count;
    ++strips_;
    enter_frame(strip.frame);
    return true;
  }
  template <class Machine>
  HIWAY_DEVICE bool next_with(Machine m, StencilTask& task) const {
    while (!get_with(m, task)) {
      if (ended_with(m)) return false;
    }
    return true;
  }
  HIWAY_NO_SPACE_CHECK template <class Machine>
  HIWAY_DEVICE void end_with(Machine m) const {
    if (unended_ == 0)
      raise(m, *views_.strips.control, FaultKind::end_task_too_many, views_.strips.stage, views_.strips.tunnel, 0);
    if constexpr (detail::has_word<Strip>) detail::end_place(m, views_.strips, left_.scope, left_.count == 0);
    if (--unended_ != 0 || left_.count != 0) return;
    detail::end_strips(m, views_, detail::together(m, views_.strips), true, frame_, tasks_, strips_);
    tasks_ = strips_ = 0;
  }

  /// Calls `body` for a place of the strip, unless its scope is cancelled.
  HIWAY_NO_SPACE_CHECK template <class Machine, class Body>
  HIWAY_DEVICE void call_in_scope(Machine m, detail::ScopedStrip& strip, StencilTask const& task, bool is_last,
                                  Body&& body) const {
    detail::begin_place(m, views_.strips, views_.into_strips, strip.scope, is_last);
    if (!detail::is_cancelled(m, views_.strips, m.scope().word)) body(task);
    detail::end_place(m, views_.strips, strip.scope, is_last);
  }
  HIWAY_NO_SPACE_CHECK template <class Machine, class Body>
  HIWAY_DEVICE void each_with(Machine m, Body&& body) const {
    std::uint32_t const group = detail::together(m, views_.strips);
    StripShape const shape = board().strips;
    for (unsigned misses = 0;;) {
      Strip strip{};
      bool const got = detail::take_strip(m, views_, group, true, after_misses(misses), strip);
      if (got) {
        enter_frame(strip.frame);
        for (std::uint32_t i = 0; i < strip.count; ++i) {
          if constexpr (detail::has_word<Strip>) {
            call_in_scope(m, strip, task_of(strip, i, shape), i + 1 == strip.count, body);
          } else {
            body(task_of(strip, i, shape));
          }
        }
      }
      detail::end_strips(m, views_, group, got, strip.frame, strip.count, 1);
      if (m.ballot(group, got) != 0 || detail::take_region<Strip>(m, views_, group)) {
        misses = 0;
        continue;
      }
      if (m.ballot(group, detail::tunnel_ended(m, views_.strips)) != 0) {
        m.sync_warp(group);
        return;
      }
      m.relax(misses++);
    }
  }

  detail::StencilViews views_{};
  // The frame of the last task.
  mutable T const* values_ = nullptr;
  mutable std::uint32_t width_ = 0;
  mutable std::uint32_t height_ = 0;
  mutable std::uint32_t frame_ = 0;
  // State of get: the rest of the strip, with its word; the tasks given out and not ended; the strips taken and their
  // tasks, until all are ended.
  mutable Strip left_{};
  mutable std::uint32_t unended_ = 0;
  mutable std::uint32_t strips_ = 0;
  mutable std::uint32_t tasks_ = 0;
  mutable unsigned misses_ = 0;
};
HIWAY_ITEMS_END

/// A consumer's end of a stencil tunnel.
template <class T>
class Outlet<StencilOf<T>> : public AnyStencilOutlet<T, StencilStrip> {
  using AnyStencilOutlet<T, StencilStrip>::AnyStencilOutlet;
};
template <class T>
using StencilOutlet = Outlet<StencilOf<T>>;

/// The same of one with scopes.
template <class T>
class Outlet<Scoped<StencilOf<T>>> : public AnyStencilOutlet<T, detail::ScopedStrip> {
  using AnyStencilOutlet<T, detail::ScopedStrip>::AnyStencilOutlet;
};
template <class T>
using ScopedStencilOutlet = Outlet<Scoped<StencilOf<T>>>;

}  // namespace hiway
