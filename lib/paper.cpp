// The paper's interface: which service is meant, and what is asked of it by number.
#include "hiway/paper.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "paper_service.hpp"
#include "pipeline/check.hpp"

namespace HiWayLib {
namespace {

using detail::Known;
using detail::ServiceState;
using detail::State;
using detail::Table;

/// All services that the process may have. Their states stay, as threads may look at them at any time.
struct Services {
  std::mutex mutex;
  std::array<ServiceState, detail::most_services> at{};
  std::atomic<std::size_t> used{0};  ///< no service was ever at this place, or at a higher one
  std::uint64_t made = 0;
};
Services& services() {
  static Services all;
  return all;
}

std::span<ServiceState> used_places() { return std::span(services().at).first(services().used); }

/// Never that of another thread, as an id may be.
std::uint64_t number_of_this_thread() {
  static std::atomic<std::uint64_t> given{0};
  thread_local std::uint64_t const own = ++given;
  return own;
}

/// *Throws* ConfigError if there are too many.
ServiceState& enter(hiway::PipelineConfig config, std::uint64_t owner) {
  Services& all = services();
  std::scoped_lock const lock(all.mutex);
  auto const free = std::ranges::find_if(all.at, [](ServiceState const& s) { return s.number == 0; });
  if (free == all.at.end())
    throw hiway::ConfigError("HiWayLib: there are " + std::to_string(detail::most_services) + " services already");
  free->place = static_cast<int>(free - all.at.begin());
  free->config = std::move(config);
  free->owner = owner;
  free->number = ++all.made;
  all.used = std::max<std::size_t>(all.used, static_cast<std::size_t>(free->place) + 1);
  return *free;
}

ServiceState& programs_own() {
  static ServiceState& own = enter({}, 0);
  return own;
}

/// The last one that the calling thread has made, or null.
ServiceState* own_of_this_thread() {
  ServiceState* last = nullptr;
  for (ServiceState& s : used_places()) {
    if (s.number != 0 && s.owner == number_of_this_thread() && (last == nullptr || s.number > last->number)) last = &s;
  }
  return last;
}
ServiceState& current() {
  ServiceState* const own = own_of_this_thread();
  return own != nullptr ? *own : programs_own();
}

/// The service of the tunnel, or the current one if there is none.
ServiceState& service_of(int id) {
  int const place = id >> 16;
  bool const is_there = place >= 0 && place < detail::most_services;
  ServiceState* const s = is_there ? &services().at[static_cast<std::size_t>(place)] : nullptr;
  return s != nullptr && s->number != 0 ? *s : current();
}

bool does_another_run(ServiceState const& s) {
  return std::ranges::any_of(services().at,
                             [&](ServiceState const& other) { return &other != &s && other.state == State::running; });
}

/// One after another.
void set_up_next(ServiceState& s) {
  static std::mutex one_at_a_time;
  std::scoped_lock const lock(one_at_a_time);
  set_up(s, !does_another_run(s));
}

/// *Throws* ConfigError before setupService().
Table const& table_of(ServiceState const& s) {
  if (s.state == State::taking)
    throw hiway::ConfigError("HiWayLib: the service does not run: setupService() comes first");
  return s.host;
}

}  // namespace

hiway::Pipeline& pipeline() { return detail::pipeline_of(current()); }
void setupService() { set_up_next(current()); }
void shutdownService() { static_cast<void>(detail::shut_down(current())); }

void connect(std::string const& name, std::vector<int> const& gets_from, std::vector<int> const& puts_into) {
  ServiceState& s = current();
  if (s.state == State::running)
    throw hiway::ConfigError("HiWayLib::connect: '" + name + "': the service runs already");
  static_cast<void>(pipeline_of(s));  // of a service that is over nothing is known any more
  if (gets_from.empty() && puts_into.empty())
    throw hiway::ConfigError("HiWayLib::connect: '" + name + "' gets from no tunnel and puts into none");
  for (auto const* const ids : {&gets_from, &puts_into}) {
    for (int const id : *ids) static_cast<void>(find_known(s, id));
  }
  s.connections.push_back({name, gets_from, puts_into});
}

Service::Service(hiway::PipelineConfig config) : state_(&enter(std::move(config), number_of_this_thread())) {}
Service::~Service() {
  try {
    static_cast<void>(shut_down(*state_));
  } catch (std::exception const&) {  // shutdown() would have said it
  }
  try {
    clear(*state_);
  } catch (std::exception const&) {  // the device is lost; no kernel looks there any more
  }
  state_->number = 0;
}
hiway::Pipeline& Service::pipeline() { return pipeline_of(*state_); }
void Service::setup() { set_up_next(*state_); }
hiway::RunReport Service::shutdown() { return shut_down(*state_); }

namespace detail {

int add(std::uint64_t type, std::size_t item_bytes, TunnelDirection direction, bool is_batched,
        hiway::TunnelConfig const& config, Maker make) {
  ServiceState& s = current();
  if (s.state == State::running) throw hiway::ConfigError("HiWayLib::createTunnel: the service runs already");
  static_cast<void>(pipeline_of(s));
  if (s.known.size() == 65536) throw hiway::ConfigError("HiWayLib: a pipeline has at most 65536 tunnels");
  int const id = number_of(s, s.known.size());
  hiway::check_config(hiway::TunnelBase(name_of(id), direction, config, item_bytes, 0));
  s.known.push_back({type, direction, is_batched, config, make});
  return id;
}

hiway::TunnelBase& tunnel(int id, std::uint64_t type) {
  ServiceState& s = service_of(id);
  if (find_known(s, id).type != type)
    throw hiway::MisuseError("HiWayLib: the item is not of the type of tunnel " + std::to_string(id));
  return made(s, id);
}

void config_stencil(int id, std::uint64_t item_type, StencilConfig const& config, StencilMaker make) {
  ServiceState& s = service_of(id);
  Known& known = find_known(s, id);
  std::string const title = "HiWayLib::configStencilTunnel: " + name_of(id);
  if (known.type != item_type) throw hiway::MisuseError(title + ": it was created for another type");
  if (known.tunnel != nullptr) throw hiway::ConfigError(title + " is in use already");
  if (config.frames != 1) throw hiway::ConfigError(title + ": by number it has one frame");
  known.stencil = config;
  if (known.is_batched && config.movement == StencilConfig{}.movement) known.stencil.movement = known.config.movement;
  static_cast<void>(make(name_of(id), known.direction, known.stencil, 0));  // what it refuses is said here
  known.type = ~item_type;
  known.make_stencil = make;
}

Table const& host_table(int id) { return table_of(service_of(id)); }

/// Asked again and again by many threads: without a lock.
Table const& host_table() {
  if (ServiceState const* const own = own_of_this_thread()) return table_of(*own);
  ServiceState const* found = nullptr;  // the one that runs, or the last that is over
  for (ServiceState const& s : used_places()) {
    State const state = s.state;
    if (s.number == 0 || state == State::taking) continue;
    bool const runs = found != nullptr && found->state == State::running;
    if (runs && state == State::running)
      throw hiway::MisuseError("HiWayLib: several services run: give isTerminate the number of a tunnel");
    if (found == nullptr || state == State::running || (!runs && s.number > found->number)) found = &s;
  }
  return table_of(found != nullptr ? *found : programs_own());
}

void refuse_h(hiway::FaultKind fault, int id) {
  ServiceState& s = service_of(id);
  auto const index = static_cast<std::size_t>(id & 0xffff);
  bool const is_there = id >= 0 && id >> 16 == s.place && index < s.known.size();
  hiway::record_fault(hiway::ThreadMachine{}, *s.host.whole.control, fault, hiway::no_id,
                      is_there ? s.host_ends[index].tunnel : hiway::no_id, 0);
  throw hiway::MisuseError(std::string("HiWayLib: tunnel ") + std::to_string(id) + ": " + hiway::fault_text(fault));
}

}  // namespace detail
}  // namespace HiWayLib
