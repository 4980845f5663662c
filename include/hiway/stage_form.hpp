// Which of the three forms a stage's function has, given its tunnels; found at compile time.
//
//   loop    f(Outlet<I>..., Inlet<O>...)   the body is the whole persistent loop
//   item    void f(I const&, Inlet<O>...)  the library's loop calls it for each item
//   value   O f(I const&)                  the library's loop puts its result, for all lanes at once: the fastest form
#pragma once
#include <concepts>
#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "hiway/inlet.hpp"
#include "hiway/launch/callable.hpp"
#include "hiway/outlet.hpp"
#include "hiway/scope/word.hpp"
#include "hiway/tunnel.hpp"

namespace hiway {

/// Says that a list of tunnels is empty. `{}` must not say so, or options given as `{}` would be ambiguous.
struct NoTunnels {};

/// The tunnels a stage reads, in the order of its outlets.
template <class... Ts>
struct From {
  std::tuple<Tunnel<Ts>*...> tunnels;
  explicit From(Tunnel<Ts>&... t) requires(sizeof...(Ts) > 0) : tunnels(&t...) {}
  explicit From(NoTunnels) requires(sizeof...(Ts) == 0) {}
};
/// The tunnels a stage writes, in the order of its inlets.
template <class... Ts>
struct Into {
  std::tuple<Tunnel<Ts>*...> tunnels;
  explicit Into(Tunnel<Ts>&... t) requires(sizeof...(Ts) > 0) : tunnels(&t...) {}
  explicit Into(NoTunnels) requires(sizeof...(Ts) == 0) {}
};

/// Stands for a tunnel with restored order in into(...).
template <class T>
struct Restored;
template <class T>
struct Into<Restored<T>> {
  std::tuple<RestoredTunnel<T>*> tunnels;
  explicit Into(RestoredTunnel<T>& t) : tunnels(&t) {}
};

namespace detail {

template <class T>
struct ItemOfTunnel<Restored<T>> {
  using Type = T;
};
template <class T>
inline constexpr bool is_restored = false;
template <class T>
inline constexpr bool is_restored<Restored<T>> = true;

}  // namespace detail

/// The tunnels that a stage reads. *Lifetime*: they live in the pipeline.
template <class... Ts>
[[nodiscard]] From<Ts...> from(Tunnel<Ts>&... tunnels) {
  static_assert(sizeof...(Ts) > 0, "hiway: from() needs a tunnel; leave it out for a source");
  return From<Ts...>(tunnels...);
}
/// The tunnels that a stage writes.
template <class... Ts>
[[nodiscard]] Into<Ts...> into(Tunnel<Ts>&... tunnels) {
  static_assert(sizeof...(Ts) > 0, "hiway: into() needs a tunnel; leave it out for a sink");
  return Into<Ts...>(tunnels...);
}
/// The tunnel with restored order that a stage in value form writes.
template <class T>
[[nodiscard]] Into<Restored<T>> into(RestoredTunnel<T>& tunnel) {
  return Into<Restored<T>>(tunnel);
}

namespace detail {

/// Whether a From or Into names a tunnel with scopes.
template <class Tunnels>
inline constexpr bool names_scopes = false;
template <class... Ts>
inline constexpr bool names_scopes<From<Ts...>> = (is_scoped<Ts> || ...);
template <class... Ts>
inline constexpr bool names_scopes<Into<Ts...>> = (is_scoped<Ts> || ...);

}  // namespace detail

/// How many of Ts are stencil tunnels. After its own ends, a stage has an outlet and an inlet for the tasks of each of
/// them.
template <class... Ts>
inline constexpr unsigned stencils_among = (0 + ... + (is_stencil<Ts> ? 1 : 0));

namespace detail {

/// Whether F's operator() may have types to deduce: it is a template, or overloaded. Wrappers that forward their
/// arguments do not count: the library's own (Wraps), and the standard library's (std::bind).
template <class F>
inline constexpr bool may_deduce = std::is_class_v<F> && !requires {
  &F::operator();
}
&&!requires { typename F::Wraps; }
&&!is_called<F>({"F = std::", "F=std::"});

/// Whether F can be called without deducing a type: a template cannot deduce one from `{}`. A test with real types
/// would instantiate a template's body with types it was not written for, and the compiler's errors would be in that
/// body.
template <class F, class... Ends>
inline constexpr bool takes_ends = requires(F& f, Ends&... ends) {
  f({ends}...);
};
template <class F, class Item, class... Ends>
inline constexpr bool takes_item = requires(F& f, Item const& item, Ends&... ends) {
  f({item}, {ends}...);
}
|| requires(F& f, Ends&... ends) { f({}, {ends}...); };

template <class F, class... Ends>
[[nodiscard]] consteval bool is_loop() {
  if constexpr (may_deduce<F> && !takes_ends<F, Ends...>) {
    return false;
  } else {
    return std::invocable<F&, Ends...>;
  }
}
template <class F, class Item, class... Ends>
[[nodiscard]] consteval bool is_for_items() {
  if constexpr (may_deduce<F> && !takes_item<F, Item, Ends...>) {
    return false;
  } else {
    return std::invocable<F&, Item const&, Ends...>;
  }
}

/// Whether some value of number type R has no equal in number type O.
template <class R, class O>
[[nodiscard]] consteval bool narrows() {
  if constexpr (std::is_arithmetic_v<R> && std::is_arithmetic_v<O>) {
    using Given = std::numeric_limits<R>;
    using Kept = std::numeric_limits<O>;
    bool const loses_sign = Given::is_signed && !Kept::is_signed;
    bool const loses_fraction = !Given::is_integer && Kept::is_integer;
    return loses_sign || loses_fraction || Given::digits > Kept::digits;
  } else {
    return false;
  }
}

}  // namespace detail

/// Which of the three forms a function has, given the items of its tunnels.
template <class F, class In, class Out>
struct FormOf;
template <class F, class... Is, class... Os>
struct FormOf<F, From<Is...>, Into<Os...>> {
  static constexpr bool loop = detail::is_loop<F, Outlet<Is>..., Inlet<Os>...>();
  static constexpr bool each = !loop && sizeof...(Is) > 0 && (detail::is_for_items<F, Is, Inlet<Os>...>() && ...);
  template <class I, class O>
  static constexpr bool converts = [] {
    if constexpr (detail::is_for_items<F, I>()) {
      return std::convertible_to<std::invoke_result_t<F&, I const&>, O>;
    } else {
      return false;
    }
  }();
  template <class I, class O>
  static constexpr bool narrows = [] {
    if constexpr (converts<I, O>) {
      return detail::narrows<std::remove_cvref_t<std::invoke_result_t<F&, I const&>>, O>();
    } else {
      return false;
    }
  }();
  template <class I>
  static constexpr bool maps = (sizeof...(Os) == 1) && (converts<I, Os> && ...);
  static constexpr bool value = !loop && !each && sizeof...(Is) > 0 && (maps<Is> && ...);
  static constexpr bool item = each || value;
  static constexpr bool known = loop || each || value;
  static constexpr bool named = known || !detail::may_deduce<F>;
  static constexpr bool whole = [] {
    if constexpr (value && sizeof...(Os) == 1) {
      return !(narrows<Is, std::tuple_element_t<0, std::tuple<Os...>>> || ...);
    } else {
      return true;
    }
  }();
  static constexpr bool fits = known && whole;
  static_assert(
      named,
      "hiway: the stage's operator() is a template (an auto parameter), or none of several fits its tunnels: "
      "name the types, one Outlet<T> per from(...), then one Inlet<T> per into(...) (or, per item: (const T&, "
      "Inlet<U>...), or U(const T&) with one inlet)");
  static_assert(
      whole,
      "hiway: the stage returns a type whose values do not all fit the tunnel's item type (long into a tunnel "
      "of int): return the item type, with a static_cast where that is meant, or make it a tunnel of the "
      "larger type");
  static_assert(known || !named,
                "hiway: the stage cannot be called with its tunnels. Give it one Outlet<T> per from(...), then one "
                "Inlet<T> per into(...), "
                "in that order (or, per item: (const T&, Inlet<U>...), or U(const T&) with one inlet); T and U are the "
                "tunnels' item types");
};
/// The same, given its tunnels.
template <class F, class In, class Out>
struct Form;
template <class F, class... Is, class... Os>
struct Form<F, From<Is...>, Into<Os...>> : FormOf<F, From<ItemOf<Is>...>, Into<ItemOf<Os>...>> {
  static constexpr bool knows_scope = !Form::value || (is_scoped<Is> && ...) || !(is_scoped<Os> || ...);
  static_assert(knows_scope,
                "hiway: the stage returns items for a tunnel with scopes, and gets some from a tunnel without: nothing "
                "says which scope they belong to");
  static constexpr bool fits = FormOf<F, From<ItemOf<Is>...>, Into<ItemOf<Os>...>>::fits && knows_scope;
};

}  // namespace hiway
