// Sources of a segment: a range of numbers, of a buffer's items or of generated ones, or a tunnel.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

#include "hiway/error.hpp"
#include "hiway/memory.hpp"
#include "hiway/stage.hpp"

namespace hiway::segment {

/// A source that makes items from their numbers, from 0 on.
template <class T, class Make>
struct Range {
  using Item = T;
  static constexpr bool is_range = true;
  static constexpr bool has_scopes = false;
  std::uint64_t size = 0;
  Make make;
  HIWAY_DEVICE T item(std::uint64_t i) const { return make(i); }
};
template <class T>
struct MakeIndex {
  HIWAY_DEVICE T operator()(std::uint64_t i) const { return static_cast<T>(i); }
};
template <class T>
struct MakeLoad {
  T const* data = nullptr;
  HIWAY_DEVICE T operator()(std::uint64_t i) const { return data[i]; }
};
/// The numbers 0 to n - 1. *Throws* ConfigError if T does not hold them.
template <class T = std::uint32_t>
[[nodiscard]] Range<T, MakeIndex<T>> indices(std::uint64_t n) {
  if (n != 0 && static_cast<std::uint64_t>(static_cast<T>(n - 1)) != n - 1)
    throw ConfigError("segment: indices: the item type does not hold " + std::to_string(n - 1));
  return {n, {}};
}
/// The first `n` items of a buffer, or all.
template <class T>
[[nodiscard]] Range<T, MakeLoad<T>> load(Buffer<T>& buffer) {
  return {buffer.size(), {buffer.view().data}};
}
template <class T>
[[nodiscard]] Range<T, MakeLoad<T>> load(Buffer<T>& buffer, std::uint64_t n) {
  check_buffer_range(0, n, buffer.size());
  return {n, {buffer.view().data}};
}
/// The items `make(i)` for i from 0 to n - 1. `make` has `T operator()(std::uint64_t) const`, HIWAY_DEVICE.
template <class Make>
[[nodiscard]] auto generate(std::uint64_t n, Make make) {
  static_assert(std::is_trivially_copyable_v<Make>,
                "hiway: segment: generate: the function must be trivially copyable");
  return Range<std::remove_cvref_t<std::invoke_result_t<Make const&, std::uint64_t>>, Make>{n, make};
}
/// A source that takes a tunnel's items.
template <class T>
struct TunnelSource {
  using Item = ItemOf<T>;
  static constexpr bool is_range = false;
  static constexpr bool has_scopes = is_scoped<T>;
};

namespace detail {

template <class Source>
struct SourceTraits {
  using OnDevice = Source;
  using In = From<>;
  static In ends(Source const&) { return From<>(NoTunnels{}); }
  static OnDevice device(Source const& s) { return s; }
};
template <class T>
struct SourceTraits<From<T>> {
  using OnDevice = TunnelSource<T>;
  using In = From<T>;
  static In ends(From<T> const& s) { return s; }
  static OnDevice device(From<T> const&) { return {}; }
};

}  // namespace detail

}  // namespace hiway::segment
