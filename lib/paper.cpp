// The service behind the paper's interface: one pipeline, the ends of its tunnels by number, and its start and end.
#include "hiway/paper.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "pipeline_access.hpp"

namespace HiWayLib {
namespace {

using Access = hiway::PipelineAccess;

struct Known {
  hiway::TunnelBase* tunnel = nullptr;
  std::uint64_t type = 0;
  hiway::InletView (*open_inlet)(hiway::TunnelBase&) = nullptr;
  hiway::OutletView (*open_outlet)(hiway::TunnelBase&) = nullptr;
};

/// no pipeline, or one that takes tunnels --setupService--> running --shutdownService--> over --pipeline()--> new
/// A service that is over is kept until there is a new one: the user's threads may still ask whether it has ended.
enum class State { taking, running, over };

struct Service {
  std::atomic<State> state{State::taking};  ///< the user's threads read it while shutdownService runs
  std::unique_ptr<hiway::Pipeline> pipeline;
  std::vector<Known> known;  ///< by number; tunnels made directly with pipeline() leave an empty entry
  std::vector<detail::Ends> host_ends;
  detail::Table host;

  void clear() {
    pipeline.reset();
    known.clear();
    host_ends.clear();
    state = State::taking;
  }
};

Service& service() {
  static Service the_service;
  return the_service;
}

Known const* find_known(int id) {
  auto const& known = service().known;
  bool const there = id >= 0 && static_cast<std::size_t>(id) < known.size();
  return there && known[static_cast<std::size_t>(id)].tunnel != nullptr ? &known[static_cast<std::size_t>(id)]
                                                                        : nullptr;
}

/// Builds a table for each home, in memory there: the `ends` of all tunnels.
void build_tables() {
  Service& s = service();
  hiway::Pipeline& pipe = *s.pipeline;
  std::size_t const count = pipe.tunnel_count();
  s.known.resize(count);
  s.host_ends.assign(count, {});
  std::vector<detail::Ends> device_ends(count);
  for (std::size_t id = 0; id < count; ++id) {
    Known const& k = s.known[id];
    if (k.tunnel == nullptr) continue;
    s.host_ends[id].type = device_ends[id].type = k.type;
    if (!Access::has_writer(pipe, *k.tunnel))
      (k.tunnel->from_gpu() ? device_ends : s.host_ends)[id].inlet = k.open_inlet(*k.tunnel);
    if (!Access::has_reader(pipe, *k.tunnel))
      (k.tunnel->to_gpu() ? device_ends : s.host_ends)[id].outlet = k.open_outlet(*k.tunnel);
  }
  s.host = {s.host_ends.data(), static_cast<int>(count), Access::whole_run_h(pipe)};
  auto& ends = pipe.create_buffer<detail::Ends>(std::span<detail::Ends const>(device_ends));
  detail::Table const table{ends.view().data, static_cast<int>(count), Access::whole_run_d(pipe)};
  auto& placed = pipe.create_buffer<detail::Table>(std::span<detail::Table const>(&table, 1));
  Access::set_device_table(pipe, placed.view().data);
}

}  // namespace

hiway::Pipeline& pipeline() {
  Service& s = service();
  if (s.state == State::over) s.clear();
  if (!s.pipeline) s.pipeline = std::make_unique<hiway::Pipeline>();
  return *s.pipeline;
}

void setupService() {
  Service& s = service();
  if (s.state == State::running) throw hiway::ConfigError("HiWayLib::setupService: the service runs already");
  hiway::Pipeline& pipe = pipeline();
  build_tables();
  pipe.start();
  s.state = State::running;
}

void shutdownService() {
  Service& s = service();
  if (s.state == State::taking) s.clear();
  if (s.state != State::running) return;
  s.state = State::over;
  bool const by_itself = s.pipeline->wait_for(std::chrono::nanoseconds(0));
  if (!by_itself) s.pipeline->abort();
  try {
    s.pipeline->wait();
  } catch (hiway::Aborted const&) {
    if (by_itself) throw;
  }
}

namespace detail {

int add(hiway::TunnelBase& tunnel, std::uint64_t type, hiway::InletView (*open_inlet)(hiway::TunnelBase&),
        hiway::OutletView (*open_outlet)(hiway::TunnelBase&)) {
  auto& known = service().known;
  if (known.size() <= tunnel.id()) known.resize(tunnel.id() + std::size_t{1});
  known[tunnel.id()] = {&tunnel, type, open_inlet, open_outlet};
  return static_cast<int>(tunnel.id());
}

hiway::TunnelBase& tunnel(int id, std::uint64_t type) {
  Known const* const known = find_known(id);
  if (known == nullptr) throw hiway::MisuseError("HiWayLib: there is no tunnel " + std::to_string(id));
  if (known->type != type)
    throw hiway::MisuseError("HiWayLib: the item is not of the type of tunnel " + std::to_string(id));
  return *known->tunnel;
}

Table const& host_table() {
  Service const& s = service();
  if (s.state == State::taking)
    throw hiway::ConfigError("HiWayLib: the service does not run: setupService() comes first");
  return s.host;
}

void refuse_h(hiway::FaultKind fault, int id) {
  hiway::record_fault(hiway::ThreadMachine{}, *service().host.whole.control, fault, hiway::no_id,
                      static_cast<std::uint32_t>(id), 0);
  throw hiway::MisuseError(std::string("HiWayLib: tunnel ") + std::to_string(id) + ": " + hiway::fault_text(fault));
}

}  // namespace detail
}  // namespace HiWayLib
