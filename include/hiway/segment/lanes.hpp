// The lanes of a replica: a warp, or a block. All of them together call each function here.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "hiway/grouping/team.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/machine/warp_sum.hpp"

namespace hiway::segment {

namespace detail {

/// Calls `body(std::integral_constant<unsigned, I>)` for I from 0 to N - 1.
template <unsigned N, class Body>
HIWAY_DEVICE inline void unrolled(Body&& body) {
  [&]<unsigned... I>(std::integer_sequence<unsigned, I...>) { (body(std::integral_constant<unsigned, I>{}), ...); }
  (std::make_integer_sequence<unsigned, N>{});
}

}  // namespace detail

/// Result of a vote of all lanes.
struct Tally {
  std::uint32_t before = 0;  ///< lower lanes that bring something
  std::uint32_t all = 0;     ///< all lanes that bring something
  bool any = false;          ///< whether any lane says yes to the other question
  /// Masks of the lanes that bring something, for below(): of the lane's warp, and of a block's warps. `warps` is valid
  /// until the lanes meet again.
  std::uint32_t who = 0;
  std::uint32_t const* warps = nullptr;
};

/// The lanes of a warp, all of which take part.
template <class Machine>
class WholeWarp {
 public:
  static constexpr unsigned size = Machine::warp_lanes;

  HIWAY_DEVICE explicit WholeWarp(Machine m) : m_(m) {}
  [[nodiscard]] HIWAY_DEVICE unsigned lane() const { return m_.lane(); }
  HIWAY_DEVICE void sync() const { m_.sync_warp(whole); }
  [[nodiscard]] HIWAY_DEVICE std::uint32_t ballot(bool yes) const { return m_.ballot(whole, yes); }
  /// The value of the lane `from`. T: trivially copyable.
  template <class T>
  [[nodiscard]] HIWAY_DEVICE T shuffle(T const& value, unsigned from) const {
    constexpr unsigned words = (sizeof(T) + 3) / 4;
    std::uint32_t bits[words] = {};
    std::memcpy(bits, &value, sizeof(T));
    for (unsigned i = 0; i != words; ++i) bits[i] = m_.shuffle(whole, bits[i], from);
    T other;
    std::memcpy(&other, bits, sizeof(T));
    return other;
  }

  static constexpr std::uint32_t whole = size == 32 ? ~0u : (1u << size % 32) - 1u;  ///< a bit for each

 private:
  Machine m_;
};

/// A replica's lanes that are a warp. A CPU thread is a warp of one lane.
template <class Machine>
class WarpLanes {
 public:
  static constexpr bool is_warp = true;
  static constexpr unsigned scratch_words = 0;
  using Team = WarpTeam<Machine>;

  HIWAY_DEVICE WarpLanes(Machine m, std::uint32_t*) : m_(m) {}
  HIWAY_DEVICE Machine machine() const { return m_; }
  HIWAY_DEVICE Team team() const { return {m_}; }
  HIWAY_DEVICE unsigned rank() const { return m_.lane(); }
  HIWAY_DEVICE unsigned size() const { return Machine::warp_lanes; }
  HIWAY_DEVICE void sync() const { m_.sync_warp(whole); }
  HIWAY_DEVICE bool any(bool yes) const { return m_.ballot(whole, yes) != 0; }
  HIWAY_DEVICE Tally tally(bool brings) const {
    std::uint32_t const who = m_.ballot(whole, brings);
    return {m_.count(who & lanes_below(m_.lane())), m_.count(who), false, who};
  }
  HIWAY_DEVICE Tally tally(bool brings, bool other) const {
    Tally t = tally(brings);
    t.any = any(other);
    return t;
  }
  /// A tally of the lanes that are not live. A lane that has left in an abort counts as one: it does not vote.
  HIWAY_DEVICE Tally idle(bool live) const {
    std::uint32_t const who = whole & ~m_.ballot(whole, live);
    return {m_.count(who & lanes_below(m_.lane())), m_.count(who), false, who};
  }
  /// Lanes below `lane`, 0 to size(), that bring something.
  HIWAY_DEVICE std::uint32_t below(Tally const& t, std::uint32_t lane) const {
    return lane >= size() ? t.all : m_.count(t.who & lanes_below(lane));
  }
  /// The first lane's value, in all lanes.
  HIWAY_DEVICE std::uint64_t share(std::uint64_t value) const { return m_.shuffle(whole, value, 0); }
  /// The sum of the values of the lower lanes; `all`: of all lanes.
  HIWAY_DEVICE std::uint32_t sum_before(std::uint32_t value, std::uint32_t& all) const {
    std::uint32_t const sum = sum_up_to_lane(m_, value);
    all = m_.shuffle(whole, sum, size() - 1);
    return sum - value;
  }

 private:
  static constexpr std::uint32_t whole = WholeWarp<Machine>::whole;
  Machine m_;
};

/// A replica's lanes that are a block of whole warps. The warps exchange words in shared memory, in two sets used in
/// turn. So a set is written again only after another meeting, before which all lanes have read it.
template <class Machine>
class BlockLanes {
 public:
  static constexpr bool is_warp = false;
  static constexpr unsigned most_warps = 32;
  static constexpr unsigned scratch_words = 2 * 2 * most_warps;
  using Team = BlockTeam<Machine>;

  HIWAY_DEVICE BlockLanes(Machine m, std::uint32_t* scratch)
      : m_(m),
        scratch_(scratch),
        warp_(m.thread_in_block() / Machine::warp_lanes),
        warps_(m.block_threads() / Machine::warp_lanes) {}
  HIWAY_DEVICE Machine machine() const { return m_; }
  HIWAY_DEVICE Team team() const { return {m_}; }
  HIWAY_DEVICE unsigned rank() const { return m_.thread_in_block(); }
  HIWAY_DEVICE unsigned size() const { return m_.block_threads(); }
  HIWAY_DEVICE void sync() const { m_.sync_block(); }
  HIWAY_DEVICE bool any(bool yes) { return tally(false, yes).any; }
  HIWAY_DEVICE Tally tally(bool brings) { return tally(brings, false); }
  HIWAY_DEVICE Tally tally(bool brings, bool other) {
    std::uint32_t const lanes = m_.lanes();
    std::uint32_t const who = m_.ballot(lanes, brings);
    std::uint32_t const others = m_.ballot(lanes, other);
    std::uint32_t* const words = turn();
    if (m_.lane() == 0) {
      words[warp_] = who;
      words[most_warps + warp_] = others;
    }
    m_.sync_block();
    Tally t{m_.count(who & lanes_below(m_.lane())), 0, false, who, words};
    for (unsigned w = 0; w != warps_; ++w) {
      std::uint32_t const count = m_.count(words[w]);
      if (w < warp_) t.before += count;
      t.all += count;
      t.any = t.any || words[most_warps + w] != 0;
    }
    return t;
  }
  HIWAY_DEVICE Tally idle(bool live) { return tally(!live); }
  HIWAY_DEVICE std::uint32_t below(Tally const& t, std::uint32_t lane) const {
    if (lane >= size()) return t.all;
    std::uint32_t sum = 0;
    for (unsigned w = 0; w != lane / Machine::warp_lanes; ++w) sum += m_.count(t.warps[w]);
    return sum + m_.count(t.warps[lane / Machine::warp_lanes] & lanes_below(lane % Machine::warp_lanes));
  }
  HIWAY_DEVICE std::uint64_t share(std::uint64_t value) {
    std::uint32_t* const words = turn();
    if (rank() == 0) {
      words[0] = static_cast<std::uint32_t>(value);
      words[1] = static_cast<std::uint32_t>(value >> 32);
    }
    m_.sync_block();
    return words[0] | std::uint64_t{words[1]} << 32;
  }
  HIWAY_DEVICE std::uint32_t sum_before(std::uint32_t value, std::uint32_t& all) {
    std::uint32_t const sum = sum_up_to_lane(m_, value);
    std::uint32_t* const words = turn();
    if (m_.lane() == Machine::warp_lanes - 1) words[warp_] = sum;
    m_.sync_block();
    std::uint32_t before = sum - value;
    all = 0;
    for (unsigned w = 0; w != warps_; ++w) {
      if (w < warp_) before += words[w];
      all += words[w];
    }
    return before;
  }

 private:
  HIWAY_DEVICE std::uint32_t* turn() {
    turn_ ^= 1u;
    return scratch_ + turn_ * 2 * most_warps;
  }

  Machine m_;
  std::uint32_t* scratch_;
  unsigned warp_;
  unsigned warps_;
  unsigned turn_ = 0;
};

/// Lanes that work on one item together: `Size` neighbours of a warp.
template <class Machine, unsigned Size>
class Tile {
 public:
  HIWAY_DEVICE explicit Tile(Machine m) : m_(m), first_(m.lane() / Size * Size) {}
  /// The own number among them, from 0, and how many there are.
  [[nodiscard]] HIWAY_DEVICE unsigned rank() const { return m_.lane() - first_; }
  [[nodiscard]] HIWAY_DEVICE static constexpr unsigned size() { return Size; }
  HIWAY_DEVICE void sync() const { m_.sync_warp(lanes()); }
  /// A bit for each lane of the tile in which `yes` holds.
  [[nodiscard]] HIWAY_DEVICE std::uint32_t ballot(bool yes) const { return m_.ballot(lanes(), yes) >> first_; }
  [[nodiscard]] HIWAY_DEVICE bool any(bool yes) const { return ballot(yes) != 0; }
  /// The value of lane `from`, in all lanes. T: 4 or 8 bytes.
  template <class T>
  [[nodiscard]] HIWAY_DEVICE T share(T value, unsigned from = 0) const {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    static_assert(sizeof(T) == sizeof(Bits), "hiway: segment: a tile's lanes share values of 4 or 8 bytes");
    return std::bit_cast<T>(m_.shuffle(lanes(), std::bit_cast<Bits>(value), first_ + from));
  }
  /// The sum of all lanes' values, in all lanes.
  template <class T>
  [[nodiscard]] HIWAY_DEVICE T sum(T value) const {
    for (unsigned d = 1; d < Size; d *= 2) value += share(value, rank() ^ d);
    return value;
  }

 private:
  [[nodiscard]] HIWAY_DEVICE std::uint32_t lanes() const {
    return (Size == 32 ? ~0u : (1u << Size % 32) - 1u) << first_;
  }

  Machine m_;
  unsigned first_;
};

/// A replica's lanes as a collective gets them. All copies refer to the replica's object, so its sets of words are
/// still used in turn.
template <class Lanes>
class LanesView {
 public:
  HIWAY_DEVICE explicit LanesView(Lanes& lanes) : lanes_(&lanes) {}
  /// The own number among them, from 0, and how many there are.
  [[nodiscard]] HIWAY_DEVICE unsigned rank() const { return lanes_->rank(); }
  [[nodiscard]] HIWAY_DEVICE unsigned size() const { return lanes_->size(); }
  HIWAY_DEVICE void sync() const { lanes_->sync(); }
  [[nodiscard]] HIWAY_DEVICE bool any(bool yes) const { return lanes_->any(yes); }
  [[nodiscard]] HIWAY_DEVICE Tally tally(bool brings) const { return lanes_->tally(brings); }
  [[nodiscard]] HIWAY_DEVICE std::uint64_t share(std::uint64_t value) const { return lanes_->share(value); }
  [[nodiscard]] HIWAY_DEVICE std::uint32_t sum_before(std::uint32_t value, std::uint32_t& all) const {
    return lanes_->sum_before(value, all);
  }

 private:
  Lanes* lanes_;
};

}  // namespace hiway::segment
