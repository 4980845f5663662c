#include "paper_service.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "hiway/log.hpp"
#include "pipeline_access.hpp"

namespace HiWayLib::detail {

using Access = hiway::PipelineAccess;

/// Kernels may look for them at any time: they stay.
class DeviceTables {
 public:
  /// *Throws* NoDevice.
  explicit DeviceTables(std::string const& device)
      : keeper_({.device = device}), bytes_(keeper_.create_buffer<std::byte>(sizeof(Tables))) {
    Tables const none;
    bytes_.copy_in(std::as_bytes(std::span(&none, 1)));
  }
  /// Not while kernels of other services run.
  void set() { Access::set_device_table(keeper_, bytes_.view().data); }
  void put(int place, Table const& table) {
    std::scoped_lock const lock(mutex_);
    bytes_.copy_in(std::as_bytes(std::span(&table, 1)), static_cast<std::size_t>(place) * sizeof table);
  }
  void put_only(std::uint32_t place) {
    hiway::Word<std::uint32_t> const only{place};
    std::scoped_lock const lock(mutex_);
    bytes_.copy_in(std::as_bytes(std::span(&only, 1)), offsetof(Tables, only));
  }

 private:
  hiway::Pipeline keeper_;
  hiway::Buffer<std::byte>& bytes_;
  std::mutex mutex_;
};

namespace {

/// Those of a process that was forked are its own. They are never destroyed.
DeviceTables& tables_on(std::string const& device) {
  static auto& all = *new std::map<std::pair<pid_t, std::string>, std::unique_ptr<DeviceTables>>;
  std::unique_ptr<DeviceTables>& there = all[{getpid(), device}];
  if (!there) there = std::make_unique<DeviceTables>(device);
  return *there;
}

}  // namespace

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

Known& find_known(ServiceState& s, int id) {
  auto const index = static_cast<std::size_t>(id & 0xffff);
  if (id < 0 || id >> 16 != s.place || index >= s.known.size())
    throw hiway::MisuseError("HiWayLib: there is no tunnel " + std::to_string(id));
  return s.known[index];
}

std::string name_of(int id) { return "tunnel " + std::to_string(id); }

hiway::TunnelBase& made(ServiceState& s, int id) {
  Known& known = find_known(s, id);
  if (known.tunnel != nullptr) return *known.tunnel;
  hiway::Pipeline& pipe = pipeline_of(s);
  std::string const name = name_of(id);
  if (known.make_stencil == nullptr) {
    known.tunnel = &known.make(pipe, name, known.direction, known.config);
  } else {
    auto stencil = known.make_stencil(name, known.direction, known.stencil, pipe.tunnel_count());
    known.tunnel = stencil.get();
    Access::add_stencil(pipe, std::move(stencil));
  }
  return *known.tunnel;
}

namespace {

/// What setupService() does, once.
class Setup {
 public:
  Setup(ServiceState& s, bool alone) : s_(s), alone_(alone), pipe_(pipeline_of(s)) {}

  void run() {
    s_.host = {nullptr, 0, Access::whole_run_h(pipe_)};
    for (std::size_t i = 0; i < s_.known.size(); ++i) static_cast<void>(made(s_, number_of(s_, i)));
    for (Connection const& c : s_.connections) connect(c);
    connect_stencils();
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
  /// A worker that gets from a stencil tunnel gets its tasks, too, and puts those that its regions bring.
  void connect(Connection const& c) {
    std::vector<hiway::TunnelBase*> from = tunnels(c.gets_from);
    std::vector<hiway::TunnelBase*> into = tunnels(c.puts_into);
    for (int const id : c.gets_from) {
      hiway::TunnelBase* const tasks = made(s_, id).tasks();
      if (tasks == nullptr) continue;
      from.push_back(tasks);
      into.push_back(tasks);
    }
    Access::connect(pipe_, c.name, from, into);
  }
  void connect_stencils() {
    for (std::size_t i = 0; i < s_.known.size(); ++i) {
      hiway::TunnelBase const& t = *s_.known[i].tunnel;
      if (t.tasks() == nullptr || is_connected(i, &Connection::gets_from) || Access::has_reader(pipe_, t)) continue;
      connect({"readers of " + t.name(), {number_of(s_, i)}, {}});
    }
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
      if (!Access::has_reader(pipe_, t) || is_connected(i, &Connection::gets_from)) open_outlet(i);
    }
  }
  void open_outlet(std::size_t i) {
    hiway::TunnelBase& t = *s_.known[i].tunnel;
    std::vector<Ends>& ends = t.to_gpu() ? device_ends_ : s_.host_ends;
    ends[i].outlet = Access::open_outlet(pipe_, t);
    if (t.tasks() == nullptr) return;
    ends[i].tasks = static_cast<int>(ends.size());
    ends.push_back({.inlet = Access::open_inlet(pipe_, *t.tasks()), .outlet = Access::open_outlet(pipe_, *t.tasks())});
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
    there.put(s_.place, table);
    there.put_only(alone_ ? static_cast<std::uint32_t>(s_.place) : hiway::no_id);
    if (alone_) there.set();
    s_.on_device = &there;
  }

  ServiceState& s_;
  bool alone_;
  hiway::Pipeline& pipe_;
  std::vector<Ends> device_ends_;
};

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

}  // namespace

void set_up(ServiceState& s, bool alone) {
  if (s.state == State::running) throw hiway::ConfigError("HiWayLib::setupService: the service runs already");
  try {
    Setup(s, alone).run();
  } catch (...) {
    s.state = State::over;
    throw;
  }
  s.state = State::running;
}

hiway::RunReport shut_down(ServiceState& s) {
  hiway::RunReport report;
  if (s.state == State::taking) clear(s);
  if (s.state != State::running) return report;
  s.state = State::over;
  // Of a run that has ended the monitors may not have left yet.
  bool const by_itself = hiway::ThreadMachine{}.load(*s.host.whole.stage_ended, hiway::MemoryOrder::acquire) != 0 ||
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
}  // namespace HiWayLib::detail
