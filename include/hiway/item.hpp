// Items in memory: how they are copied, and which of them are used in their slot.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hiway/config.hpp"

namespace hiway {

/// The largest item that the library's loops copy out of its slot. A larger one is used in its slot: on a GPU a copy
/// would lie in local memory, which is reserved for every lane that the device can hold.
inline constexpr std::size_t copied_bytes = 256;
template <class T>
inline constexpr bool stays_in_slot = (sizeof(T) > copied_bytes);

HIWAY_ITEMS_MAY_LOOK_UNSET
namespace detail {

/// Copies words of `Width` bytes: the `rank`-th of `size` lanes takes every `size`-th word.
template <std::size_t Width>
HIWAY_DEVICE inline void copy_words(std::byte* to, std::byte const* from, std::size_t bytes, unsigned rank,
                                    unsigned size) {
  for (std::size_t at = rank * Width; at < bytes; at += size * Width)
    memcpy(__builtin_assume_aligned(to + at, Width), __builtin_assume_aligned(from + at, Width), Width);
}

}  // namespace detail

/// Copies `bytes` bytes, in words as wide as the addresses allow. `size` lanes copy side by side; the caller is the
/// `rank`-th.
HIWAY_DEVICE inline void copy_bytes(void* to, void const* from, std::size_t bytes, unsigned rank = 0,
                                    unsigned size = 1) {
  auto* const t = static_cast<std::byte*>(to);
  auto const* const f = static_cast<std::byte const*>(from);
  std::uintptr_t const both = reinterpret_cast<std::uintptr_t>(t) | reinterpret_cast<std::uintptr_t>(f) | bytes;
  if (both % 16 == 0) {
    detail::copy_words<16>(t, f, bytes, rank, size);
  } else if (both % 4 == 0) {
    detail::copy_words<4>(t, f, bytes, rank, size);
  } else {
    detail::copy_words<1>(t, f, bytes, rank, size);
  }
}

namespace detail {

/// Where T's name begins in a __PRETTY_FUNCTION__: "... [with T = a::B; ...]", "... [T = a::B]", "... [with T=a::B]".
constexpr char const* name_of_type(char const* pretty) {
  while (!(pretty[0] == 'T' && (pretty[1] == '=' || (pretty[1] == ' ' && pretty[2] == '=')))) ++pretty;
  return pretty + (pretty[1] == '=' ? 2 : 4);
}
constexpr bool is_one_of(char c, char const* characters) {
  while (*characters != '\0' && *characters != c) ++characters;
  return *characters != '\0';
}

/// A hash of T's name without its namespaces, if the name is a plain identifier, on which compilers agree; else 0.
template <class T>
constexpr std::uint64_t type_name_hash() {
  std::uint64_t hash = 0;
  bool begins = true;
  for (char const* at = name_of_type(__PRETTY_FUNCTION__); !is_one_of(*at, "];,"); ++at) {
    if (begins && is_one_of(*at, "{(<")) {  // an unnamed namespace, as each compiler spells it
      while (!is_one_of(*at, "})>")) ++at;
      if (*++at != ':') return 0;
    }
    if (is_one_of(*at, "<({ ")) return 0;
    begins = *at == ':';
    hash = begins ? 0 : (hash ^ static_cast<unsigned char>(*at)) * 1099511628211u + 1;
  }
  return hash;
}

}  // namespace detail

/// A number that tells types of items apart, the same on host and device: made of size, alignment, kind, and the type's
/// name if that is a plain one. Never 0.
template <class T>
inline constexpr std::uint64_t item_type = [] {
  std::uint64_t kind = std::is_floating_point_v<T> ? 1 : std::is_signed_v<T> ? 2 : std::is_arithmetic_v<T> ? 3 : 4;
  kind = (kind << 20 | alignof(T)) << 20 | sizeof(T);
  if constexpr (!std::is_arithmetic_v<T> && !std::is_pointer_v<T>) kind ^= detail::type_name_hash<T>() << 1;
  return kind | std::uint64_t{1} << 63;
}();

/// Copies one item, by one lane.
template <class T>
HIWAY_DEVICE inline void copy_item(T& to, T const& from) {
  if constexpr (stays_in_slot<T>) {
    copy_bytes(&to, &from, sizeof(T));
  } else {
    to = from;
  }
}

/// What a slot's address is a multiple of: items lie side by side, and the first one's address is a multiple of 16.
template <class T>
inline constexpr std::size_t slot_alignment = [] {
  std::size_t by_size = 16;
  while (sizeof(T) % by_size != 0) by_size /= 2;
  return by_size > alignof(T) ? by_size : alignof(T);
}();

namespace detail {

/// Copies an item by way of registers, in words as wide as a slot's address allows. A type may be aligned to less than
/// that, as a struct of two 64-bit words is; stores of half the width move half as many items a second to the host.
template <class T, std::size_t To, std::size_t From>
HIWAY_DEVICE inline void copy_by_words(void* to, void const* from) {
  alignas(slot_alignment<T>) std::byte words[sizeof(T)];
  memcpy(words, __builtin_assume_aligned(from, From), sizeof(T));
  memcpy(__builtin_assume_aligned(to, To), words, sizeof(T));
}
template <class T>
inline constexpr bool copies_by_words = !stays_in_slot<T> && slot_alignment<T> != alignof(T);

}  // namespace detail

/// Room for an item that need not be default-constructible.
template <class T>
struct ItemRoom {
  alignas(T) unsigned char bytes[sizeof(T)];
  HIWAY_DEVICE T& item() { return *reinterpret_cast<T*>(bytes); }
};

/// An item in its slot.
template <class T>
HIWAY_DEVICE inline T const& item_in(std::byte const* slot) {
  return *reinterpret_cast<T const*>(slot);
}
template <class T>
HIWAY_DEVICE inline T& item_in(std::byte* slot) {
  return *reinterpret_cast<T*>(slot);
}

/// Writes an item into its slot.
template <class T>
struct WriteItem {
  static constexpr std::size_t bytes = sizeof(T);
  T const& item;
  HIWAY_DEVICE void operator()(std::byte* slot) const {
    if constexpr (detail::copies_by_words<T>) {
      detail::copy_by_words<T, slot_alignment<T>, alignof(T)>(slot, &item);
    } else {
      copy_item(item_in<T>(slot), item);
    }
  }
};
/// The same of an item of its own.
template <class T>
struct WriteOwnItem {
  static constexpr std::size_t bytes = sizeof(T);
  ItemRoom<T> room;
  HIWAY_DEVICE void operator()(std::byte* slot) const { WriteItem<T>{*reinterpret_cast<T const*>(room.bytes)}(slot); }
};
/// `write` for a function that is not compiled into its caller: one with an item of its own, if that is small. So the
/// compiler may keep the caller's item in registers.
template <class T>
requires(!stays_in_slot<T>) inline WriteOwnItem<T> with_own_item(WriteItem<T> const& write) {
  WriteOwnItem<T> own;
  copy_item(own.room.item(), write.item);
  return own;
}
template <class Write>
inline Write const& with_own_item(Write const& write) {
  return write;
}
/// Reads an item from its slot.
template <class T>
struct ReadItem {
  static constexpr std::size_t bytes = sizeof(T);
  T& item;
  HIWAY_DEVICE void operator()(std::byte const* slot) const {
    if constexpr (detail::copies_by_words<T>) {
      detail::copy_by_words<T, alignof(T), slot_alignment<T>>(&item, slot);
    } else {
      copy_item(item, item_in<T>(slot));
    }
  }
};
HIWAY_ITEMS_END

}  // namespace hiway
