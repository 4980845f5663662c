// What lies in the slots of a segment's queues: items, with the words of their scopes if there are any.
#pragma once
#include <type_traits>

#include "hiway/config.hpp"
#include "hiway/scope/word.hpp"

namespace hiway::segment {

template <class T, bool has_scopes>
using SlotOf = std::conditional_t<has_scopes, Scoped<T>, T>;

/// The item in a slot.
template <class T>
HIWAY_DEVICE inline T const& item_of(T const& slot) {
  return slot;
}
template <class T>
HIWAY_DEVICE inline T const& item_of(Scoped<T> const& slot) {
  return slot.item;
}

}  // namespace hiway::segment
