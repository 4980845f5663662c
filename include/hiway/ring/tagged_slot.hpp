// TaggedSlot: a slot whose item brings its own tag, and which accesses may meet one. Decided at compile time where the
// item's size is known.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiway/machine/machine.hpp"

namespace hiway {

/// A slot of a tagged ring: an item of at most 12 bytes and its tag, or turn. Machines that have a 16-byte access read
/// or write both at once.
struct alignas(16) TaggedSlot {
  static constexpr std::size_t most_bytes = 12;
  std::byte item[most_bytes];
  Word<std::uint32_t> tag;
};

/// A functor that reads or writes one item states the item's size, if it is known, as `bytes`. Items of at most 12
/// bytes may be tagged.
template <class Access>
inline constexpr bool may_be_tagged = false;
template <class Access>
requires requires { Access::bytes; }
inline constexpr bool may_be_tagged<Access> = Access::bytes <= TaggedSlot::most_bytes;
/// If the size is unknown, whether the ring is tagged is decided at run time, which costs registers.
template <class Access>
inline constexpr bool size_is_known = false;
template <class Access>
requires requires { Access::bytes; }
inline constexpr bool size_is_known<Access> = true;

}  // namespace hiway
