// InletPuts: the bodies of an inlet's puts, one each for all machines; with scopes and without. Inlet gives them their
// names.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hiway/inlet/offer.hpp"
#include "hiway/inlet/put.hpp"
#include "hiway/inlet/span.hpp"
#include "hiway/inlet/team_inlet.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/item.hpp"
#include "hiway/scope/task.hpp"

namespace hiway {

template <class T>
class InletPuts : public TeamInlet<T> {
 protected:
  using TeamInlet<T>::scoped_;
  using TeamInlet<T>::view_;

  InletPuts() = default;
  HIWAY_DEVICE InletPuts(InletView const& view, bool scoped) : TeamInlet<T>(view, scoped) {}

  template <class Machine>
  HIWAY_PART_OF_CALLER HIWAY_DEVICE void put_one(Machine m, T const& item) const {
    if (scoped_) return detail::put(m, view_, WriteScoped<T>{item, detail::share_scope(m, view_)});
    detail::put(m, view_, WriteItem<T>{item});
  }
  template <class Machine>
  HIWAY_PART_OF_CALLER HIWAY_DEVICE void put_last_one(Machine m, T const& item) const {
    if (scoped_) return detail::put(m, view_, WriteScoped<T>{item, detail::share_rest(m, view_)});
    detail::put(m, view_, WriteItem<T>{item});
  }
  template <class Machine>
  HIWAY_PART_OF_CALLER HIWAY_DEVICE bool try_put_one(Machine m, T const& item) const {
    if (scoped_) return try_put_scoped(m, item);
    return detail::try_put(m, view_, detail::together(m, view_), true, WriteItem<T>{item});
  }
  template <class Machine>
  HIWAY_DEVICE bool try_put_scoped(Machine m, T const& item) const {
    std::uint64_t const word = detail::share_scope(m, view_);
    bool const put = detail::try_put(m, view_, detail::together(m, view_), true, WriteScoped<T>{item, word});
    if (!put) detail::take_scope_back(m, word);
    return put;
  }
  template <class Machine>
  Put offer_scoped(Machine m, T const& item, std::chrono::nanoseconds timeout) const {
    std::uint64_t const word = detail::share_scope(m, view_);
    Put const result = detail::offer(m, view_, WriteScoped<T>{item, word}, timeout);
    if (result != Put::done) detail::take_scope_back(m, word);
    return result;
  }
  template <class Machine>
  HIWAY_DEVICE void put_all(Machine m, std::span<T const> items) const {
    if (scoped_) {
      for (T const& item : items) put_one(m, item);
      return;
    }
    detail::put_items(m, view_, items);
  }
  HIWAY_NO_SPACE_CHECK template <class Machine, class Fill>
  HIWAY_DEVICE void put_filled(Machine m, Fill&& fill) const {
    if (scoped_) {
      std::uint64_t const word = detail::share_scope(m, view_);
      return detail::put(m, view_, [&](std::byte* slot) {
        fill(item_in<Scoped<T>>(slot).item);
        item_in<Scoped<T>>(slot).scope = word;
      });
    }
    detail::put(m, view_, [&](std::byte* slot) { fill(item_in<T>(slot)); });
  }
};

}  // namespace hiway
