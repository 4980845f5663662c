// EndCheckBuilder: the lists that the end check of one home reads (termination.hpp). Each unit has the words that count
// its items, the gates that must open first, and the words that tell its end.
//
// The checker covers its own home and the host; a delegate covers its own home. A delegate also gets flags, one for
// each unit and kind of gate, that it sets once; the checker has these among its gates (T8). The lists are a pure
// function of what is given here: no word is read, so a test needs neither a device nor memory.
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "hiway/termination.hpp"
#include "lib/arena.hpp"
#include "lib/word_copies.hpp"

namespace hiway {

/// A tunnel as the end check needs it.
struct CountedTunnel {
  std::uint32_t unit = 0;
  Home put_home = at_host;
  Home get_home = at_host;
  SumTerm claimed{};                       ///< of its ring or outbox
  std::vector<SumTerm> claimed_by_key{};   ///< of the rings of a tunnel with keys (inlet/keyed.hpp)
  SumTerm taken_staged{};                  ///< of what its writers staged (inlet/staging.hpp); no words: none of it
  Word<std::uint64_t>* spilled = nullptr;  ///< tickets of its pool; null if no writer spills
  Word<std::uint64_t>* drained = nullptr;  ///< null if the pool is not drained
  Word<std::uint64_t>* dropped = nullptr;  ///< of WhenFull::drop_oldest (inlet/no_room.hpp D2), else null
  Word<std::uint32_t>* open_closed = nullptr;
  std::uint32_t open_inlets = 0;  ///< that the user closes
  std::vector<OutletPort*> open_outlets{};
  EndWords* put_end = nullptr;
  EndWords* get_end = nullptr;
  Word<std::uint32_t>* closing = nullptr;
};

/// A stage as the end check needs it.
struct CountedStage {
  Home home = at_host;
  std::uint32_t executors = 0;
  bool item_form = false;
  StageWords* words = nullptr;
  std::vector<std::uint32_t> from{};
  std::vector<std::uint32_t> into{};
  std::vector<OutletPort*> outlet_ports{};               ///< for each tunnel in `from`
  std::vector<Word<std::uint32_t>*> closed_executors{};  ///< for each tunnel in `into`
};

/// Threads or kernels of the user's own: the tunnels at whose open ends they work.
struct CountedWorker {
  std::vector<std::uint32_t> from{};
  std::vector<std::uint32_t> into{};
};

/// Everything whose end is checked.
struct CountedGraph {
  std::uint32_t units = 0;
  std::vector<CountedTunnel> tunnels{};
  std::vector<CountedStage> stages{};
  std::vector<CountedWorker> workers{};
  Home checker = at_host;
  Word<std::uint32_t>* host_all_ended = nullptr;
  Word<std::uint32_t>* checker_all_ended = nullptr;  ///< null if the host checks
};

/// The lists of one home. Ranges in one list are indices into another.
struct EndCheckLists {
  std::vector<UnitRecord> units{};
  std::vector<SumTerm> terms{};
  std::vector<CountGate> gates{};
  std::vector<std::uint32_t> unit_list{};
  std::vector<TunnelEnds> tunnels{};
  std::vector<StageRecordWords> stages{};
  bool delegates = false;        ///< these lists are a delegate's
  std::vector<UnitNews> news{};  ///< then: one for each unit
};

class EndCheckBuilder {
 public:
  /// `place_flag` makes a word that `home` sets and the checker reads. `told`: the news of each delegate, for the
  /// checker.
  EndCheckBuilder(CountedGraph const& graph, Home home, std::function<Word<std::uint32_t>*()> place_flag,
                  std::vector<std::vector<UnitNews>> const& told)
      : graph_(graph), home_(home), place_flag_(std::move(place_flag)), told_(told) {}

  [[nodiscard]] EndCheckLists build();

 private:
  [[nodiscard]] bool checks() const { return home_ == graph_.checker; }
  [[nodiscard]] bool is_mine(Home of) const { return of == home_ || (checks() && of == at_host); }
  [[nodiscard]] std::set<std::uint32_t> units_of(std::vector<std::uint32_t> const& tunnels) const;
  void add_unit(std::uint32_t unit);
  void add_finished(UnitRecord& unit);
  void add_created(UnitRecord& unit);
  void add_gates(std::uint32_t unit);
  void add_readers(std::uint32_t unit);
  void add_ends(UnitRecord& unit);
  void add_stages();
  void add_stage(Word<std::uint32_t>* ended, Home of, std::set<std::uint32_t> const& units);
  void add_term(SumTerm term, Home of);
  void add_gate(Word<std::uint32_t>* word, std::uint32_t needed, Home of);
  void add_news(std::uint32_t unit, Word<std::uint32_t>* UnitNews::*kind, std::uint32_t first_gate);

  CountedGraph const& graph_;
  Home home_;
  std::function<Word<std::uint32_t>*()> place_flag_;
  std::vector<std::vector<UnitNews>> const& told_;
  std::vector<std::uint32_t> members_;  ///< the tunnels of the unit that is being added
  EndCheckLists lists_;
};

/// The questions that a delegate is asked about a unit, given the delegate's record of it: a bit for each Question.
[[nodiscard]] std::uint8_t asked_of(UnitRecord const& unit);

/// The table of these lists, in memory of the arena.
[[nodiscard]] TerminationTable place_lists(Arena& arena, EndCheckLists const& lists);

}  // namespace hiway
