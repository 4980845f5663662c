// Inlet<T>: where items go into a tunnel. A copyable handle that owns nothing; stages get one for each tunnel in
// into(...).
//
// Each call comes in three names: x_h on a CPU thread, x_d in a kernel, x wherever it runs. All three have one body,
// which takes the machine. How a put works stands in inlet/put.hpp.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "hiway/config.hpp"
#include "hiway/durations.hpp"
#include "hiway/inlet/keyed.hpp"
#include "hiway/inlet/offer.hpp"
#include "hiway/inlet/put.hpp"
#include "hiway/inlet/puts.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/scope/fail_task.hpp"
#include "hiway/scope/task.hpp"

namespace hiway {

/// Where items go into a tunnel. A copyable handle that owns nothing; stages get one for each tunnel in into(...).
template <class T>
class Inlet : public InletPuts<T> {
  static_assert(std::is_trivially_copyable_v<T>,
                "hiway: Inlet<T>: T must be trivially copyable (it is moved as bytes between devices)");
  using InletPuts<T>::scoped_;
  using InletPuts<T>::view_;

 public:
  using value_type = T;

  Inlet() = default;
  HIWAY_DEVICE explicit Inlet(InletView const& view, bool scoped = false) : InletPuts<T>(view, scoped) {}

  /// Puts `item`. *Waits* until the tunnel has room, or does what TunnelConfig::when_full says. When the run aborts it
  /// throws Unwind; if an exception is already in flight, it drops the item and returns. *Threads*: any number at once.
  /// *Errors*: put_after_close, put_after_end, spill_exhausted, tunnel_full end the run with an error that names stage
  /// and tunnel.
  HIWAY_PART_OF_CALLER void put_h(T const& item) const {
    on_this_thread([&](auto m) HIWAY_PART_OF_CALLER { this->put_one(m, item); });
  }
  HIWAY_DEVICE void put_d(T const& item) const {
    on_this_device([&](auto m) { this->put_one(m, item); });
  }
  HIWAY_DEVICE void put(T const& item) const {
    anywhere([&](auto m) { this->put_one(m, item); });
  }

  /// Puts `item` for `scope`, into a tunnel with scopes: the item, and all that tasks put while they work on it, belong
  /// to it. *Waits*, *Errors*: as put. *Throws* Error if the scope is of another kind, or has been closed.
  void put_h(T const& item, Scope const& scope) const {
    std::uint64_t const word = detail::word_from_outside(scope, view_);
    on_this_thread([&](auto m) { detail::put(m, view_, WriteScoped<T>{item, word}); });
  }

  /// Puts `item` as `options` say. *Waits*, *Errors*: as put; put_with_key.
  void put_h(T const& item, PutOptions const& options) const {
    on_this_thread([&](auto m) { with_key(m, options, [&](Inlet const& inlet) { inlet.put_one(m, item); }); });
  }
  /// The same for `scope`.
  void put_h(T const& item, Scope const& scope, PutOptions const& options) const {
    std::uint64_t const word = detail::word_from_outside(scope, view_);
    on_this_thread([&](auto m) {
      with_key(m, options, [&](Inlet const& inlet) { detail::put(m, inlet.view_, WriteScoped<T>{item, word}); });
    });
  }

  /// Puts `item` as the task's last one: its part of a scope goes on with the item, so that the task's end costs
  /// nothing. The scope does not wait for what the task does after that. Otherwise, and without scopes, the same as
  /// put.
  void put_last_h(T const& item) const {
    on_this_thread([&](auto m) { this->put_last_one(m, item); });
  }
  HIWAY_DEVICE void put_last_d(T const& item) const {
    on_this_device([&](auto m) { this->put_last_one(m, item); });
  }
  HIWAY_DEVICE void put_last(T const& item) const {
    anywhere([&](auto m) { this->put_last_one(m, item); });
  }

  /// Puts `item` if there is room now, in the spill pool too. May return false although there is room, while another
  /// claim is in flight; never waits for room. When the run aborts it does as put does. A full pool is no error here: a
  /// stage of a cycle that only tries again may wait for itself, and put would report that.
  [[nodiscard]] bool try_put_h(T const& item) const {
    return on_this_thread([&](auto m) { return this->try_put_one(m, item); }, true);
  }
  [[nodiscard]] bool try_put_h(T const& item, PutOptions const& options) const {
    return on_this_thread(
        [&](auto m) { return with_key(m, options, [&](Inlet const& inlet) { return inlet.try_put_one(m, item); }); },
        true);
  }
  [[nodiscard]] HIWAY_DEVICE bool try_put_d(T const& item) const {
    return on_this_device([&](auto m) { return this->try_put_one(m, item); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool try_put(T const& item) const {
    return anywhere([&](auto m) { return this->try_put_one(m, item); }, true);
  }

  /// Puts `item` if there is room within `timeout`, about; 0 tries once. It ends no run and throws no Unwind: a stage
  /// returns when an offer is `aborted`. *Threads*: any number at once, also while another closes the inlet. *Waits*
  /// as put does. *Errors*: inside a cycle, put_without_task.
  template <class Rep, class Period>
  [[nodiscard]] Put offer_h(T const& item, std::chrono::duration<Rep, Period> timeout) const {
    return on_this_thread([&](auto m) {
      if (scoped_) return this->offer_scoped(m, item, at_most_for_ever(timeout));
      return detail::offer(m, view_, WriteItem<T>{item}, at_most_for_ever(timeout));
    });
  }
  template <class Rep, class Period>
  [[nodiscard]] Put offer_h(T const& item, std::chrono::duration<Rep, Period> timeout, PutOptions const& options) const
      try {
    return on_this_thread(
        [&](auto m) { return with_key(m, options, [&](Inlet const& inlet) { return inlet.offer_h(item, timeout); }); });
  } catch (Unwind const&) {
    return Put::aborted;
  }
  /// The same for `scope`, as put_h with a scope. *Throws* Error if the scope is of another kind, or has been closed.
  template <class Rep, class Period>
  [[nodiscard]] Put offer_h(T const& item, Scope const& scope, std::chrono::duration<Rep, Period> timeout) const try {
    std::uint64_t const word = detail::word_from_outside(scope, view_);
    Put const result = on_this_thread([&](auto m) {
      return detail::offer(m, view_, WriteScoped<T>{item, word}, at_most_for_ever(timeout));
    });
    if (result != Put::done) detail::take_back_from_outside(word, view_);
    return result;
  } catch (Unwind const&) {
    return Put::aborted;
  }

  /// Puts every item of `items`, in order. *Waits* like put of one. Lanes may put different numbers, or none; converged
  /// lanes share a claim. On a device not for items above 256 bytes.
  void put_h(std::span<T const> items) const {
    on_this_thread([&](auto m) { this->put_all(m, items); });
  }
  HIWAY_DEVICE void put_d(std::span<T const> items) const {
    on_this_device([&](auto m) { this->put_all(m, items); });
  }
  HIWAY_DEVICE void put(std::span<T const> items) const {
    anywhere([&](auto m) { this->put_all(m, items); });
  }

  /// Puts an item that `fill(T& slot)` writes directly into its slot: for large items, of which a lane has no copy.
  /// `fill` must write every byte that matters, and must not put or get. *Waits* like put.
  template <class Fill>
  void put_in_place_h(Fill&& fill) const {
    on_this_thread([&](auto m) { this->put_filled(m, fill); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place_d(Fill&& fill) const {
    on_this_device([&](auto m) { this->put_filled(m, fill); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void put_in_place(Fill&& fill) const {
    anywhere([&](auto m) { this->put_filled(m, fill); });
  }

 private:
  /// `put(inlet)` with the inlet of the key's thread, or with this one.
  template <class Machine, class Call>
  auto with_key(Machine m, PutOptions const& options, Call&& put) const {
    if (!options.key) return put(*this);
    detail::WakesReaders const after(view_);
    return put(Inlet(detail::view_for_key(m, view_, *options.key), scoped_));
  }
};

}  // namespace hiway
