#include "lib/batch/scoped_items.hpp"

#include "hiway/outlet/span.hpp"
#include "hiway/outlet/tasks.hpp"
#include "hiway/scope/task.hpp"

namespace hiway {
namespace {

/// Items side by side, `step` bytes from one to the next.
template <class Byte>
struct Row {
  Byte* first;
  std::size_t step;
};

template <std::size_t Bytes>
void copy_small(Row<std::byte> to, Row<std::byte const> from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) std::memcpy(to.first + i * to.step, from.first + i * from.step, Bytes);
}

/// Small items have loops of their own, without calls.
void copy_items(Row<std::byte> to, Row<std::byte const> from, std::size_t n, std::size_t item_bytes) {
  switch (item_bytes) {
    case 4: return copy_small<4>(to, from, n);
    case 8: return copy_small<8>(to, from, n);
    case 16: return copy_small<16>(to, from, n);
    default:
      for (std::size_t i = 0; i < n; ++i) std::memcpy(to.first + i * to.step, from.first + i * from.step, item_bytes);
  }
}

}  // namespace

void ScopedItems::copy_to(std::byte* batch, std::size_t i, std::size_t n) {
  copy_items({batch, end_.item_bytes}, {slot(i), end_.slot_bytes}, n, end_.item_bytes);
}

void ScopedItems::copy_from(std::byte const* batch, std::size_t n) {
  copy_items({slot(0), end_.slot_bytes}, {batch, end_.item_bytes}, n, end_.item_bytes);
}

std::size_t ScopedArrivals::get(StageThread m, std::size_t most) {
  if (any()) return 0;
  next_ = 0;
  count_ = detail::get_pieces(m, from_, items_.slot(0), std::min(most, items_.most()), end_.slot_bytes);
  return count_;
}

bool ScopedArrivals::move_to(StageThread m, UnderWay& batch, std::size_t most) {
  std::size_t const before = next_;
  while (any()) {
    std::uint64_t const word = items_.word(next_);
    if (detail::is_cancelled(m, from_, word)) {
      drop(m, of_one_scope(count_ - next_));
      continue;
    }
    if (batch.items == most || !batch.scopes.takes(word, batch.items)) break;
    std::size_t const n = of_one_scope(std::min(most - batch.items, count_ - next_));
    items_.copy_to(batch.place->got.host + batch.items * end_.item_bytes, next_, n);
    for (std::size_t i = 0; i < n; ++i) batch.scopes.add(items_.word(next_ + i));
    batch.items += n;
    next_ += n;
  }
  return next_ != before;
}

/// How many of the next items, `most` at most, are of the first one's scope.
std::size_t ScopedArrivals::of_one_scope(std::size_t most) {
  std::uint32_t const place = detail::scope_place(items_.word(next_));
  std::size_t n = 1;
  while (n < most && detail::scope_place(items_.word(next_ + n)) == place) ++n;
  return n;
}

/// Ends the tasks of the next `n` items, which are of one scope.
void ScopedArrivals::drop(StageThread m, std::size_t n) {
  std::uint32_t const place = detail::scope_place(items_.word(next_));
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < n; ++i) value += detail::scope_value(items_.word(next_ + i));
  detail::give_back(m, *from_.end->scopes, place, value);
  detail::end_own_tasks(m, from_, n);
  next_ += n;
}

}  // namespace hiway
