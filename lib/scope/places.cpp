#include "places.hpp"

#include <algorithm>
#include <utility>

#include "handles.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/scope/host.hpp"
#include "hiway/scope/mail.hpp"

namespace hiway {
namespace {

/// Aborted with `text` and what the run's error says, which is nested.
std::exception_ptr of_failed_run(std::string const& text, std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) {
    try {
      std::throw_with_nested(Aborted(text + e.what()));
    } catch (...) {
      return std::current_exception();
    }
  } catch (...) {
    return error;
  }
}

std::size_t checked(std::string const& name, std::size_t most_open) {
  if (most_open == 0 || most_open > detail::most_scopes) {
    throw ConfigError("scopes '" + name + "': most_open must be from 1 to " + std::to_string(detail::most_scopes) +
                      ": " + std::to_string(most_open));
  }
  return most_open;
}

}  // namespace

Scopes::Places::Places(std::string named, ScopesConfig config, ScopeEnds& ends)
    : name(std::move(named)),
      most_open(checked(name, config.most_open)),
      counts(std::make_unique<ScopeCount[]>(most_open)),
      free_places(most_open),
      cancelled(free_places),
      handles(std::make_unique<detail::ScopeHandles>(*this)) {
  host.counts = counts.get();
  host.ends = &ends;
}
Scopes::Places::~Places() = default;

// ---- one scope

std::optional<std::uint32_t> Scopes::Places::take(bool again) noexcept {
  if (!live.load(std::memory_order_acquire)) return std::nullopt;
  std::optional<std::uint32_t> const place = again ? free_places.take_of_few() : free_places.take();
  if (place) expect(free_places.soon(*place));
  return place;
}

bool Scopes::Places::open(std::uint32_t place, detail::ScopeKeeper& keeper, std::uint64_t value) noexcept {
  StageThread const m;
  ScopeCount& at = counts[place];
  std::uint32_t const run = m.load(host.run, MemoryOrder::acquire);
  at.failed.store(false, std::memory_order_relaxed);
  at.opened_ns.store(times.open(), std::memory_order_relaxed);
  m.store(at.outstanding, hold + value, MemoryOrder::relaxed);
  at.keeper.store(&keeper, std::memory_order_seq_cst);  // K3
  return live.load(std::memory_order_seq_cst) && m.load(host.run, MemoryOrder::relaxed) == run;
}

void Scopes::Places::add(std::uint32_t place, std::uint64_t value) noexcept {
  StageThread{}.fetch_add(counts[place].outstanding, value, MemoryOrder::relaxed);
}

void Scopes::Places::close(std::uint32_t place, std::uint64_t rest) noexcept {
  std::uint64_t const all = hold + rest;
  if (StageThread{}.fetch_add(counts[place].outstanding, 0 - all, MemoryOrder::acq_rel) <= all) end(place);  // K1, K2
}

void Scopes::Places::abandon(std::uint32_t place, std::exception_ptr const& error) noexcept {
  fail(place, error);
  StageThread const m;
  std::uint64_t seen = m.load(counts[place].outstanding, MemoryOrder::relaxed);
  while (!m.compare_exchange(counts[place].outstanding, seen, std::uint64_t{0}, MemoryOrder::acq_rel)) {  // the sweep
  }
  end(place);
}

void Scopes::Places::fail(std::uint32_t place, std::exception_ptr const& error, detail::ScopeOutcome outcome) noexcept {
  std::scoped_lock const lock(failing);
  ScopeCount& at = counts[place];
  if (at.failed.load(std::memory_order_relaxed)) return;
  at.error = error;
  at.outcome = outcome;
  at.failed.store(true, std::memory_order_release);
}

void Scopes::Places::end(std::uint32_t place) noexcept {
  ScopeCount& at = counts[place];
  std::exception_ptr error;
  auto outcome = detail::ScopeOutcome::well;
  if (at.failed.load(std::memory_order_acquire)) {
    std::scoped_lock const lock(failing);
    error = std::move(at.error);
    if (error) outcome = at.outcome;
  }
  times.end(place, at.opened_ns.load(std::memory_order_relaxed), outcome);
  detail::ScopeKeeper& keeper = *at.keeper.load(std::memory_order_relaxed);
  at.keeper.store(nullptr, std::memory_order_relaxed);
  keeper.ended(place, error);
}

void Scopes::Places::cancel(std::uint32_t place, std::exception_ptr const& error) noexcept {
  fail(place, error, detail::ScopeOutcome::cancelled);
  StageThread{}.store(counts[place].cancelled, std::uint64_t{1}, MemoryOrder::relaxed);
  cancelled.set(place);
}

void Scopes::Places::expect_end(std::uint32_t place) const noexcept {
  expect(place);
  free_places.expect(place);
}

void Scopes::Places::free(std::uint32_t place) noexcept {
  StageThread const m;
  if (m.load(counts[place].cancelled, MemoryOrder::relaxed) == 0) return free_places.give(place);
  m.store(counts[place].cancelled, std::uint64_t{0}, MemoryOrder::relaxed);
  cancelled.clear_and_free(place);
}

// ---- what they did

std::vector<OpenScopeAge> Scopes::Places::oldest(std::size_t most) const {
  auto const now = static_cast<std::int64_t>(StageThread{}.now_ns());
  std::vector<OpenScopeAge> all;
  for (std::size_t i = 0; i < most_open; ++i) {
    if (counts[i].keeper.load(std::memory_order_relaxed) == nullptr) continue;
    std::int64_t const open = now - counts[i].opened_ns.load(std::memory_order_relaxed);
    all.push_back({static_cast<std::uint32_t>(i), std::chrono::nanoseconds(std::max<std::int64_t>(0, open))});
  }
  auto const end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::ranges::partial_sort(all, end, std::ranges::greater{}, &OpenScopeAge::age);
  all.erase(end, all.end());
  return all;
}

ScopesReport Scopes::Places::report() const {
  ScopesReport r = times.report();
  r.name = name;
  r.most_open = most_open;
  if (r.open == 0) return r;
  for (OpenScopeAge const& one : oldest(1)) {
    r.oldest_us = static_cast<double>(one.age.count()) / 1000;
    r.oldest_place = one.place;
  }
  return r;
}

// ---- a run

std::exception_ptr Scopes::Places::refusal() {
  std::string const text = "scopes '" + name + "': no run is under way";
  std::scoped_lock const lock(failing);
  if (run_error) return of_failed_run(text + ", the last one has failed: ", run_error);
  return std::make_exception_ptr(Aborted(text));
}

bool Scopes::Places::hear() noexcept {
  std::unique_lock const lock(reading, std::try_to_lock);
  if (!lock) return true;
  bool const copies = cancelled.step();
  return (may_hear && hear_all()) || copies;
}

bool Scopes::Places::hear_all() noexcept {
  bool heard = false;
  for (auto const& mail : mails) {
    std::uint64_t const n = detail::read_letters(
        StageThread{}, mail->view, mail->read, [&](std::uint32_t place) { expect(place); },
        [&](std::uint32_t place, std::uint64_t value, char const* text) {
          if ((value & letter_of_failure) != 0) host.ends->fail_scope(place, text);
          detail::give_back(StageThread{}, host, place, value & ~letter_of_failure);
        });
    mail->read += n;
    heard = heard || n != 0;
  }
  return heard;
}

void Scopes::Places::begin_run(std::size_t traced_stages) noexcept {
  times.begin_run(traced_stages != 0);
  times.visits.begin_run(most_open, traced_stages);
  host.notes_tasks = times.visits.notes();
  {
    std::scoped_lock const lock(reading);
    for (auto const& mail : mails) mail->read = 0;
    may_hear = true;
  }
  {
    std::scoped_lock const lock(failing);
    run_error = nullptr;
  }
  StageThread{}.fetch_add(host.run, 1U, MemoryOrder::release);  // K3
  live.store(true, std::memory_order_seq_cst);
}

void Scopes::Places::end_run(std::exception_ptr const& error) noexcept {
  std::exception_ptr const failed = error ? of_failed_run("the scope's run has failed: ", error) : nullptr;
  {
    std::scoped_lock const lock(failing);
    run_error = error;
  }
  live.store(false, std::memory_order_seq_cst);  // K3
  {
    std::scoped_lock const lock(reading);
    while (!error && hear_all()) {
    }
    may_hear = false;
  }
  handles->abandon_all(failed);
  for (std::size_t i = 0; i < most_open; ++i) sweep(static_cast<std::uint32_t>(i), failed);
  cancelled.end_run();
  times.end_run();
}

void Scopes::Places::expect(std::uint32_t place) const noexcept {
  __builtin_prefetch(&counts[place], 1);
  __builtin_prefetch(handles->state(place), 1);
}

bool Scopes::Places::has_scope(std::uint32_t place) const noexcept {
  return counts[place].keeper.load(std::memory_order_seq_cst) != nullptr;
}

void Scopes::Places::sweep(std::uint32_t place, std::exception_ptr const& error) noexcept {
  if (!has_scope(place)) return;  // K3
  StageThread const m;
  Word<std::uint64_t>& outstanding = counts[place].outstanding;
  std::uint64_t seen = m.load(outstanding, MemoryOrder::relaxed);
  if (seen != 0 && error) fail(place, error);
  while (seen != 0 && !m.compare_exchange(outstanding, seen, seen & hold, MemoryOrder::acq_rel)) {  // K2
  }
  if (seen != 0 && (seen & hold) == 0) end(place);
}

}  // namespace hiway
