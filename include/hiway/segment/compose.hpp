// Node functions made of others: merge() makes one node of neighbours, Loops makes an expander of nested loops.
#pragma once
#include <cstdint>
#include <type_traits>

#include "hiway/segment/node.hpp"

namespace hiway::segment {

namespace detail {

template <class F>
inline constexpr bool expands = Function<F>::kind == Kind::expander || Function<F>::kind == Kind::indexed;

/// The function returns what it makes, and neither hears nor raises signals: in a merged node nothing would call its
/// `on`.
template <class F>
inline constexpr bool may_merge = (Function<F>::returns || expands<F>)&&!Function<F>::hears && !Function<F>::raises;

/// An indexed expander as a plain one.
template <class F, Kind kind = Function<F>::kind>
struct AsExpander : F {};
template <class F>
struct AsExpander<F, Kind::indexed> {
  using Table = typename TableOf<F>::type;
  using In = typename Function<F>::In;
  using Out = typename Function<F>::template Out<0>;
  F f;
  struct Cursor {
    unsigned next, count;
  };
  HIWAY_DEVICE Cursor start(In const& item) const { return {0, f.count(item)}; }
  HIWAY_DEVICE bool more(In const&, Cursor const& c) const { return c.next < c.count; }
  HIWAY_DEVICE Maybe<Out> next(In const& item, Cursor& c) const { return as_maybe(f.at(item, c.next++)); }
  HIWAY_DEVICE void fill(Table& table, unsigned thread, unsigned threads) const requires HasTable<F> {
    f.fill(table, thread, threads);
  }
  HIWAY_DEVICE void use(Table const& table) requires HasTable<F> { f.use(table); }
};

/// Two merged functions. Their tables (node.hpp) lie side by side; each function is pointed to its own.
template <class A, class B>
struct Both {
  struct Table {
    typename TableOf<A>::type a;
    typename TableOf<B>::type b;
  };
  A a;
  B b;
  HIWAY_DEVICE void fill(Table& table, unsigned thread, unsigned threads) const requires(HasTable<A> || HasTable<B>) {
    if constexpr (HasTable<A>) a.fill(table.a, thread, threads);
    if constexpr (HasTable<B>) b.fill(table.b, thread, threads);
  }
  HIWAY_DEVICE void use(Table const& table) requires(HasTable<A> || HasTable<B>) {
    if constexpr (HasTable<A>) a.use(table.a);
    if constexpr (HasTable<B>) b.use(table.b);
  }
};

template <class A, class B, bool a_expands = expands<A>, bool b_expands = expands<B>>
struct Merge;

template <class A, class B>
struct Merge<A, B, false, false> : Both<A, B> {
  using Both<A, B>::a;
  using Both<A, B>::b;
  using In = typename Function<A>::In;
  using Out = typename Function<B>::template Out<0>;
  HIWAY_DEVICE Maybe<Out> operator()(In const& item) const {
    auto const middle = as_maybe(a(item));
    return middle.ok ? as_maybe(b(middle.value)) : Maybe<Out>::none();
  }
};

template <class A, class B>
struct Merge<A, B, true, false> : Both<AsExpander<A>, B> {
  using Both<AsExpander<A>, B>::a;
  using Both<AsExpander<A>, B>::b;
  using In = typename Function<A>::In;
  using Out = typename Function<B>::template Out<0>;
  using First = AsExpander<A>;
  static constexpr unsigned max_gain = Function<A>::max_gain;
  using Cursor = typename First::Cursor;
  HIWAY_DEVICE Cursor start(In const& item) const { return a.start(item); }
  HIWAY_DEVICE bool more(In const& item, Cursor const& c) const { return a.more(item, c); }
  HIWAY_DEVICE Maybe<Out> next(In const& item, Cursor& c) const {
    auto const middle = as_maybe(a.next(item, c));
    return middle.ok ? as_maybe(b(middle.value)) : Maybe<Out>::none();
  }
};

template <class A, class B>
struct Merge<A, B, false, true> : Both<A, AsExpander<B>> {
  using Both<A, AsExpander<B>>::a;
  using Both<A, AsExpander<B>>::b;
  using In = typename Function<A>::In;
  using Middle = typename Function<A>::template Out<0>;
  using Out = typename Function<B>::template Out<0>;
  using Second = AsExpander<B>;
  static constexpr unsigned max_gain = Function<B>::max_gain;
  struct Cursor {
    Maybe<Middle> middle;
    typename Second::Cursor inner;
  };
  HIWAY_DEVICE Cursor start(In const& item) const {
    Cursor c{as_maybe(a(item)), {}};
    if (c.middle.ok) c.inner = b.start(c.middle.value);
    return c;
  }
  HIWAY_DEVICE bool more(In const&, Cursor const& c) const { return c.middle.ok && b.more(c.middle.value, c.inner); }
  HIWAY_DEVICE Maybe<Out> next(In const&, Cursor& c) const { return as_maybe(b.next(c.middle.value, c.inner)); }
};

template <class A, class B>
struct Merge<A, B, true, true> : Both<AsExpander<A>, AsExpander<B>> {
  using Both<AsExpander<A>, AsExpander<B>>::a;
  using Both<AsExpander<A>, AsExpander<B>>::b;
  using In = typename Function<A>::In;
  using Middle = typename Function<A>::template Out<0>;
  using Out = typename Function<B>::template Out<0>;
  using First = AsExpander<A>;
  using Second = AsExpander<B>;
  static constexpr unsigned max_gain = Function<A>::max_gain * Function<B>::max_gain;
  struct Cursor {
    typename First::Cursor outer;
    Middle middle;
    typename Second::Cursor inner;
    bool live;
  };
  HIWAY_DEVICE Cursor start(In const& item) const {
    Cursor c{a.start(item), {}, {}, false};
    advance(item, c);
    return c;
  }
  HIWAY_DEVICE bool more(In const&, Cursor const& c) const { return c.live; }
  HIWAY_DEVICE Maybe<Out> next(In const& item, Cursor& c) const {
    auto const out = as_maybe(b.next(c.middle, c.inner));
    if (!b.more(c.middle, c.inner)) advance(item, c);
    return out;
  }

 private:
  /// Goes to the next item of `a` from which `b` makes something.
  HIWAY_DEVICE void advance(In const& item, Cursor& c) const {
    c.live = false;
    while (!c.live && a.more(item, c.outer)) {
      auto const middle = as_maybe(a.next(item, c.outer));
      if (!middle.ok) continue;
      c.middle = middle.value;
      c.inner = b.start(c.middle);
      c.live = b.more(c.middle, c.inner);
    }
  }
};

template <class F>
HIWAY_DEVICE constexpr auto as_member(F const& f) {
  if constexpr (Function<F>::kind == Kind::indexed) {
    return AsExpander<F>{f};
  } else if constexpr (Function<F>::kind == Kind::expander) {
    return AsExpander<F>{f};
  } else {
    return f;
  }
}

}  // namespace detail

/// Merges neighbours into one node. There is no queue between them, and the second runs only in the lanes that have an
/// item after the first. For filters and expanders of one channel. Its max_gain is the product of theirs. *Source*:
/// MERCATOR; sizing.hpp says when it pays.
template <class A, class B>
[[nodiscard]] auto merge(A const& a, B const& b) {
  static_assert(detail::may_merge<A> && detail::may_merge<B>,
                "hiway: segment: merge: expanders, and filters that return their item; neither hears signals");
  static_assert(std::is_same_v<typename Function<A>::template Out<0>, typename Function<B>::In>,
                "hiway: segment: merge: the second takes another type of item than the first gives");
  return detail::Merge<A, B>{{detail::as_member(a), detail::as_member(b)}};
}
template <class A, class B, class... More>
requires(sizeof...(More) > 0) [[nodiscard]] auto merge(A const& a, B const& b, More const&... more) {
  return merge(a, merge(b, more...));
}

/// Nested loops as an expander that can suspend in the middle. Body:
///   using Input, using Output; static constexpr unsigned levels, one or more
///   unsigned count(Input const&, unsigned level, unsigned const* at) const
///       how often the loop of `level` runs; at[0] to at[level - 1] are the indices of the loops around it
///   Maybe<Output> item(Input const&, unsigned const* at) const
///       what the innermost body gives, or nothing
template <class Body>
struct Loops {
  using In = typename Body::Input;
  using Out = typename Body::Output;
  static constexpr unsigned levels = Body::levels;
  static_assert(levels > 0, "hiway: segment: Loops: Body::levels is 1 or more");
  static constexpr unsigned max_gain = [] {
    if constexpr (requires { Body::max_gain; }) {
      return static_cast<unsigned>(Body::max_gain);
    } else {
      return 0u;
    }
  }();
  Body body;
  struct Cursor {
    unsigned at[levels];
    unsigned count[levels];
    bool live;
  };
  HIWAY_DEVICE Cursor start(In const& item) const {
    Cursor c{};
    c.live = descend(item, c, 0);
    return c;
  }
  HIWAY_DEVICE bool more(In const&, Cursor const& c) const { return c.live; }
  HIWAY_DEVICE Maybe<Out> next(In const& item, Cursor& c) const {
    Maybe<Out> const out = body.item(item, c.at);
    c.live = step(item, c, levels);
    return out;
  }

 private:
  /// Enters the loops from `level` inwards, each at index 0. If a loop has no iterations, the loops around it go on.
  /// Returns false when no iteration is left.
  HIWAY_DEVICE bool descend(In const& item, Cursor& c, unsigned level) const {
    while (level != levels) {
      c.at[level] = 0;
      c.count[level] = body.count(item, level, c.at);
      if (c.count[level] != 0) {
        ++level;
        continue;
      }
      if (!next_above(c, level)) return false;
      ++level;
    }
    return true;
  }
  /// Steps the innermost of the loops outside `level` that has an iteration left, and sets `level` to its number.
  /// Returns false if none has.
  HIWAY_DEVICE static bool next_above(Cursor& c, unsigned& level) {
    while (level != 0) {
      --level;
      if (++c.at[level] < c.count[level]) return true;
    }
    return false;
  }
  HIWAY_DEVICE bool step(In const& item, Cursor& c, unsigned level) const {
    return next_above(c, level) && descend(item, c, level + 1);
  }
};

}  // namespace hiway::segment
