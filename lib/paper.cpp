// The services behind the paper's interface: of each its pipeline, the ends of its tunnels by number, its start and
// end.
#include "hiway/paper.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hiway/log.hpp"
#include "pipeline/check.hpp"
#include "pipeline_access.hpp"

namespace HiWayLib {
namespace {

using Access = hiway::PipelineAccess;

/// A tunnel as createTunnel was asked for it; made when it is needed.
struct Known {
  std::uint64_t type = 0;
  TunnelDirection direction{};
  hiway::TunnelConfig config{};
  detail::Maker make = nullptr;
  hiway::TunnelBase* tunnel = nullptr;
};

struct Connection {
  std::string name;
  std::vector<int> gets_from;
  std::vector<int> puts_into;
};

/// Tables in a device's memory, for all services there. Kernels may look for them at any time: they stay.
class DeviceTables {
 public:
  /// *Throws* NoDevice.
  explicit DeviceTables(std::string const& device)
      : keeper_({.device = device}), bytes_(keeper_.create_buffer<std::byte>(sizeof(detail::Tables))) {
    detail::Tables const none;
    bytes_.copy_in(std::as_bytes(std::span(&none, 1)));
  }
  /// Not while kernels of other services run.
  void set() { Access::set_device_table(keeper_, bytes_.view().data); }
  void put(int place, detail::Table const& table) {
    std::scoped_lock const lock(mutex_);
    bytes_.copy_in(std::as_bytes(std::span(&table, 1)), static_cast<std::size_t>(place) * sizeof table);
  }
  void put_only(std::uint32_t place) {
    hiway::Word<std::uint32_t> const only{place};
    std::scoped_lock const lock(mutex_);
    bytes_.copy_in(std::as_bytes(std::span(&only, 1)), offsetof(detail::Tables, only));
  }

 private:
  hiway::Pipeline keeper_;
  hiway::Buffer<std::byte>& bytes_;
  std::mutex mutex_;
};

/// no pipeline, or one that takes tunnels --setupService--> running --shutdownService--> over --pipeline()--> new
/// A service that is over is kept until there is a new one: the user's threads may still ask whether it has ended.
enum class State { taking, running, over };

}  // namespace

namespace detail {

/// The first three are read by threads that look for their service.
struct ServiceState {
  std::atomic<std::uint64_t> number{0};  ///< counts the services made; 0: nobody's
  std::atomic<std::uint64_t> owner{0};   ///< the thread that made it; of the program's own service none
  std::atomic<State> state{State::taking};
  int place = 0;
  hiway::PipelineConfig config{};
  std::unique_ptr<hiway::Pipeline> pipeline{};
  DeviceTables* on_device = nullptr;
  std::vector<Known> known{};  ///< by number
  std::vector<Connection> connections{};
  std::vector<Ends> host_ends{};
  Table host{};
  hiway::Buffer<hiway::Word<std::uint32_t>>* by_warps = nullptr;
};

}  // namespace detail

namespace {

using detail::Ends;
using detail::ServiceState;
using detail::Table;

/// All services that the process may have. Their states stay, as threads may look at them at any time.
struct Services {
  std::mutex mutex;
  std::array<ServiceState, detail::most_services> at{};
  std::uint64_t made = 0;
};
Services& services() {
  static Services all;
  return all;
}

/// Those of a process that was forked are its own. They are never destroyed.
DeviceTables& tables_on(std::string const& device) {
  static auto& all = *new std::map<std::pair<pid_t, std::string>, std::unique_ptr<DeviceTables>>;
  std::unique_ptr<DeviceTables>& there = all[{getpid(), device}];
  if (!there) there = std::make_unique<DeviceTables>(device);
  return *there;
}

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
  return *free;
}

ServiceState& programs_own() {
  static ServiceState& own = enter({}, 0);
  return own;
}

/// The last one that the calling thread has made, or null.
ServiceState* own_of_this_thread() {
  ServiceState* last = nullptr;
  for (ServiceState& s : services().at) {
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

void clear(ServiceState& s) {
  if (s.on_device != nullptr) s.on_device->put(s.place, {});
  s.on_device = nullptr;
  s.by_warps = nullptr;
  s.pipeline.reset();
  s.known.clear();
  s.connections.clear();
  s.host_ends.clear();
  s.host = {};
  s.state = State::taking;
}

hiway::Pipeline& pipeline_of(ServiceState& s) {
  if (s.state == State::over) clear(s);
  if (!s.pipeline) s.pipeline = std::make_unique<hiway::Pipeline>(s.config);
  return *s.pipeline;
}

int number_of(ServiceState const& s, std::size_t index) { return s.place << 16 | static_cast<int>(index); }

/// *Throws* MisuseError when the service has no such tunnel.
Known& find_known(ServiceState& s, int id) {
  auto const index = static_cast<std::size_t>(id & 0xffff);
  if (id < 0 || id >> 16 != s.place || index >= s.known.size())
    throw hiway::MisuseError("HiWayLib: there is no tunnel " + std::to_string(id));
  return s.known[index];
}

hiway::TunnelBase& made(ServiceState& s, int id) {
  Known& known = find_known(s, id);
  if (known.tunnel == nullptr)
    known.tunnel = &known.make(pipeline_of(s), "tunnel " + std::to_string(id), known.direction, known.config);
  return *known.tunnel;
}

/// What setupService() does, once.
class Setup {
 public:
  explicit Setup(ServiceState& s) : s_(s), pipe_(pipeline_of(s)) {}

  void run() {
    s_.host = {nullptr, 0, Access::whole_run_h(pipe_)};
    for (std::size_t i = 0; i < s_.known.size(); ++i) static_cast<void>(made(s_, number_of(s_, i)));
    for (Connection const& c : s_.connections)
      Access::connect(pipe_, c.name, tunnels(c.gets_from), tunnels(c.puts_into));
    open_ends();
    place_tables();
    pipe_.start();
  }

 private:
  [[nodiscard]] std::vector<hiway::TunnelBase*> tunnels(std::vector<int> const& ids) {
    std::vector<hiway::TunnelBase*> all;
    for (int const id : ids) all.push_back(&made(s_, id));
    return all;
  }
  /// Whether `ends` of some connection names the tunnel.
  [[nodiscard]] bool is_connected(std::size_t index, std::vector<int> Connection::*ends) const {
    return std::ranges::any_of(s_.connections, [&](Connection const& c) {
      return std::ranges::find(c.*ends, number_of(s_, index)) != (c.*ends).end();
    });
  }

  void open_ends() {
    s_.host_ends.assign(s_.known.size(), {});
    device_ends_ = s_.host_ends;
    for (std::size_t i = 0; i < s_.known.size(); ++i) {
      hiway::TunnelBase& t = *s_.known[i].tunnel;
      for (Ends* const at : {&s_.host_ends[i], &device_ends_[i]}) {
        at->type = s_.known[i].type;
        at->tunnel = t.id();
      }
      hiway::Grouping const asked = t.config().grouping;
      bool const in_blocks = asked == hiway::Grouping::block || asked == hiway::Grouping::block_scan;
      if (in_blocks) device_ends_[i].grouping = asked;
      if (!Access::has_writer(pipe_, t) || is_connected(i, &Connection::puts_into))
        (t.from_gpu() ? device_ends_ : s_.host_ends)[i].inlet = Access::open_inlet(pipe_, t);
      if (!Access::has_reader(pipe_, t) || is_connected(i, &Connection::gets_from))
        (t.to_gpu() ? device_ends_ : s_.host_ends)[i].outlet = Access::open_outlet(pipe_, t);
    }
  }

  /// A table for each home, in memory there.
  void place_tables() {
    auto const count = static_cast<int>(s_.known.size());
    s_.host.ends = s_.host_ends.data();
    s_.host.count = count;
    hiway::Word<std::uint32_t> const none{0};
    s_.by_warps = &pipe_.create_buffer<hiway::Word<std::uint32_t>>(std::span(&none, 1));
    auto& ends = pipe_.create_buffer<Ends>(std::span<Ends const>(device_ends_));
    Table const table{ends.view().data, count, Access::whole_run_d(pipe_), s_.by_warps->view().data};
    std::string const names = pipe_.device();
    DeviceTables& there = tables_on(names.substr(0, names.find(',')));
    bool const alone = !does_another_run(s_);
    there.put(s_.place, table);
    there.put_only(alone ? static_cast<std::uint32_t>(s_.place) : hiway::no_id);
    if (alone) there.set();
    s_.on_device = &there;
  }

  ServiceState& s_;
  hiway::Pipeline& pipe_;
  std::vector<Ends> device_ends_;
};

void set_up(ServiceState& s) {
  static std::mutex one_at_a_time;
  std::scoped_lock const lock(one_at_a_time);
  if (s.state == State::running) throw hiway::ConfigError("HiWayLib::setupService: the service runs already");
  try {
    Setup(s).run();
  } catch (...) {
    s.state = State::over;
    throw;
  }
  s.state = State::running;
}

/// Says which tunnel was to share claims in blocks, and did not.
void warn_of_grouping(ServiceState& s) {
  hiway::Word<std::uint32_t> by_warps{0};
  s.by_warps->copy_out(std::span(&by_warps, 1));
  if (by_warps.bits == 0) return;
  auto const of = std::ranges::find_if(s.known, [&](Known const& k) { return k.tunnel->id() == by_warps.bits - 1; });
  hiway::log(hiway::LogLevel::warning,
             "HiWayLib: '" + of->tunnel->name() +
                 "': warps of a block did not share claims: a kernel has not called enterKernel_d() first");
}

hiway::RunReport shut_down(ServiceState& s) {
  hiway::RunReport report;
  if (s.state == State::taking) clear(s);
  if (s.state != State::running) return report;
  s.state = State::over;
  // Of a run that has ended the monitors may not have left yet.
  bool const by_itself = hiway::ThreadMachine{}.load(*s.host.whole.stage_ended, hiway::Order::acquire) != 0 ||
                         s.pipeline->wait_for(std::chrono::nanoseconds(0));
  if (!by_itself) s.pipeline->abort();
  try {
    report = s.pipeline->wait();
  } catch (hiway::Aborted const&) {
    if (by_itself) throw;
  }
  warn_of_grouping(s);
  return report;
}

/// *Throws* ConfigError before setupService().
Table const& table_of(ServiceState const& s) {
  if (s.state == State::taking)
    throw hiway::ConfigError("HiWayLib: the service does not run: setupService() comes first");
  return s.host;
}

}  // namespace

hiway::Pipeline& pipeline() { return pipeline_of(current()); }
void setupService() { set_up(current()); }
void shutdownService() { static_cast<void>(shut_down(current())); }

void connect(std::string const& name, std::vector<int> const& gets_from, std::vector<int> const& puts_into) {
  ServiceState& s = current();
  if (s.state == State::running)
    throw hiway::ConfigError("HiWayLib::connect: '" + name + "': the service runs already");
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
void Service::setup() { set_up(*state_); }
hiway::RunReport Service::shutdown() { return shut_down(*state_); }

namespace detail {

int add(std::uint64_t type, std::size_t item_bytes, TunnelDirection direction, hiway::TunnelConfig const& config,
        Maker make) {
  ServiceState& s = current();
  if (s.state == State::running) throw hiway::ConfigError("HiWayLib::createTunnel: the service runs already");
  static_cast<void>(pipeline_of(s));
  int const id = number_of(s, s.known.size());
  hiway::check_config(hiway::TunnelBase("tunnel " + std::to_string(id), direction, config, item_bytes, 0));
  s.known.push_back({type, direction, config, make});
  return id;
}

hiway::TunnelBase& tunnel(int id, std::uint64_t type) {
  ServiceState& s = service_of(id);
  if (find_known(s, id).type != type)
    throw hiway::MisuseError("HiWayLib: the item is not of the type of tunnel " + std::to_string(id));
  return made(s, id);
}

Table const& host_table(int id) { return table_of(service_of(id)); }

/// Asked again and again by many threads: without a lock.
Table const& host_table() {
  if (ServiceState const* const own = own_of_this_thread()) return table_of(*own);
  ServiceState const* found = nullptr;  // the one that runs, or the last that is over
  for (ServiceState const& s : services().at) {
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
