#include "hiway/scope/scopes.hpp"

#include <utility>

#include "handles.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/time_left.hpp"
#include "hiway/scope/host.hpp"
#include "lib/pipeline/homes.hpp"
#include "lib/pipeline/placed_tunnel.hpp"
#include "places.hpp"

namespace hiway {

namespace {

/// A stage that waits would keep its run from ending.
void leave_if_stage_of(Control& run) {
  if (this_thread_context().run == &run) leave_if_aborted(StageThread{}, run);
}

}  // namespace

// ---- a scope's handles

Scope::Scope(Scope const& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) state_->copy();
}
Scope::~Scope() {
  if (state_ != nullptr) state_->drop();
}

void Scope::close_h() { state_->close(); }

void Scope::cancel() { state_->cancel(std::make_exception_ptr(ScopeCancelled("the scope has been cancelled"))); }

void Scope::set_deadline(Deadline deadline) { state_->places().handles->set_deadline(*state_, deadline); }

std::uint32_t Scope::index() const { return state_->place(); }

void Scope::wait() const {
  static_cast<void>(wait_at_most(for_ever));
  if (std::exception_ptr const& error = state_->error()) std::rethrow_exception(error);
}

bool Scope::wait_at_most(std::chrono::nanoseconds duration) const {
  detail::ScopeState const& state = *state_;
  TimeLeft time(duration);
  for (unsigned misses = 0; !state.has_ended(); ++misses) {
    leave_if_stage_of(*state.places().host.control);
    bool const heard = state.places().hear();
    if (heard ? !time.is_left() : !time.relax(misses)) return state.has_ended();
  }
  return true;
}

void Scope::call_then(std::function<void(std::exception_ptr)> f) const { state_->then(std::move(f)); }

std::uint64_t detail::word_from_outside(Scope const& scope, InletView const& inlet) {
  leave_if_aborted(StageThread{}, *inlet.control, inlet.tunnel);
  ScopeState& state = *scope.state_;
  Scopes::Places const& places = state.places();
  if (inlet.end->scopes != &places.host)
    throw Error("scopes '" + places.name + "': a put into a tunnel that has no scopes of this kind");
  std::uint64_t const value = value_from_outside(inlet.end->scope_road);
  if (!state.take(value))  // S4
    throw Error("scopes '" + places.name + "': a put for a scope that has been closed, or whose run has failed");
  return scope_word(state.place(), value);
}

void detail::take_back_from_outside(std::uint64_t word, InletView const& inlet) {
  give_back(StageThread{}, *inlet.end->scopes, scope_place(word), scope_value(word));
}

void detail::throw_failure_of_several() {
  throw MisuseError(
      "fail_scope or fail_task in the body of a batch stage with one_to_one or capture: it is not called for a batch "
      "of "
      "one scope");
}

// ---- scopes

Scopes::Scopes(std::string name, ScopesConfig config)
    : places_(std::make_unique<Places>(std::move(name), config, static_cast<ScopeEnds&>(*this))) {}
Scopes::~Scopes() = default;

std::string const& Scopes::name() const { return places_->name; }
std::size_t Scopes::most_open() const { return places_->most_open; }

std::optional<Scope> Scopes::try_open_h() {
  if (!places_->live.load(std::memory_order_acquire)) std::rethrow_exception(places_->refusal());
  detail::ScopeState* const state = places_->handles->try_open();
  if (state == nullptr) return std::nullopt;
  return Scope(*state);
}

Scope Scopes::open_h() {
  detail::PlaceWait wait(places_->times);
  for (unsigned misses = 0;; ++misses) {
    if (std::optional<Scope> opened = try_open_h()) return *std::move(opened);
    wait.miss();
    leave_if_aborted(StageThread{}, *places_->host.control);
    relax_thread(places_->hear() ? 0 : misses);
  }
}

void Scopes::end_scope(std::uint32_t place) noexcept { places_->end(place); }

void Scopes::fail_scope(std::uint32_t place, char const* message) noexcept {
  places_->fail(place, std::make_exception_ptr(ScopeFailed(message)));
}

void Scopes::note_task(std::uint32_t place, std::uint32_t stage) noexcept { places_->times.visits.note(place, stage); }

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
    mail->view.letters = host.place<TaggedSlot>(ScopeMail::slot_count);
    mail->view.texts = host.place<ScopeText>(ScopeMail::slot_count);
    mail->view.read = host.place<Word<std::uint64_t>>();
    mail->table = device.place<ScopeTable>();
    ScopeTable& image = device.image(mail->table);
    image.pots = device.place_zeros<ScopePot>(places.most_open, "scopes '" + places.name + "'");
    image.control = homes.control(home);
    image.mail = mail->view;
    places.cancelled.add(homes.backend(home).open_stream(), image.pots);
    places.mails.push_back(std::move(mail));
  }
}

void ScopesAccess::name_at(PlacedTunnel const& t, Homes& homes) {
  if (t.base->scopes() == nullptr) return;
  EndWords& put = homes.words(t.put.home).image(t.put.words);
  put.scopes = table(*t.base->scopes(), t.put.home);
  if (t.put.home != t.get.home) put.scope_road = t.get.home == at_host ? ScopeRoad::to_host : ScopeRoad::to_device;
  homes.words(t.get.home).image(t.get.words).scopes = table(*t.base->scopes(), t.get.home);
}

ScopeTable* ScopesAccess::table(Scopes& scopes, Home home) {
  if (home == at_host) return &scopes.places_->host;
  for (auto const& mail : scopes.places_->mails)
    if (mail->home == home) return mail->table;
  return nullptr;
}

}  // namespace hiway
