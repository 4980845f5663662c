#include "hiway/scope/scopes.hpp"

#include <utility>

#include "hiway/inlet/view.hpp"
#include "hiway/machine/time_left.hpp"
#include "hiway/scope/host.hpp"
#include "hiway/scope/mail.hpp"
#include "lib/pipeline/homes.hpp"
#include "places.hpp"

namespace hiway {
namespace {

/// As the error of a scope whose run has failed.
std::exception_ptr of_failed_run(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) {
    try {
      std::throw_with_nested(Aborted(std::string("the scope's run has failed: ") + e.what()));
    } catch (...) {
      return std::current_exception();
    }
  } catch (...) {
    return error;
  }
}

/// A stage that waits would keep its run from ending.
void leave_if_stage_of(Control& run) {
  if (this_thread_context().run == &run) leave_if_aborted(StageThread{}, run);
}

}  // namespace

// ---- places

Scopes::Places::Places(std::string named, ScopesConfig config, ScopeEnds& ends)
    : name(std::move(named)), most_open(config.most_open), free_places(config.most_open) {
  if (most_open == 0 || most_open > detail::most_scopes) {
    throw ConfigError("scopes '" + name + "': most_open must be from 1 to " + std::to_string(detail::most_scopes) +
                      ": " + std::to_string(most_open));
  }
  counts = std::make_unique<ScopeCount[]>(most_open);
  states = std::make_unique<std::atomic<detail::ScopeState*>[]>(most_open);
  for (std::size_t i = most_open; i-- > 0;) free_places.bounded_push(static_cast<std::uint32_t>(i));
  host.counts = counts.get();
  host.ends = &ends;
}

std::shared_ptr<detail::ScopeState> Scopes::Places::try_open() {
  std::uint32_t place = 0;
  if (!free_places.pop(place)) return nullptr;
  auto state = std::make_shared<detail::ScopeState>(place);
  state->self = state;
  StageThread{}.store(counts[place].outstanding, hold, Order::relaxed);
  states[place].store(state.get(), std::memory_order_seq_cst);
  // A run that ends now may not have seen it.
  if (!live.load(std::memory_order_seq_cst)) end(place, nullptr);
  return state;
}

void Scopes::Places::end(std::uint32_t place, std::exception_ptr const& error) noexcept {
  detail::ScopeState* const ended = states[place].exchange(nullptr, std::memory_order_acq_rel);
  if (ended == nullptr) return;
  std::shared_ptr<detail::ScopeState> const state = std::move(ended->self);
  std::vector<std::function<void(std::exception_ptr)>> thens;
  {
    std::scoped_lock const lock(state->mutex);
    if (!state->error) state->error = error;
    thens = std::move(state->thens);
    state->ended.store(true, std::memory_order_release);
  }
  for (auto const& then : thens) then(state->error);
  // Later than `ended`: a late handle must not count at a place that is taken again. Later than the calls: what the
  // program keeps for the place is the old scope's until then.
  free_places.bounded_push(place);
}

bool Scopes::Places::hear() noexcept {
  std::unique_lock const lock(reading, std::try_to_lock);
  if (!lock) return true;
  if (!live.load(std::memory_order_acquire)) return false;  // the words may be reset
  bool heard = false;
  for (auto const& mail : mails) {
    std::uint64_t const first = mail->read.load(std::memory_order_relaxed);
    std::uint64_t const n = detail::read_letters(
        StageThread{}, mail->slots, first, [&](std::uint32_t place, std::uint64_t value, char const* text) {
          if ((value & letter_of_failure) != 0) host.ends->fail_scope(place, text);
          detail::give_back(StageThread{}, host, place, value & ~letter_of_failure);
        });
    mail->read.store(first + n, std::memory_order_relaxed);
    heard = heard || n != 0;
  }
  return heard;
}

// ---- a scope's handles

bool detail::ScopeState::add(ScopeCount& count, std::uint64_t value) {
  std::scoped_lock const lock(mutex);
  if (closed || ended.load(std::memory_order_relaxed)) return false;
  StageThread{}.fetch_add(count.outstanding, value, Order::relaxed);
  return true;
}

bool detail::ScopeState::close(ScopeCount& count) {
  std::scoped_lock const lock(mutex);
  if (std::exchange(closed, true) || ended.load(std::memory_order_relaxed)) return false;
  std::uint64_t const before = StageThread{}.fetch_add(count.outstanding, 0 - Scopes::Places::hold, Order::acq_rel);
  return before == Scopes::Places::hold;
}

void detail::OpenScope::close() {
  if (state_->close(places_.counts[state_->place])) places_.end(state_->place, nullptr);
}

void Scope::close_h() { open_->close(); }

std::uint32_t Scope::index() const { return open_->state().place; }

void Scope::wait() const {
  static_cast<void>(wait_at_most(std::chrono::nanoseconds::max()));
  if (open_->state().error) std::rethrow_exception(open_->state().error);
}

bool Scope::wait_at_most(std::chrono::nanoseconds duration) const {
  detail::ScopeState const& state = open_->state();
  TimeLeft time(duration);
  for (unsigned misses = 0; !state.ended.load(std::memory_order_acquire); ++misses) {
    leave_if_stage_of(*open_->places().host.control);
    bool const heard = open_->places().hear();
    if (heard ? !time.is_left() : !time.relax(misses)) return state.ended.load(std::memory_order_acquire);
  }
  return true;
}

void Scope::call_then(std::function<void(std::exception_ptr)> f) const {
  detail::ScopeState& state = open_->state();
  {
    std::scoped_lock const lock(state.mutex);
    if (!state.ended.load(std::memory_order_relaxed)) {
      state.thens.push_back(std::move(f));
      return;
    }
  }
  f(state.error);
}

std::uint64_t detail::word_from_outside(Scope const& scope, InletView const& inlet) {
  OpenScope const& open = *scope.open_;
  if (inlet.scopes != &open.places().host)
    throw Error("scopes '" + open.places().name + "': a put into a tunnel that has no scopes of this kind");
  ScopeState& state = open.state();
  std::uint64_t const value = inlet.scope_road == ScopeRoad::to_device ? value_to_device : value_at_host;
  if (!state.add(open.places().counts[state.place], value))  // S4
    throw Error("scopes '" + open.places().name + "': a put for a scope that has been closed, or whose run has failed");
  return scope_word(state.place, value);
}

// ---- scopes

Scopes::Scopes(std::string name, ScopesConfig config)
    : places_(std::make_unique<Places>(std::move(name), config, static_cast<ScopeEnds&>(*this))) {}
Scopes::~Scopes() = default;

std::string const& Scopes::name() const { return places_->name; }
std::size_t Scopes::most_open() const { return places_->most_open; }

std::optional<Scope> Scopes::try_open_h() {
  if (!places_->live.load(std::memory_order_acquire))
    throw Aborted("scopes '" + places_->name + "': no run is under way, or it has failed");
  auto state = places_->try_open();
  if (state == nullptr) return std::nullopt;
  return Scope(std::make_shared<detail::OpenScope>(*places_, std::move(state)));
}

Scope Scopes::open_h() {
  for (unsigned misses = 0;; ++misses) {
    if (std::optional<Scope> opened = try_open_h()) return *std::move(opened);
    leave_if_aborted(StageThread{}, *places_->host.control);
    if (!places_->hear()) relax_thread(misses);
  }
}

void Scopes::end_scope(std::uint32_t place) noexcept { places_->end(place, nullptr); }

void Scopes::fail_scope(std::uint32_t place, char const* message) noexcept {
  detail::ScopeState* const state = places_->states[place].load(std::memory_order_acquire);
  if (state == nullptr) return;  // the run has ended meanwhile
  std::scoped_lock const lock(state->mutex);
  if (!state->error) state->error = std::make_exception_ptr(ScopeFailed(message));
}

// ---- for the pipeline

void ScopesAccess::place(Scopes& scopes, Homes& homes) {
  Scopes::Places& places = *scopes.places_;
  places.host.control = homes.control(at_host);
  for (Home const home : homes.device_homes()) {
    if (table(scopes, home) != nullptr) continue;
    Arena& device = homes.words(home);
    Arena& host = homes.words(at_host);
    auto mail = std::make_unique<Scopes::Places::Mail>();
    mail->home = home;
    mail->slots.slots = host.place<TaggedSlot>(ScopeMail::slot_count);
    mail->slots.texts = host.place<ScopeText>(ScopeMail::slot_count);
    mail->slots.read = host.place<Word<std::uint64_t>>();
    mail->table = device.place<ScopeTable>();
    ScopeTable& image = device.image(mail->table);
    image.pots = device.place_zeros<ScopePot>(places.most_open, "scopes '" + places.name + "'");
    image.control = homes.control(home);
    image.mail = mail->slots;
    places.mails.push_back(std::move(mail));
  }
}

ScopeTable* ScopesAccess::table(Scopes& scopes, Home home) {
  if (home == at_host) return &scopes.places_->host;
  for (auto const& mail : scopes.places_->mails)
    if (mail->home == home) return mail->table;
  return nullptr;
}

void ScopesAccess::begin_run(Scopes& scopes) noexcept {
  for (auto const& mail : scopes.places_->mails) mail->read.store(0, std::memory_order_relaxed);
  StageThread{}.fetch_add(scopes.places_->host.run, 1U, Order::relaxed);
  scopes.places_->live.store(true, std::memory_order_seq_cst);
}

void ScopesAccess::end_run(Scopes& scopes, std::exception_ptr const& error) noexcept {
  Scopes::Places& places = *scopes.places_;
  if (!error) {
    while (places.hear()) {
    }
  }
  {
    std::scoped_lock const no_reader(places.reading);  // letters say what happens to scopes that end below
    places.live.store(false, std::memory_order_seq_cst);
  }
  std::exception_ptr const failed = error ? of_failed_run(error) : nullptr;
  for (std::size_t i = 0; i < places.most_open; ++i) places.end(static_cast<std::uint32_t>(i), failed);
}

}  // namespace hiway
