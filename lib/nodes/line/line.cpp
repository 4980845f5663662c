#include "lib/nodes/line/line.hpp"

#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

#include "hiway/error.hpp"
#include "lib/nodes/node_name.hpp"

namespace hiway::detail::nodes {
namespace {

constexpr std::size_t line_bytes = 64;  // of a cache line

constexpr std::size_t whole_lines(std::size_t bytes) { return (bytes + line_bytes - 1) / line_bytes * line_bytes; }

std::uint64_t address_of(void const* object) { return reinterpret_cast<std::uintptr_t>(object); }

Word<std::uint64_t>& word_at(std::uint64_t address) { return *reinterpret_cast<Word<std::uint64_t>*>(address); }

template <class End>
LaneAddress own_end(End const& end, int node, LaneEnd which) {
  return {.tunnel = end.tunnel,
          .node = static_cast<std::uint32_t>(node),
          .end = which,
          .item_bytes = static_cast<std::uint32_t>(end.item_bytes),
          .places = places_of_lane(end.capacity_items, end.item_bytes)};
}

}  // namespace

Line::Line(std::unique_ptr<Network> network, Meeting& meeting, std::vector<Departure> departures,
           std::vector<Arrival> arrivals, Deadline until)
    : node_(static_cast<std::uint32_t>(meeting.node())),
      size_(static_cast<std::uint32_t>(meeting.size())),
      network_(std::move(network)) {
  Ends const own = place(departures, arrivals);
  network_->connect(meeting, until);
  std::vector<Ends> const all = tell_all(meeting, own);
  for (Ends const& of_node : all) met_there_.push_back(of_node.met + node_ * sizeof(Word<std::uint64_t>));
  make_mails();
  LaneAddress const* lane = own.lanes.data();
  for (Departure& d : departures) {
    std::size_t const lanes = d.to.size();
    make_departure(std::move(d), lane, all);
    lane += lanes;
  }
  for (Arrival& a : arrivals) {
    std::size_t const lanes = a.from.size();
    make_arrival(std::move(a), lane, all);
    lane += lanes;
  }
}

/// Allocates what other nodes write: met[], then each lane's words and places.
Line::Ends Line::place(std::vector<Departure> const& departures, std::vector<Arrival> const& arrivals) {
  Ends own;
  for (Departure const& d : departures) {
    for (int const node : d.to) own.lanes.push_back(own_end(d, node, LaneEnd::out));
  }
  for (Arrival const& a : arrivals) {
    for (int const node : a.from) own.lanes.push_back(own_end(a, node, LaneEnd::in));
  }
  std::size_t const met_bytes = whole_lines(size_ * sizeof(Word<std::uint64_t>));
  std::size_t bytes = met_bytes;
  for (LaneAddress const& lane : own.lanes) {
    bytes += line_bytes;
    if (lane.end == LaneEnd::in) bytes += whole_lines(lane.places * lane.item_bytes);
  }
  std::uint64_t at = address_of(network_->allocate(bytes));
  own.met = at;
  met_ = &word_at(at);
  at += met_bytes;
  for (LaneAddress& lane : own.lanes) {
    lane.words = at;
    at += line_bytes;
    if (lane.end == LaneEnd::out) continue;
    lane.items = at;
    at += whole_lines(lane.places * lane.item_bytes);
  }
  return own;
}

std::vector<Line::Ends> Line::tell_all(Meeting& meeting, Ends const& own) {
  std::size_t const lanes_bytes = own.lanes.size() * sizeof(LaneAddress);
  Bytes mine(sizeof own.met + lanes_bytes);
  std::memcpy(mine.data(), &own.met, sizeof own.met);
  if (lanes_bytes != 0) std::memcpy(mine.data() + sizeof own.met, own.lanes.data(), lanes_bytes);
  std::vector<Ends> all;
  for (Bytes const& bytes : meeting.exchange(mine)) {
    Ends& ends = all.emplace_back();
    if (bytes.size() < sizeof ends.met || (bytes.size() - sizeof ends.met) % sizeof(LaneAddress) != 0)
      throw Error(name_of_node(static_cast<int>(all.size()) - 1) + ": what it tells of its tunnels is not understood");
    std::memcpy(&ends.met, bytes.data(), sizeof ends.met);
    ends.lanes.resize((bytes.size() - sizeof ends.met) / sizeof(LaneAddress));
    if (!ends.lanes.empty())
      std::memcpy(ends.lanes.data(), bytes.data() + sizeof ends.met, bytes.size() - sizeof ends.met);
  }
  return all;
}

void Line::make_mails() {
  for (std::uint32_t k = 0; k != size_; ++k) {
    if (k == node_) {
      mails_.push_back(std::make_unique<LineMail>());
      continue;
    }
    mails_.push_back(std::make_unique<LineMail>(*network_, static_cast<int>(k)));
    is_near_ = is_near_ && mails_.back()->here(met_there_[k], sizeof(Word<std::uint64_t>)) != nullptr;
  }
}

void Line::make_departure(Departure departure, LaneAddress const* own, std::vector<Ends> const& all) {
  std::vector<std::unique_ptr<LaneOut>> lanes;
  for (std::size_t i = 0; i != departure.to.size(); ++i, ++own) {
    LaneAddress const other = other_end_of(*own, static_cast<int>(node_), all[own->node].lanes);
    std::size_t const bytes = other.places * other.item_bytes;
    LineMail& mail = mail_to(own->node);
    bool const copies = mail.here(other.items, bytes) == nullptr;
    if (copies) copied_from_.push_back(std::make_unique<std::byte[]>(bytes));
    lanes.push_back(std::make_unique<LaneOut>(mail, other, copies ? copied_from_.back().get() : nullptr));
    auto& words = *reinterpret_cast<LaneOutWords*>(own->words);
    landing_.push_back(&words.retired);
    arrived_.add(words.retired, lanes.back()->retired());
  }
  departures_.push_back(std::make_unique<LineOut>(std::move(departure), std::move(lanes)));
}

void Line::make_arrival(Arrival arrival, LaneAddress const* own, std::vector<Ends> const& all) {
  std::vector<std::unique_ptr<LaneIn>> lanes;
  for (std::size_t i = 0; i != arrival.from.size(); ++i, ++own) {
    LaneAddress const other = other_end_of(*own, static_cast<int>(node_), all[own->node].lanes);
    lanes.push_back(std::make_unique<LaneIn>(mail_to(own->node), *own, other));
    auto& words = *reinterpret_cast<LaneInWords*>(own->words);
    landing_.push_back(&words.arrived);
    landing_.push_back(&words.ended);
    arrived_.add(words.arrived, lanes.back()->words().arrived);
    arrived_.add(words.ended, lanes.back()->words().ended);
  }
  arrivals_.push_back(std::make_unique<LineIn>(std::move(arrival), std::move(lanes)));
}

void Line::begin(std::uint64_t run, std::function<void()> const& look) {
  for (auto const& mail : mails_) mail->drop();
  meet(2 * run - 1, look);
  reset();
  meet(2 * run, look);
}

/// Until all nodes have come to this meeting, or to a later one.
void Line::meet(std::uint64_t meeting, std::function<void()> const& look) {
  await(look, [&] { return all_idle(); });
  for (std::uint32_t k = 0; k != size_; ++k) {
    mail_to(k).add(met_there_[k], meeting);
    mail_to(k).send();
  }
  await(look, [&] {
    ThreadMachine const m;
    for (std::uint32_t k = 0; k != size_; ++k) {
      if (m.load(met_[k], MemoryOrder::acquire) < meeting) return false;
    }
    return all_idle();
  });
}

template <class Done>
void Line::await(std::function<void()> const& look, Done done) {
  constexpr unsigned awake = 1000;
  for (unsigned misses = 0; !done(); ++misses) {
    look();
    if (network_->progress()) misses = 0;
    if (misses > awake) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

bool Line::all_idle() {
  bool idle = true;
  for (auto const& mail : mails_) {
    mail->look();
    idle = mail->is_idle() && idle;
  }
  return idle;
}

void Line::reset() {
  for (Word<std::uint64_t>* const word : landing_) ThreadMachine{}.store(*word, std::uint64_t{0}, MemoryOrder::relaxed);
  for (auto const& departure : departures_) departure->reset();
  for (auto const& arrival : arrivals_) arrival->reset();
}

bool Line::step() {
  StageThread const m;
  bool moved = network_->progress();
  moved = arrived_.step() || moved;
  for (auto const& mail : mails_) mail->look();
  for (auto const& arrival : arrivals_) moved = arrival->step(m) || moved;
  for (auto const& departure : departures_) moved = departure->step(m) || moved;
  for (auto const& mail : mails_) moved = mail->send() || moved;
  return moved;
}

bool Line::is_done() const {
  for (auto const& departure : departures_) {
    if (!departure->is_done()) return false;
  }
  for (auto const& arrival : arrivals_) {
    if (!arrival->is_done()) return false;
  }
  return true;
}

}  // namespace hiway::detail::nodes
