// Facts from the types of a tree: its functions and sinks, its signal, and where the channels of each function lead.
#pragma once
#include <cstdint>
#include <type_traits>

#include "hiway/segment/node.hpp"
#include "hiway/segment/signature.hpp"
#include "hiway/segment/tree.hpp"

namespace hiway::segment {

namespace detail {

template <class... Lists>
struct Join;
template <>
struct Join<> {
  using type = Types<>;
};
template <class... Ts>
struct Join<Types<Ts...>> {
  using type = Types<Ts...>;
};
template <class... As, class... Bs, class... More>
struct Join<Types<As...>, Types<Bs...>, More...> : Join<Types<As..., Bs...>, More...> {};

/// The types of the node functions in a tree, from the root down, and of its sinks.
template <class Child>
struct InTree {
  using Functions = Types<>;
  using Sinks = Types<Child>;
};
template <class Tag>
struct InTree<BackTo<Tag>> {
  using Functions = Types<>;
  using Sinks = Types<>;
};
template <class Tag, class F, class... Children>
struct InTree<Node<Tag, F, Children...>> {
  using Functions = typename Join<Types<F>, typename InTree<Children>::Functions...>::type;
  using Sinks = typename Join<Types<>, typename InTree<Children>::Sinks...>::type;
};

template <class F, class Child>
struct InTree<Repeat<F, Child>> {
  using Functions = typename Join<Types<F, F>, typename InTree<Child>::Functions>::type;
  using Sinks = typename InTree<Child>::Sinks;
};

template <class List, class Seen = Types<>>
struct Unique;
template <class... Seen>
struct Unique<Types<>, Types<Seen...>> {
  using type = Types<Seen...>;
};
template <class T, class... Ts, class... Seen>
struct Unique<Types<T, Ts...>, Types<Seen...>>
    : Unique<Types<Ts...>, std::conditional_t<(std::is_same_v<T, Seen> || ...), Types<Seen...>, Types<Seen..., T>>> {};

template <class T, class List>
inline constexpr unsigned times_in = 0;
template <class T, class... Ts>
inline constexpr unsigned times_in<T, Types<Ts...>> = (0u + ... + (std::is_same_v<T, Ts> ? 1u : 0u));
template <class T, class List>
inline constexpr unsigned place_in = 0;
template <class T, class First, class... Ts>
inline constexpr unsigned place_in<T, Types<First, Ts...>> =
    std::is_same_v<T, First> ? 0u : 1u + place_in<T, Types<Ts...>>;

/// The type of signal that functions hear and raise; void if none does. `agree`: they have at most one such type.
template <class List>
struct SignalOf;
template <>
struct SignalOf<Types<>> {
  using type = void;
  static constexpr bool agree = true;
};
template <class F, class... Fs>
struct SignalOf<Types<F, Fs...>> {
  using own = typename Function<F>::Signal;
  using others = typename SignalOf<Types<Fs...>>::type;
  using type = std::conditional_t<std::is_void_v<own>, others, own>;
  static constexpr bool agree =
      SignalOf<Types<Fs...>>::agree && (std::is_void_v<own> || std::is_void_v<others> || std::is_same_v<own, others>);
};

template <class Tag>
inline constexpr char tag_id{};

/// Bits of the functions' types with a channel to a queue, and of those with one to a sink.
struct Ends {
  std::uint32_t queues = 0;
  std::uint32_t sinks = 0;
};
template <class Child>
constexpr void add_end(Ends& ends, std::uint32_t bit) {
  (is_node<Child> || is_back<Child> ? ends.queues : ends.sinks) |= bit;
}
template <class Modules>
struct EndsIn {
  template <class Child>
  static constexpr void add(Ends&, Child const*) {}
  template <class Tag, class F, class... Children>
  static constexpr void add(Ends& ends, Node<Tag, F, Children...> const*) {
    (add_end<Children>(ends, 1u << place_in<F, Modules>), ...);
    (add(ends, static_cast<Children const*>(nullptr)), ...);
  }
  template <class F, class Child>
  static constexpr void add(Ends& ends, Repeat<F, Child> const*) {
    ends.queues |= 1u << place_in<F, Modules>;
    add_end<Child>(ends, 1u << place_in<F, Modules>);
    add(ends, static_cast<Child const*>(nullptr));
  }
};
template <class Tree, class Modules>
constexpr Ends ends_of() {
  Ends ends;
  EndsIn<Modules>::add(ends, static_cast<Tree const*>(nullptr));
  return ends;
}

}  // namespace detail

}  // namespace hiway::segment
