#include "lib/nodes/line/line_out.hpp"

#include <algorithm>
#include <utility>

#include "hiway/outlet/pieces.hpp"
#include "hiway/outlet/tasks.hpp"

namespace hiway::detail::nodes {

LaneOut::LaneOut(LineMail& mail, LaneAddress const& other, std::byte* own)
    : mail_(mail),
      places_(other.places),
      item_bytes_(other.item_bytes),
      target_(other.items),
      words_(other.words),
      copies_(own != nullptr),
      items_(copies_ ? own : mail.here(target_, places_ * item_bytes_)) {}

std::uint64_t LaneOut::room_in_a_row() const noexcept { return std::min(room(), places_ - sent_ % places_); }

std::size_t LaneOut::take(StageThread m, OutletView const& outlet, std::uint64_t most) {
  std::size_t const n = take_pieces(m, outlet, items_ + sent_ % places_ * item_bytes_, most, item_bytes_);
  sent_ += n;
  return n;
}

void LaneOut::tell() {
  if (told_ == sent_) return;
  if (copies_) {
    for (std::uint64_t at = told_; at != sent_;) {
      std::uint64_t const n = std::min(sent_ - at, places_ - at % places_);
      std::size_t const offset = at % places_ * item_bytes_;
      mail_.add(
          {.target = reinterpret_cast<void*>(target_ + offset), .source = items_ + offset, .bytes = n * item_bytes_});
      at += n;
    }
    under_way_.push_back({mail_.next(), sent_});
  }
  mail_.add(words_ + offsetof(LaneInWords, arrived), sent_);
  told_ = sent_;
}

std::uint64_t LaneOut::count_retired() {
  std::uint64_t const retired = ThreadMachine{}.load(retired_, MemoryOrder::acquire);
  reuse_completed();
  reusable_ = copies_ ? std::min(retired, completed_) : retired;
  return retired - std::exchange(ended_tasks_, retired);
}

void LaneOut::reuse_completed() {
  for (; !under_way_.empty() && under_way_.front().submission <= mail_.completed(); under_way_.pop_front())
    completed_ = under_way_.front().sent;
}

bool LaneOut::tell_end() {
  if (end_told_ != 0) return true;
  if (!mail_.has_room()) return false;
  end_told_ = mail_.next();
  mail_.add(words_ + offsetof(LaneInWords, ended), 1);
  return true;
}

void LaneOut::reset() {
  ThreadMachine{}.store(retired_, std::uint64_t{0}, MemoryOrder::relaxed);
  sent_ = told_ = ended_tasks_ = reusable_ = completed_ = end_told_ = 0;
  under_way_.clear();
}

LineOut::LineOut(Departure departure, std::vector<std::unique_ptr<LaneOut>> lanes)
    : departure_(std::move(departure)), lanes_(std::move(lanes)) {}

bool LineOut::step(StageThread m) {
  if (!ended_) {
    bool const moved = end_tasks(m);
    if (take(m) || moved) return true;
    ended_ = tunnel_ended(m, departure_.outlet);
    if (!ended_) return false;
  }
  for (auto const& lane : lanes_) lane->tell_end();
  return false;
}

bool LineOut::end_tasks(StageThread m) {
  std::uint64_t n = 0;
  for (auto const& lane : lanes_) n += lane->count_retired();
  if (n != 0) end_own_tasks(m, departure_.outlet, n);
  return n != 0;
}

bool LineOut::take(StageThread m) {
  std::uint64_t left = most_items_of_step(departure_.item_bytes);
  std::uint64_t const most_of_batch = left;
  bool const is_only = lanes_.size() == 1;
  bool moved = false;
  while (left != 0) {
    LaneOut* const lane = roomiest();
    if (lane == nullptr) break;
    std::uint64_t const asked = std::min(lane->room_in_a_row(), is_only ? left : std::min(left, batch_));
    std::size_t const n = lane->take(m, departure_.outlet, asked);
    moved = moved || n != 0;
    left -= n;
    if (n != asked) {
      batch_ = 1;
      break;
    }
    if (n == batch_) batch_ = std::min(2 * batch_, most_of_batch);
  }
  for (auto const& lane : lanes_) lane->tell();
  return moved;
}

LaneOut* LineOut::roomiest() {
  std::size_t best = lanes_.size();
  for (std::size_t i = 0; i != lanes_.size(); ++i) {
    std::size_t const k = (next_ + i) % lanes_.size();
    std::uint64_t const room = lanes_[k]->room();
    if (room != 0 && (best == lanes_.size() || room > lanes_[best]->room())) best = k;
  }
  if (best == lanes_.size()) return nullptr;
  next_ = best + 1;
  return lanes_[best].get();
}

bool LineOut::is_done() const noexcept {
  return std::all_of(lanes_.begin(), lanes_.end(), [](auto const& lane) { return lane->has_told_end(); });
}

void LineOut::reset() {
  for (auto const& lane : lanes_) lane->reset();
  next_ = 0;
  batch_ = 1;
  ended_ = false;
}

}  // namespace hiway::detail::nodes
