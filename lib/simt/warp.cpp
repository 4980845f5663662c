#include "warp.hpp"

#include <bit>
#include <cassert>
#include <cstdio>

namespace hiway::simt {
namespace {

char const* name(WarpOperation operation) {
  switch (operation) {
    case WarpOperation::sync: return "sync";
    case WarpOperation::ballot: return "ballot";
    case WarpOperation::shuffle: return "shuffle";
    case WarpOperation::match: return "match";
  }
  return "?";
}

constexpr std::uint32_t bit(unsigned lane) { return std::uint32_t{1} << lane; }

template <class Body>
void for_each_lane(std::uint32_t mask, Body body) {
  for (; mask != 0; mask &= mask - 1) body(static_cast<unsigned>(std::countr_zero(mask)));
}

}  // namespace

std::string hex(std::uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", static_cast<unsigned>(mask));
  return text;
}

std::string describe(WarpOperation operation, std::uint32_t mask) {
  return std::string(name(operation)) + " (mask " + hex(mask) + ")";
}

std::string Warp::why_not(unsigned lane, Meeting const& meeting) const {
  std::uint32_t const mask = meeting.mask;
  auto const here = [&] { return describe(meeting.operation, mask); };
  if ((mask & bit(lane)) == 0) return "is not in the mask of its own " + here();
  if ((mask & ~launched()) != 0)
    return "names lanes " + hex(mask & ~launched()) + " that were not launched in " + here();
  if ((mask & left_) != 0) return "names lanes " + hex(mask & left_) + " that have exited in " + here();
  if (meeting.operation == WarpOperation::shuffle &&
      (meeting.source_lane >= 32 || (mask & bit(meeting.source_lane)) == 0))
    return "shuffles from lane " + std::to_string(meeting.source_lane) + ", which is outside of " + here();

  std::uint32_t joined = bit(lane);
  for (unsigned i = 0; i < group_count_; ++i) {
    Group const& group = groups_[i];
    if (group.mask != mask) continue;
    if (group.operation != meeting.operation)
      return "is in " + here() + " while lanes " + hex(group.joined) + " of that mask are in " + name(group.operation);
    joined |= group.joined;
  }
  for (unsigned i = 0; i < group_count_; ++i) {
    Group const& group = groups_[i];
    if (group.mask != mask && (group.joined & mask) != 0 && (joined & group.mask) != 0)  // W4
      return "is in " + here() + " and waits for lanes " + hex(group.joined & mask) + ", which wait for lanes " +
             hex(joined & group.mask) + " in " + describe(group.operation, group.mask);
  }
  return {};
}

Warp::Group* Warp::find(std::uint32_t mask) noexcept {
  for (unsigned i = 0; i < group_count_; ++i)
    if (groups_[i].mask == mask) return &groups_[i];
  return nullptr;
}

std::uint32_t Warp::join(unsigned lane) {
  Meeting& meeting = *meetings_[lane];
  Group* group = find(meeting.mask);
  if (group == nullptr) {
    assert(group_count_ < groups_.size());  // W2
    auto const lowest = static_cast<unsigned>(std::countr_zero(meeting.mask));
    char* const order = &orders_[lowest][order_uses_[lowest]++ % 2];
    group = &groups_[group_count_++];
    *group = {.mask = meeting.mask, .joined = 0, .operation = meeting.operation, .order = order};
  }
  meeting.order = group->order;
  group->joined |= bit(lane);
  if (group->joined != group->mask) return 0;
  std::uint32_t const completed = group->mask;
  set_results(*group);
  drop(*group);
  return completed;
}

void Warp::set_results(Group const& group) noexcept {
  std::uint32_t ballot = 0;
  if (group.operation == WarpOperation::ballot)
    for_each_lane(group.mask, [&](unsigned lane) { ballot |= meetings_[lane]->value != 0 ? bit(lane) : 0; });
  for_each_lane(group.mask, [&](unsigned lane) {
    Meeting& mine = *meetings_[lane];
    mine.result = 0;
    switch (group.operation) {
      case WarpOperation::sync: break;
      case WarpOperation::ballot: mine.result = ballot; break;
      case WarpOperation::shuffle: mine.result = meetings_[mine.source_lane]->value; break;
      case WarpOperation::match:
        for_each_lane(group.mask, [&](unsigned other) {
          if (meetings_[other]->value == mine.value) mine.result |= bit(other);
        });
        break;
    }
  });
}

std::uint32_t Warp::leave(unsigned lane) {
  left_ |= bit(lane);
  std::uint32_t abandoned = 0;
  for (unsigned i = 0; i < group_count_;) {
    Group& group = groups_[i];
    if ((group.mask & bit(lane)) == 0) {
      ++i;
      continue;
    }
    for_each_lane(group.joined, [&](unsigned waiter) {  // W3
      meetings_[waiter]->gone_lane = lane;
      meetings_[waiter]->abandoned = group.joined;
    });
    abandoned |= group.joined;
    drop(group);
  }
  return abandoned;
}

bool Warp::gather(unsigned lane, void const* place) noexcept {
  for (unsigned i = 0; i < gathering_count_; ++i) {
    if (gatherings_[i].place != place) continue;
    gatherings_[i].lanes |= std::uint32_t{1} << lane;
    return false;
  }
  gatherings_[gathering_count_++] = {.place = place, .lanes = std::uint32_t{1} << lane, .first = lane};
  return true;
}

std::uint32_t Warp::close_gathering(unsigned lane) noexcept {
  unsigned i = 0;
  while (gatherings_[i].first != lane) ++i;
  std::uint32_t const lanes = gatherings_[i].lanes;
  gatherings_[i] = gatherings_[--gathering_count_];
  return lanes;
}

std::uint32_t Warp::abandon_all() noexcept {
  std::uint32_t abandoned = 0;
  while (group_count_ != 0) abandoned |= groups_[--group_count_].joined;
  return abandoned;
}

}  // namespace hiway::simt
