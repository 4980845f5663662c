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
#include "hiway/segment/emit.hpp"
#include "hiway/segment/kinds.hpp"
#include "hiway/segment/signature.hpp"

namespace hiway::segment {

namespace detail {

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
  using OfKind = detail::FunctionOf<F, kind>;
  static constexpr bool known = kind != Kind::unknown;
  static constexpr unsigned channels = OfKind::Outs::count;
  template <unsigned C>
  using Out = typename detail::TypeAt<C, typename OfKind::Outs>::type;
  using State = typename detail::StateOf<F>::type;
  static constexpr bool has_state = !std::is_same_v<State, detail::NoState>;
  static constexpr bool has_table = detail::HasTable<F>;
  static constexpr bool hears_begin = detail::HearsBegin<F>;
  static constexpr bool hears_end = detail::HearsEnd<F>;
  using Heard = std::conditional_t<OfKind::facts.closes, Boundary, typename detail::SignalsOf<F>::Heard>;
  using Raised = typename OfKind::Raised;
  using Signal = std::conditional_t<std::is_void_v<Heard>, Raised, Heard>;
  static constexpr bool hears = !std::is_void_v<Heard> && !OfKind::facts.closes;
  static constexpr bool raises = !std::is_void_v<Raised> && !OfKind::facts.opens;
  static constexpr bool puts_at_signals = detail::emits_in<typename detail::SignalsOf<F>::Others> != 0;
  static constexpr bool can_suspend = OfKind::facts.can_suspend;
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
    if constexpr (OfKind::facts.puts_once) {
      return OfKind::lanes_per_item;
    } else if constexpr (requires { F::max_gain; }) {
      return static_cast<unsigned>(F::max_gain);
    } else {
      return 0u;
    }
  }();
};

}  // namespace hiway::segment
