#include "lib/nodes/line/line_in.hpp"

#include <algorithm>
#include <utility>

#include "hiway/inlet/close.hpp"
#include "hiway/inlet/span.hpp"

namespace hiway::detail::nodes {

LaneIn::LaneIn(LineMail& mail, LaneAddress const& own, LaneAddress const& other)
    : mail_(mail),
      places_(own.places),
      item_bytes_(own.item_bytes),
      items_(reinterpret_cast<std::byte const*>(own.items)),
      retired_(other.words + offsetof(LaneOutWords, retired)) {}

std::size_t LaneIn::put(StageThread m, InletView const& inlet, std::uint64_t most) {
  std::size_t done = 0;
  while (done != most) {
    std::uint64_t const at = put_ % places_;
    std::uint64_t const come = m.load(words_.arrived, MemoryOrder::acquire) - put_;
    std::uint64_t const n = std::min({come, places_ - at, most - done});
    if (n == 0) break;
    std::size_t const some = give_pieces(m, inlet, items_ + at * item_bytes_, n, item_bytes_);
    put_ += some;
    done += some;
    if (some != n) break;
  }
  return done;
}

void LaneIn::tell() {
  if (told_ == put_ || !mail_.has_room()) return;
  mail_.add(retired_, put_);
  told_ = put_;
}

void LaneIn::reset() {
  ThreadMachine const m;
  m.store(words_.arrived, std::uint64_t{0}, MemoryOrder::relaxed);
  m.store(words_.ended, std::uint64_t{0}, MemoryOrder::relaxed);
  put_ = told_ = 0;
}

LineIn::LineIn(Arrival arrival, std::vector<std::unique_ptr<LaneIn>> lanes)
    : arrival_(std::move(arrival)), lanes_(std::move(lanes)) {}

bool LineIn::step(StageThread m) {
  if (closed_) return false;
  std::uint64_t const most = most_items_of_step(arrival_.item_bytes);
  bool moved = false;
  bool ended = true;
  for (std::size_t i = 0; i != lanes_.size(); ++i) {
    LaneIn& lane = *lanes_[(first_ + i) % lanes_.size()];
    moved = lane.put(m, arrival_.inlet, most) != 0 || moved;
    lane.tell();
    ended = lane.has_ended(m) && ended;
  }
  first_ = (first_ + 1) % lanes_.size();
  if (!moved) wait_a_step(m);
  if (!ended) return moved;
  close(m, arrival_.inlet);
  closed_ = true;
  return true;
}

/// What a put does between two tries, but for the time.
void LineIn::wait_a_step(StageThread m) {
  InletView const& inlet = arrival_.inlet;
  if (inlet.relays != nullptr) hear_if_free(m, inlet.relays->hears);
  leave_if_aborted(m, *inlet.control, inlet.tunnel);
}

void LineIn::reset() {
  for (auto const& lane : lanes_) lane->reset();
  first_ = 0;
  closed_ = false;
}

}  // namespace hiway::detail::nodes
