#include "visits.hpp"

#include <new>

#include "hiway/machine/thread_machine.hpp"

namespace hiway::detail {

void ScopeVisits::begin_run(std::size_t places, std::size_t stages) noexcept {
  words_.reset();
  if (stages != 0 && places <= most_places) words_.reset(new (std::nothrow) Words[places * stages]);
  stages_ = words_ ? stages : 0;
}

void ScopeVisits::note(std::uint32_t place, std::uint32_t stage) noexcept {
  if (stage >= stages_) return;
  Words& of = words_[place * stages_ + stage];
  auto const now = static_cast<std::int64_t>(ThreadMachine{}.now_ns());
  std::int64_t none = 0;
  of.first_ns.compare_exchange_strong(none, now, std::memory_order_relaxed);
  of.last_ns.store(now, std::memory_order_relaxed);
}

std::vector<ScopeVisit> ScopeVisits::take(std::uint32_t place) {
  std::vector<ScopeVisit> visits;
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    Words& of = words_[place * stages_ + stage];
    std::int64_t const first = of.first_ns.exchange(0, std::memory_order_relaxed);
    if (first != 0) visits.push_back({stage, first, of.last_ns.load(std::memory_order_relaxed)});
  }
  return visits;
}

}  // namespace hiway::detail
