#include "end_check.hpp"

#include <algorithm>
#include <utility>

namespace hiway {
namespace {

std::uint32_t size_of(auto const& list) { return static_cast<std::uint32_t>(list.size()); }

bool contains(std::vector<std::uint32_t> const& tunnels, std::uint32_t tunnel) {
  return std::ranges::find(tunnels, tunnel) != tunnels.end();
}

}  // namespace

std::uint8_t asked_of(UnitRecord const& unit) {
  unsigned asks = 0;
  auto const add = [&](Question what, bool there) { asks |= there ? 1u << static_cast<unsigned>(what) : 0u; };
  add(Question::finished, unit.finished.begin != unit.finished.end);
  add(Question::created, unit.created.begin != unit.created.end);
  add(Question::close, unit.created.begin != unit.created.end);
  add(Question::end, unit.ended == 0);
  return static_cast<std::uint8_t>(asks);
}

EndCheckLists EndCheckBuilder::build() {
  lists_ = {};
  lists_.units.resize(graph_.units);
  lists_.delegates = !checks();
  if (lists_.delegates) lists_.news.resize(graph_.units);
  for (std::uint32_t u = 0; u < graph_.units; ++u) add_unit(u);
  add_stages();
  return std::move(lists_);
}

std::set<std::uint32_t> EndCheckBuilder::units_of(std::vector<std::uint32_t> const& tunnels) const {
  std::set<std::uint32_t> all;
  for (std::uint32_t const t : tunnels) all.insert(graph_.tunnels[t].unit);
  return all;
}

void EndCheckBuilder::add_unit(std::uint32_t unit) {
  members_.clear();
  for (std::uint32_t t = 0; t < graph_.tunnels.size(); ++t) {
    if (graph_.tunnels[t].unit == unit) members_.push_back(t);
  }
  UnitRecord& record = lists_.units[unit];
  record.tunnel = members_.front();
  add_finished(record);
  add_created(record);
  add_gates(unit);
  add_readers(unit);
  add_ends(record);
}

void EndCheckBuilder::add_finished(UnitRecord& unit) {
  unit.finished.begin = size_of(lists_.terms);
  for (std::uint32_t const id : members_) {
    CountedTunnel const& t = graph_.tunnels[id];
    for (CountedStage const& stage : graph_.stages) {
      for (std::size_t i = 0; i < stage.from.size(); ++i) {
        if (stage.from[i] == id)
          add_term({&stage.outlet_ports[i]->finished, stage.executors, sizeof(OutletPort)}, stage.home);
      }
    }
    for (OutletPort* port : t.open_outlets) add_term({&port->finished, 1, sizeof(OutletPort)}, t.get_home);
    if (t.drained != nullptr) add_term({t.drained, 1, 8}, t.put_home);
    if (t.dropped != nullptr) add_term({t.dropped, 1, 8}, t.put_home);
  }
  unit.finished.end = size_of(lists_.terms);
}

void EndCheckBuilder::add_created(UnitRecord& unit) {
  unit.created.begin = size_of(lists_.terms);
  for (std::uint32_t const id : members_) {
    CountedTunnel const& t = graph_.tunnels[id];
    add_term(t.claimed, t.put_home);
    for (SumTerm const& of_thread : t.claimed_by_key) add_term(of_thread, at_host);
    if (t.taken_staged.first != nullptr) add_term(t.taken_staged, at_host);
    if (t.spilled != nullptr) add_term({t.spilled, 1, 8}, t.put_home);
  }
  unit.created.end = size_of(lists_.terms);
}

/// The gates of outside writers that are loops, and the units that the others read. Workers put nothing after their
/// loop, like stages in item form.
void EndCheckBuilder::add_gates(std::uint32_t unit) {
  UnitRecord& record = lists_.units[unit];
  std::set<std::uint32_t> upstream;
  record.gates.begin = size_of(lists_.gates);
  for (std::uint32_t const id : members_) {
    CountedTunnel const& t = graph_.tunnels[id];
    if (t.open_inlets > 0) add_gate(t.open_closed, t.open_inlets, t.put_home);
    for (CountedStage const& stage : graph_.stages) {
      if (!contains(stage.into, id)) continue;
      std::set<std::uint32_t> const reads = units_of(stage.from);
      if (reads.contains(unit) || stage.item_form) {
        upstream.insert(reads.begin(), reads.end());
        continue;
      }
      for (std::size_t i = 0; i < stage.into.size(); ++i) {
        if (stage.into[i] == id) add_gate(stage.closed_executors[i], stage.executors, stage.home);
      }
    }
    for (CountedWorker const& worker : graph_.workers) {
      if (contains(worker.into, id)) upstream.merge(units_of(worker.from));
    }
  }
  add_news(unit, &UnitNews::gates, record.gates.begin);
  record.gates.end = size_of(lists_.gates);
  upstream.erase(unit);
  record.upstream.begin = size_of(lists_.unit_list);
  lists_.unit_list.insert(lists_.unit_list.end(), upstream.begin(), upstream.end());
  record.upstream.end = size_of(lists_.unit_list);
}

/// The returned counts of the reading stages; none if an open outlet reads.
void EndCheckBuilder::add_readers(std::uint32_t unit) {
  UnitRecord& record = lists_.units[unit];
  bool open = false;
  record.readers.begin = size_of(lists_.gates);
  for (std::uint32_t const id : members_) {
    open = open || !graph_.tunnels[id].open_outlets.empty();
    for (std::uint32_t s = 0; s < graph_.stages.size(); ++s) {
      CountedStage const& stage = graph_.stages[s];
      if (!contains(stage.from, id)) continue;
      add_gate(&stage.words->returned, stage.executors, stage.home);
      if (record.reader_stage == no_id) record.reader_stage = s;  // it reads record.tunnel
    }
  }
  if (open) lists_.gates.resize(record.readers.begin);
  add_news(unit, &UnitNews::readers, record.readers.begin);
  record.readers.end = size_of(lists_.gates);
}

void EndCheckBuilder::add_ends(UnitRecord& unit) {
  unit.tunnels.begin = size_of(lists_.tunnels);
  unit.ended = checks() ? 0 : 1;  // a delegate gets no message about units without an end at its home
  for (std::uint32_t const id : members_) {
    CountedTunnel const& t = graph_.tunnels[id];
    TunnelEnds ends{nullptr, nullptr, checks() ? t.closing : nullptr};
    for (auto const& [of, words] : {std::pair{t.put_home, t.put_end}, std::pair{t.get_home, t.get_end}}) {
      if (!is_mine(of)) continue;
      (of == at_host ? ends.host : ends.device) = words;
      unit.ended = 0;
    }
    lists_.tunnels.push_back(ends);
  }
  unit.tunnels.end = size_of(lists_.tunnels);
}

void EndCheckBuilder::add_stages() {
  for (CountedStage const& s : graph_.stages) add_stage(&s.words->ended, s.home, units_of(s.from));
  std::set<std::uint32_t> all_units;  // whoever asks for the whole run
  for (std::uint32_t u = 0; u < graph_.units; ++u) all_units.insert(u);
  add_stage(graph_.host_all_ended, at_host, all_units);
  if (checks() && home_ != at_host) add_stage(graph_.checker_all_ended, home_, all_units);
}

void EndCheckBuilder::add_stage(Word<std::uint32_t>* ended, Home of, std::set<std::uint32_t> const& units) {
  if (!is_mine(of)) return;
  StageRecordWords record;
  record.ended = ended;
  record.across = of != home_;
  record.units.begin = size_of(lists_.unit_list);
  lists_.unit_list.insert(lists_.unit_list.end(), units.begin(), units.end());
  record.units.end = size_of(lists_.unit_list);
  lists_.stages.push_back(record);
}

void EndCheckBuilder::add_term(SumTerm term, Home of) {
  term.across = of != home_;
  if (is_mine(of)) lists_.terms.push_back(term);
}

void EndCheckBuilder::add_gate(Word<std::uint32_t>* word, std::uint32_t needed, Home of) {
  if (is_mine(of)) lists_.gates.push_back({word, needed, of != home_});
}

/// A delegate that has gates of this kind, from `first_gate` on, gets a flag; the checker waits for all such flags.
void EndCheckBuilder::add_news(std::uint32_t unit, Word<std::uint32_t>* UnitNews::*kind, std::uint32_t first_gate) {
  if (!checks()) {
    if (lists_.gates.size() != first_gate) lists_.news[unit].*kind = place_flag_();
    return;
  }
  for (std::vector<UnitNews> const& of_device : told_) {
    if (of_device[unit].*kind != nullptr) lists_.gates.push_back({of_device[unit].*kind, 1, true});
  }
}

TerminationTable place_lists(Arena& arena, EndCheckLists const& lists) {
  TerminationTable table;
  table.units = arena.place_list(lists.units);
  table.unit_count = size_of(lists.units);
  table.stages = arena.place_list(lists.stages);
  table.stage_count = size_of(lists.stages);
  table.terms = arena.place_list(lists.terms);
  table.gates = arena.place_list(lists.gates);
  table.unit_list = arena.place_list(lists.unit_list);
  table.tunnels = arena.place_list(lists.tunnels);
  table.term_count = size_of(lists.terms);
  table.gate_count = size_of(lists.gates);
  table.listed_count = size_of(lists.unit_list);
  table.tunnel_count = size_of(lists.tunnels);
  if (lists.delegates) table.news = arena.place_list(lists.news);
  return table;
}

}  // namespace hiway
