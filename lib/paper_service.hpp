// One service behind the paper's interface: its pipeline, the ends of its tunnels by number, its start and end.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hiway/paper.hpp"

namespace HiWayLib::detail {

/// A tunnel as createTunnel was asked for it; made when it is needed.
struct Known {
  std::uint64_t type = 0;
  TunnelDirection direction{};
  bool is_batched = false;
  hiway::TunnelConfig config{};
  detail::Maker make = nullptr;
  detail::StencilMaker make_stencil = nullptr;  ///< of a stencil tunnel, else null
  StencilConfig stencil{};
  hiway::TunnelBase* tunnel = nullptr;
};

struct Connection {
  std::string name;
  std::vector<int> gets_from;
  std::vector<int> puts_into;
};

/// Tables in a device's memory, for all services there.
class DeviceTables;

/// no pipeline, or one that takes tunnels --setupService--> running --shutdownService--> over --pipeline()--> new
/// A service that is over is kept until there is a new one: the user's threads may still ask whether it has ended.
enum class State { taking, running, over };

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

void clear(ServiceState& s);
/// Made, if there is none; a service that is over begins anew.
[[nodiscard]] hiway::Pipeline& pipeline_of(ServiceState& s);
[[nodiscard]] std::string name_of(int id);
[[nodiscard]] int number_of(ServiceState const& s, std::size_t index);
/// *Throws* MisuseError when the service has no such tunnel.
[[nodiscard]] Known& find_known(ServiceState& s, int id);
/// The tunnel, which is made if it is not there. *Throws* MisuseError when the service has none of that number.
hiway::TunnelBase& made(ServiceState& s, int id);
/// Starts it. `alone`: no other service runs. *Throws* ConfigError.
void set_up(ServiceState& s, bool alone);
/// Ends it. *Throws* the run's first error.
hiway::RunReport shut_down(ServiceState& s);

}  // namespace HiWayLib::detail
