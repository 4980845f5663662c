#include "lib/batch/batch_scopes.hpp"

#include <algorithm>

#include "hiway/scope/task.hpp"

namespace hiway {

bool BatchScopes::is_cancelled(StageThread m, OutletView const& from) const {
  return !one_to_one_ && detail::is_cancelled(m, from, detail::scope_word(place_, 0));
}

void BatchScopes::drop(StageThread m, OutletView const& from) {
  detail::give_back(m, *from.end->scopes, place_, value_);
  value_ = 0;
}

void BatchScopes::begin_body(StageThread m, OutletView const& from) {
  if (!one_to_one_) {
    std::uint64_t const kept = std::min(value_, detail::scope_value_mask);
    if (value_ != kept) detail::give_back(m, *from.end->scopes, place_, value_ - kept);
    detail::begin_scope_task(m, from, detail::scope_word(place_, kept));
    task_ = m.scope();
  }
  if (!body_sees_it_) detail::begin_tasks_of_scopes(m, from);
}

void BatchScopes::end_body(StageThread m) {
  if (body_sees_it_) task_ = m.scope();
  m.set_scope({});
}

void BatchScopes::begin_puts(StageThread m, InletView const& into, std::size_t n) {
  if (one_to_one_) return;
  if (task_.word == 0) raise(m, *into.control, FaultKind::put_without_scope, into.stage, into.tunnel, 0);
  each_ = detail::share_with_all_at_host(m, task_, into.end->scope_road, n);
}

std::uint64_t BatchScopes::word_of_item(StageThread m, InletView const& into, std::size_t k, TaskShare share) {
  LaneScope task{.word = words_[k], .table = into.end->scopes, .run = 0};
  ScopeRoad const road = into.end->scope_road;
  if (share == TaskShare::rest) {
    words_[k] = 0;
    return detail::result_at_host(m, task, road);
  }
  std::uint64_t const word = detail::share_at_host(m, task, road);
  words_[k] = task.word;
  return word;
}

void BatchScopes::end(StageThread m, OutletView const& from) {
  if (task_.word != 0) detail::end_at_host(m, task_);
  for (std::size_t i = 0; i < words_.size();) {
    std::uint32_t const place = detail::scope_place(words_[i]);
    std::uint64_t value = 0;
    for (; i < words_.size() && detail::scope_place(words_[i]) == place; ++i) value += detail::scope_value(words_[i]);
    if (value != 0) detail::give_back(m, *from.end->scopes, place, value);
  }
  task_ = {};
  value_ = 0;
  words_.clear();
}

}  // namespace hiway
