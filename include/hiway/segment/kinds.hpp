// The kinds of node functions, told apart by their members. FunctionOf<F, kind> is all that a kind is to the library,
// but for how it fires (firing/firing.hpp).
#pragma once
#include <cstdint>
#include <type_traits>

#include "hiway/segment/emit.hpp"
#include "hiway/segment/signature.hpp"

namespace hiway::segment {

enum class Kind : std::uint8_t { unknown, filter, expander, indexed, tile, collective, by_hand, enumerate, aggregate };

/// The signal of a segment with regions: one region ends, or one begins, or both (region.hpp).
struct alignas(8) Boundary {
  static constexpr std::uint16_t none = 0xffff;
  std::uint16_t closes = none;  ///< place in the arena of the region that ends
  std::uint16_t opens = none;   ///< likewise of the region that begins
  std::uint16_t opener = 0;     ///< the node that opened them
};

/// What holds for all functions of a kind. The host plans with it.
struct KindFacts {
  bool spreads = true;         ///< one item may give many
  bool puts_once = false;      ///< a lane puts at most one item for its item
  bool can_suspend = false;    ///< it may be left between two items, and resume the same ensemble later
  bool expands = false;        ///< an expander, plain or indexed
  bool refills_lanes = false;  ///< with Refill::lanes, each lane takes an item whenever it is free
  bool sums_up = false;        ///< the lanes need a word each for running sums
  bool may_be_dense = false;   ///< in a region, its lanes may hold items of several regions, each with its tag
  bool opens = false;          ///< it opens regions
  bool closes = false;         ///< it closes them
};

namespace detail {

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

/// The cursor of a function that keeps nothing between firings.
struct NoCursor {};
/// The item of a function of no kind. The function is refused (tree_checks.hpp); asking for its types gives no second
/// error.
struct NoItem {};

/// What holds where a kind says nothing else.
struct OfAnyKind {
  using In = NoItem;
  using Cursor = NoCursor;
  using Outs = Types<>;
  using Parents = Types<>;  ///< those that its functions take, by the types of the arguments
  using Raised = void;      ///< the type of signal that they raise
  static constexpr KindFacts facts{};
  static constexpr bool returns = false;         ///< a filter that returns its item
  static constexpr unsigned lanes_per_item = 1;  ///< lanes that work on one item together
};

template <class F, Kind kind>
struct FunctionOf : OfAnyKind {};
template <class F>
struct FunctionOf<F, Kind::filter> : OfAnyKind {
  using Call = Signature<decltype(&F::operator())>;
  using In = typename Call::Item;
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
  static constexpr KindFacts facts{.spreads = false, .puts_once = true, .may_be_dense = true};
  static constexpr bool returns = !emits;
};
template <class F>
struct FunctionOf<F, Kind::expander> : OfAnyKind {
  using Parents = typename Signature<decltype(&F::start)>::Others;
  using Call = Signature<decltype(&F::next)>;
  using In = typename Call::Item;
  using Cursor = typename Signature<decltype(&F::start)>::Result;
  using Outs = Types<typename Returned<typename Call::Result>::Item>;
  static constexpr KindFacts facts{.can_suspend = true, .expands = true, .refills_lanes = true, .may_be_dense = true};
};
template <class F>
struct FunctionOf<F, Kind::indexed> : OfAnyKind {
  using Parents = typename Signature<decltype(&F::count)>::Others;
  using Call = Signature<decltype(&F::at)>;
  using In = typename Call::Item;
  using Outs = Types<typename Returned<typename Call::Result>::Item>;
  static constexpr KindFacts facts{.can_suspend = true, .expands = true, .sums_up = true, .may_be_dense = true};
};
template <class F>
struct FunctionOf<F, Kind::enumerate> : FunctionOf<F, Kind::indexed> {
  using Raised = Boundary;
  static constexpr bool maybe = Returned<typename FunctionOf<F, Kind::indexed>::Call::Result>::maybe;
  static constexpr KindFacts facts{.can_suspend = true, .opens = true};
};
template <class F>
struct FunctionOf<F, Kind::aggregate> : OfAnyKind {
  using In = typename Signature<decltype(&F::value)>::Item;
  using Parents = typename Signature<decltype(&F::value)>::Others;
  using Close = Signature<decltype(&F::close)>;
  using Parent = typename Close::Item;
  using Value = typename TypeAt<0, typename Close::Others>::type;
  using Outs = Types<typename Returned<typename Close::Result>::Item>;
  static constexpr KindFacts facts{.puts_once = true, .may_be_dense = true, .closes = true};
};
template <class F>
struct FunctionOf<F, Kind::collective> : OfAnyKind {
  using In = typename F::Input;
  using Outs = Types<typename F::Output>;
};
template <class F>
struct FunctionOf<F, Kind::tile> : FunctionOf<F, Kind::collective> {
  static constexpr KindFacts facts{.puts_once = true};
  static constexpr unsigned lanes_per_item = static_cast<unsigned>(F::lanes_per_item);
};
template <class F>
struct FunctionOf<F, Kind::by_hand> : OfAnyKind {
  using In = typename F::Input;
  using Cursor = typename F::Saved;
  using Outs = Types<typename F::Output>;
  static constexpr KindFacts facts{.can_suspend = true};
};

}  // namespace detail

}  // namespace hiway::segment
