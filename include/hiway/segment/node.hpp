// Node functions of a segment: what a user writes for a node. The library tells the kind of a function, the items that
// it takes, and the channels that it puts into from the signatures of its members.
//
//   filter      Maybe<Out> operator()(In const&) const                      at most one item
//               Out operator()(In const&) const                             exactly one
//               void operator()(In const&, Emit<A>&, Emit<B>&...) const     several channels, at most one item on each
//   expander    Cursor start(In const&) const                               any number of items, one after another
//               bool more(In const&, Cursor const&) const
//               Out next(In const&, Cursor&) const, or Maybe<Out>           called while more() is true
//   indexed     unsigned count(In const&) const                             any number, each by its number: lanes share
//               Out at(In const&, unsigned k) const, or Maybe<Out>          them
//   tile        template <class Tile>                                       several lanes for one item, each puts at
//               Maybe<Output> operator()(Tile tile, Input const&) const     most one
//               with the types Input and Output, and lanes_per_item: 2, 4, 8, 16 or 32
//   collective  template <class Lanes, class Push>                          all lanes of the replica together
//               void operator()(Lanes lanes, Input const& item, bool valid, Push push) const
//               with the types Input and Output, and max_gain. It may have a `struct State`, one for each node and
//               replica: the replica's first lane calls init(State&) const at the start of a run and
//               finish(State&) const at its end, and operator() takes State& as its last argument
//   by hand     Progress operator()(Lanes lanes, Input const& item, bool valid,
//                                   Saved& saved, bool resumed, Push push) const
//               a collective that suspends by itself: each lane keeps what it needs in its `saved` (MERCATOR's way)
//
// A function of any kind may have a `struct Table` in the shared memory of each block. At the start of a run all
// threads of the block call fill(Table&, unsigned thread, unsigned threads) const. Then one thread calls
// use(Table const&) of the copy of the function that the block's lanes call. There the function points its members to
// the table.
//
// Signals are between items. A function of any kind hears them with
//   R on(S const& signal) const, or on(signal, State&), on(signal, Emit<A>&, ...), on(signal, State&, Emit<A>&, ...)
// The replica's first lane calls it when all items before the signal are done. If R is void, the signal is passed on,
// behind the items that `on` puts. If R is bool, it says whether to pass the signal on. If R is Maybe<S>, it is the
// signal to pass on instead, or none. A function without `on` passes signals on. A filter of the last form raises a
// signal with a last argument EmitSignal<S>&. All signals of a segment have one type S, trivially copyable and
// default-constructible.
//
// Regions: enumerate() and aggregate() of region.hpp. A function inside regions takes their parents, the innermost
// first, as its last arguments: a filter after the item and before its channels, an expander in start (and more, next),
// an indexed expander in count (and at). If a function has members begin(P const&) const or end(P const&) const, one
// lane calls them for each of the innermost regions: begin before the region's first item, end after its last.
//
// A node function is a trivially copyable struct at namespace scope. Its member functions are const and marked
// HIWAY_DEVICE. Except for a collective's and a tile's they are neither templates nor overloaded.
// `static constexpr unsigned max_gain` is the most items that one item may give; an expander needs it only if it must
// not suspend. `static constexpr unsigned items_per_lane`, up to 8, is for a filter that returns its item: a lane takes
// so many items at once, so loads for one may be under way while it works on another.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "hiway/config.hpp"

namespace hiway::segment {

/// An item, or none. T is default-constructible.
template <class T>
struct Maybe {
  T value{};
  bool ok = false;
  Maybe() = default;
  HIWAY_DEVICE Maybe(T const& item) : value(item), ok(true) {}
  HIWAY_DEVICE static Maybe none() { return {}; }
};

/// One lane's way to put into a channel during one call: at most one item.
template <class T>
struct Emit {
  T value{};
  bool ok = false;
  HIWAY_DEVICE void put(T const& item) {
    value = item;
    ok = true;
  }
};

/// One lane's way to raise a signal during one call. The signal goes behind the outputs of this item, on all channels.
template <class S>
struct EmitSignal {
  S value{};
  bool ok = false;
  HIWAY_DEVICE void put(S const& signal) {
    value = signal;
    ok = true;
  }
};

/// What a node by hand returns about its ensemble.
enum class Progress : std::uint8_t { finished, suspended };

enum class Kind : std::uint8_t { unknown, filter, expander, indexed, tile, collective, by_hand, enumerate, aggregate };

/// The signal of a segment with regions: one region ends, or one begins, or both (region.hpp).
struct alignas(8) Boundary {
  static constexpr std::uint16_t none = 0xffff;
  std::uint16_t closes = none;  ///< place in the arena of the region that ends
  std::uint16_t opens = none;   ///< likewise of the region that begins
  std::uint16_t opener = 0;     ///< the node that opened them
};

namespace detail {

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

template <class F>
concept HasMoreAndNext = requires {
  &F::start;
  &F::more;
  &F::next;
};
template <class F>
concept HasCountAndAt = requires {
  &F::count;
  &F::at;
};
template <class F>
concept HasOperator = requires {
  &F::operator();
};
template <class F>
concept HasInputAndOutput = requires {
  typename F::Input;
  typename F::Output;
};

/// Functions as enumerate() and aggregate() make them (region.hpp).
template <class F>
concept OpensRegions = requires {
  typename F::OpensRegionsOf;
};
template <class F>
concept ClosesRegions = requires {
  typename F::ClosesRegionsOf;
};

template <class F>
constexpr Kind kind_of() {
  if constexpr (OpensRegions<F>) return Kind::enumerate;
  if constexpr (ClosesRegions<F>) return Kind::aggregate;
  if constexpr (HasMoreAndNext<F>) return Kind::expander;
  if constexpr (HasCountAndAt<F>) return Kind::indexed;
  if constexpr (HasOperator<F>) return Kind::filter;
  if constexpr (HasInputAndOutput<F> && requires { F::lanes_per_item; }) return Kind::tile;
  if constexpr (HasInputAndOutput<F> && requires {
                  F::max_gain;
                  typename F::Saved;
                })
    return Kind::by_hand;
  if constexpr (HasInputAndOutput<F> && requires { F::max_gain; }) return Kind::collective;
  return Kind::unknown;
}

/// A State, which a node keeps in each replica from the start of a run to its end.
template <class F>
concept HasState = requires(F const& f, typename F::State& state) {
  f.init(state);
  f.finish(state);
};
struct NoState {};
template <class F>
struct StateOf {
  using type = NoState;
};
template <HasState F>
struct StateOf<F> {
  using type = typename F::State;
};

/// A Table, which a function keeps in the shared memory of each block.
template <class F>
concept HasTable = requires(F& f, F const& fixed, typename F::Table& table) {
  fixed.fill(table, 0u, 0u);
  f.use(table);
};

struct NoTable {};
template <class F>
struct TableOf {
  using type = NoTable;
};
template <HasTable F>
struct TableOf<F> {
  using type = typename F::Table;
};

/// The cursor of a function that keeps nothing between firings.
struct NoCursor {};
/// The item of a function of no kind. The function is refused (segment.hpp); asking for its types gives no second
/// error.
struct NoItem {};

template <class F, Kind kind>
struct FunctionOf {
  using In = NoItem;
  using Cursor = NoCursor;
  using Outs = Types<>;
};
template <class F>
struct FunctionOf<F, Kind::filter> {
  using Call = Signature<decltype(&F::operator())>;
  using In = typename Call::Item;
  using Cursor = NoCursor;
  static constexpr bool emits = std::is_void_v<typename Call::Result>;
  using Parents = typename ParentsIn<typename Call::Others>::Parents;
  template <bool, class>
  struct Channels {
    using Outs = Types<typename Returned<typename Call::Result>::Item>;
    using Signal = void;
  };
  template <class C>
  struct Channels<true, C> : Emitted<typename ParentsIn<typename C::Others>::Others> {};
  using Outs = typename Channels<emits, Call>::Outs;
  using Raised = typename Channels<emits, Call>::Signal;
  static constexpr unsigned max_gain = 1;
};
template <class F>
struct FunctionOf<F, Kind::expander> {
  using Parents = typename Signature<decltype(&F::start)>::Others;
  using Call = Signature<decltype(&F::next)>;
  using In = typename Call::Item;
  using Cursor = typename Signature<decltype(&F::start)>::Result;
  using Outs = Types<typename Returned<typename Call::Result>::Item>;
};
template <class F>
struct FunctionOf<F, Kind::indexed> {
  using Parents = typename Signature<decltype(&F::count)>::Others;
  using Call = Signature<decltype(&F::at)>;
  using In = typename Call::Item;
  using Cursor = NoCursor;
  using Outs = Types<typename Returned<typename Call::Result>::Item>;
};
template <class F>
struct FunctionOf<F, Kind::enumerate> : FunctionOf<F, Kind::indexed> {
  static constexpr bool maybe = Returned<typename FunctionOf<F, Kind::indexed>::Call::Result>::maybe;
};
template <class F>
struct FunctionOf<F, Kind::aggregate> {
  using In = typename Signature<decltype(&F::value)>::Item;
  using Parents = typename Signature<decltype(&F::value)>::Others;
  using Cursor = NoCursor;
  using Close = Signature<decltype(&F::close)>;
  using Parent = typename Close::Item;
  using Value = typename TypeAt<0, typename Close::Others>::type;
  using Outs = Types<typename Returned<typename Close::Result>::Item>;
};
template <class F>
struct FunctionOf<F, Kind::collective> {
  using In = typename F::Input;
  using Cursor = NoCursor;
  using Outs = Types<typename F::Output>;
};
template <class F>
struct FunctionOf<F, Kind::tile> : FunctionOf<F, Kind::collective> {};
template <class F>
struct FunctionOf<F, Kind::by_hand> {
  using In = typename F::Input;
  using Cursor = typename F::Saved;
  using Outs = Types<typename F::Output>;
};

/// The arguments of `on` after the signal.
template <class List>
inline constexpr unsigned emits_in = 0;
template <class... Ts>
inline constexpr unsigned emits_in<Types<Ts...>> = (0u + ... + (is_emit<Ts> ? 1u : 0u));
template <class List>
struct HeardWith {
  static constexpr unsigned channels = emits_in<List>;
  static constexpr bool state = List::count != channels;
};

/// What a function does with signals: `on` hears them, EmitSignal raises them.
template <class F>
struct SignalsOf {
  using Heard = void;
  using Others = Types<>;
};
template <class F>
requires requires { &F::on; }
struct SignalsOf<F> {
  using Heard = typename Signature<decltype(&F::on)>::Item;
  using Others = typename Signature<decltype(&F::on)>::Others;
};
/// Calls `on` with the arguments that it takes. It may change the signal. Returns whether to pass the signal on.
template <class F, class S, class Outs, class State>
HIWAY_DEVICE inline bool hear(F const& f, S& signal, Outs& out, State* state) {
  auto const call = [&]() {
    using Others = typename SignalsOf<F>::Others;
    constexpr bool takes_state = HeardWith<Others>::state;
    constexpr unsigned channels = HeardWith<Others>::channels;
    return [&]<std::size_t... C>(std::index_sequence<C...>) {
      if constexpr (takes_state) {
        return f.on(signal, *state, out.template get<C>()...);
      } else {
        return f.on(signal, out.template get<C>()...);
      }
    }
    (std::make_index_sequence<channels>{});
  };
  using Result = decltype(call());
  if constexpr (std::is_void_v<Result>) {
    call();
    return true;
  } else if constexpr (std::is_same_v<Result, bool>) {
    return call();
  } else {
    Maybe<S> const other = call();
    signal = other.value;
    return other.ok;
  }
}
template <class F, Kind kind>
struct RaisedBy {
  using type = void;
};
template <class F>
struct RaisedBy<F, Kind::filter> {
  using type = typename FunctionOf<F, Kind::filter>::Raised;
};
template <class F>
struct RaisedBy<F, Kind::enumerate> {
  using type = Boundary;
};

/// The parents that a function takes, by the types of its arguments.
template <class F, Kind kind>
struct ParentsOf {
  using type = Types<>;
};
template <class F, Kind kind>
requires requires { typename FunctionOf<F, kind>::Parents; }
struct ParentsOf<F, kind> {
  using type = typename FunctionOf<F, kind>::Parents;
};
/// Functions with `begin` or `end`, which take a region's parent.
template <class F>
concept HearsBegin = requires {
  &F::begin;
};
template <class F>
concept HearsEnd = requires {
  &F::end;
};

}  // namespace detail

/// What the library knows about a node function.
template <class F>
struct Function : detail::FunctionOf<F, detail::kind_of<F>()> {
  static constexpr Kind kind = detail::kind_of<F>();
  static constexpr bool known = kind != Kind::unknown;
  static constexpr unsigned channels = detail::FunctionOf<F, kind>::Outs::count;
  template <unsigned C>
  using Out = typename detail::TypeAt<C, typename detail::FunctionOf<F, kind>::Outs>::type;
  using State = typename detail::StateOf<F>::type;
  static constexpr bool has_state = !std::is_same_v<State, detail::NoState>;
  static constexpr bool has_table = detail::HasTable<F>;
  using Parents = typename detail::ParentsOf<F, kind>::type;
  static constexpr bool hears_begin = detail::HearsBegin<F>;
  static constexpr bool hears_end = detail::HearsEnd<F>;
  using Heard = std::conditional_t<kind == Kind::aggregate, Boundary, typename detail::SignalsOf<F>::Heard>;
  using Raised = typename detail::RaisedBy<F, kind>::type;
  using Signal = std::conditional_t<std::is_void_v<Heard>, Raised, Heard>;
  static constexpr bool hears = !std::is_void_v<Heard> && kind != Kind::aggregate;
  static constexpr bool raises = !std::is_void_v<Raised> && kind == Kind::filter;
  static constexpr bool puts_at_signals = detail::emits_in<typename detail::SignalsOf<F>::Others> != 0;
  /// It may be left between two items, and resume the same ensemble later.
  static constexpr bool can_suspend =
      kind == Kind::expander || kind == Kind::indexed || kind == Kind::by_hand || kind == Kind::enumerate;
  /// A filter that returns its item.
  static constexpr bool returns = [] {
    if constexpr (kind == Kind::filter) {
      return !detail::FunctionOf<F, kind>::emits;
    } else {
      return false;
    }
  }();
  /// Lanes that work on one item together.
  static constexpr unsigned lanes_per_item = [] {
    if constexpr (kind == Kind::tile) {
      return static_cast<unsigned>(F::lanes_per_item);
    } else {
      return 1u;
    }
  }();
  /// Items that a lane takes at once.
  static constexpr unsigned items_per_lane = [] {
    if constexpr (requires { F::items_per_lane; }) {
      return static_cast<unsigned>(F::items_per_lane);
    } else {
      return 1u;
    }
  }();
  /// The most items that one item may give; 0: not stated.
  static constexpr unsigned max_gain = [] {
    if constexpr (kind == Kind::filter || kind == Kind::tile || kind == Kind::aggregate) {
      return lanes_per_item;
    } else if constexpr (requires { F::max_gain; }) {
      return static_cast<unsigned>(F::max_gain);
    } else {
      return 0u;
    }
  }();
};

}  // namespace hiway::segment
