// The signature of a node function's member, taken apart: the item that it takes, its parents, its channels, and the
// signal that it raises.
#pragma once
#include <type_traits>

#include "hiway/segment/emit.hpp"

namespace hiway::segment::detail {

template <class... Ts>
struct Types {
  static constexpr unsigned count = sizeof...(Ts);
};

template <unsigned I, class List>
struct TypeAt;
template <class T, class... Ts>
struct TypeAt<0, Types<T, Ts...>> {
  using type = T;
};
template <unsigned I, class T, class... Ts>
struct TypeAt<I, Types<T, Ts...>> : TypeAt<I - 1, Types<Ts...>> {};

/// The result of a function of one channel, as Maybe<T> in any case.
template <class T>
HIWAY_DEVICE inline Maybe<T> as_maybe(Maybe<T> const& value) {
  return value;
}
template <class T>
HIWAY_DEVICE inline Maybe<T> as_maybe(T const& value) {
  return Maybe<T>(value);
}

/// The parts of a const member function's type.
template <class Member>
struct Signature;
template <class F, class R, class First, class... Rest>
struct Signature<R (F::*)(First, Rest...) const> {
  using Result = R;
  using Item = std::remove_cvref_t<First>;
  using Others = Types<std::remove_cvref_t<Rest>...>;
};

/// The type of item that a function returns, and whether it may return none.
template <class R>
struct Returned {
  using Item = R;
  static constexpr bool maybe = false;
};
template <class T>
struct Returned<Maybe<T>> {
  using Item = T;
  static constexpr bool maybe = true;
};

template <class T>
inline constexpr bool is_emit = false;
template <class T>
inline constexpr bool is_emit<Emit<T>> = true;

/// The channels of a list of Emit<T>, and the type of signal of an EmitSignal that may follow them.
template <class List, class Before = Types<>>
struct Emitted;
template <class... Ts>
struct Emitted<Types<>, Types<Ts...>> {
  using Outs = Types<Ts...>;
  using Signal = void;
};
template <class S, class... Ts>
struct Emitted<Types<EmitSignal<S>>, Types<Ts...>> {
  using Outs = Types<Ts...>;
  using Signal = S;
};
template <class T, class... Rest, class... Ts>
struct Emitted<Types<Emit<T>, Rest...>, Types<Ts...>> : Emitted<Types<Rest...>, Types<Ts..., T>> {};

/// The arguments of a filter before its channels: the parents of the regions that it is in, the innermost first.
template <class List, class Before = Types<>>
struct ParentsIn {
  using Parents = Before;
  using Others = List;
};
template <class T>
inline constexpr bool is_emit_signal = false;
template <class S>
inline constexpr bool is_emit_signal<EmitSignal<S>> = true;
template <class T, class... Rest, class... Ps>
requires(!is_emit<T> && !is_emit_signal<T>) struct ParentsIn<Types<T, Rest...>, Types<Ps...>>
    : ParentsIn<Types<Rest...>, Types<Ps..., T>> {
};

}  // namespace hiway::segment::detail
