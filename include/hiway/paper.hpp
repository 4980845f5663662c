// The paper's own interface (HiWayLib, ASPLOS'19): tunnels by number, on top of the same objects. Queues, waiting and
// the end check are the library's; this header only leads from a number to an Inlet or Outlet.
//
//   int results;                                             // host                     // device, in any kernel
//   createTunnel<float>(results, GPU_TO_CPU, true);          while (!isTerminate_h())     put_d(value, results);
//   setupService();                                            if (get_h(&x, results)) {  put_d(endFlag, results);
//   ... threads and kernels, as often as one likes ...           ...; endTask_h(results);
//   shutdownService();                                         }
//
// A program has one service. Its tunnels are hiway::Tunnels of pipeline(): stages may be added there before
// setupService(), and one tunnel may be used through both interfaces. An end to which no stage is connected is open to
// put_ and get_. Kernels need not be hiway's: every kernel of a unit that includes this header may call the _d
// functions while the service runs, because CUDA_MODULE_LOADING=EAGER, which hiway sets unless you set it, has loaded
// them all. A kernel that needs more local memory than any kernel before it waits for the service to end: launch it
// once before.
#pragma once
#include <cstdint>

#include "hiway/launch/device_table.hpp"
#include "hiway/pipeline.hpp"

namespace HiWayLib {

using TunnelDirection = hiway::Direction;
inline constexpr TunnelDirection CPU_TO_CPU = TunnelDirection::cpu_to_cpu;
inline constexpr TunnelDirection CPU_TO_GPU = TunnelDirection::cpu_to_gpu;
inline constexpr TunnelDirection GPU_TO_CPU = TunnelDirection::gpu_to_cpu;
inline constexpr TunnelDirection GPU_TO_GPU = TunnelDirection::gpu_to_gpu;

/// Put like an item, once per tunnel, after its last item: it closes the tunnel's open inlet. It has a type of its own,
/// so that every value of T is a legal item. The paper's programs define endFlag_d, of type T; here it is there.
struct EndFlag {
  constexpr explicit EndFlag(int) {}  // not made by {}: put_h<T>({}, id) puts an item
};
inline constexpr EndFlag endFlag{0};
inline constexpr EndFlag endFlag_h{0};
inline constexpr EndFlag endFlag_d{0};

/// The service's pipeline; made, on the device that HIWAY_RUN_ON names, if there is none.
[[nodiscard]] hiway::Pipeline& pipeline();

namespace detail {

/// The open ends of one tunnel at one home. An end without a control does not exist here, or belongs to a stage.
struct Ends {
  hiway::InletView inlet;
  hiway::OutletView outlet;
  std::uint64_t type = 0;  ///< hiway::item_type of the items
};
/// The open ends of all tunnels at one home.
struct Table {
  Ends const* ends = nullptr;
  int count = 0;
  hiway::OutletView whole;  ///< an outlet of no tunnel: it has ended when the whole pipeline has
};

/// Stores what setupService() needs to know of a tunnel; returns the tunnel's number.
int add(hiway::TunnelBase& tunnel, std::uint64_t type, hiway::InletView (*open_inlet)(hiway::TunnelBase&),
        hiway::OutletView (*open_outlet)(hiway::TunnelBase&));
/// *Throws* MisuseError when there is no tunnel `id` with items of this type.
[[nodiscard]] hiway::TunnelBase& tunnel(int id, std::uint64_t type);
/// The host's table. *Throws* ConfigError before setupService().
[[nodiscard]] Table const& host_table();

/// Records the fault, and *throws* MisuseError that says it.
[[noreturn]] void refuse_h(hiway::FaultKind fault, int id);
template <class Machine>
[[noreturn]] HIWAY_DEVICE inline void refuse(Machine m, Table const& table, hiway::FaultKind fault, int id) {
  hiway::raise(m, *table.whole.control, fault, hiway::no_id, static_cast<std::uint32_t>(id), 0);
}
HIWAY_NO_SPACE_CHECK [[noreturn]] HIWAY_DEVICE inline void refuse(hiway::StageThread, Table const&,
                                                                  hiway::FaultKind fault, int id) {
  refuse_h(fault, id);
}

/// The end `Ends::*end` of tunnel `id`. *Errors*: unknown_tunnel, wrong_type and wrong_end; each ends the run.
template <class Machine, class View>
HIWAY_DEVICE inline View const& find(Machine m, Table const& table, int id, std::uint64_t type, View Ends::*end) {
  using hiway::FaultKind;
  if (id < 0 || id >= table.count) refuse(m, table, FaultKind::unknown_tunnel, id);
  if (type != 0 && type != table.ends[id].type) refuse(m, table, FaultKind::wrong_type, id);
  if ((table.ends[id].*end).control == nullptr) refuse(m, table, FaultKind::wrong_end, id);
  return table.ends[id].*end;
}

HIWAY_DEVICE inline Table const& device_table() {
  auto const* const table = static_cast<Table const*>(hiway::device_table());
  if (table == nullptr) hiway::fail_d("HiWayLib: the service does not run: setupService() comes first");
  return *table;
}

/// Returns what `call` returns, or zero of that type if the run has failed or aborts meanwhile; a put then does
/// nothing. The user's threads never see Unwind; shutdownService() throws the reason.
template <class Call>
auto unless_aborted(Call&& call) {
  try {
    return call();
  } catch (hiway::Unwind const&) {
    return decltype(call())();
  }
}

/// Stands for the item type in calls that carry no item.
using Any = unsigned char;

template <class T>
hiway::Inlet<T> inlet_h(int id, std::uint64_t type) {
  return hiway::on_this_thread([&](auto m) { return hiway::Inlet<T>(find(m, host_table(), id, type, &Ends::inlet)); });
}
template <class T>
HIWAY_DEVICE inline hiway::Inlet<T> inlet_d(int id, std::uint64_t type) {
  return hiway::on_this_device(
      [&](auto m) { return hiway::Inlet<T>(find(m, device_table(), id, type, &Ends::inlet)); });
}
template <class T>
hiway::Outlet<T> outlet_h(int id, std::uint64_t type) {
  return hiway::on_this_thread(
      [&](auto m) { return hiway::Outlet<T>(find(m, host_table(), id, type, &Ends::outlet)); });
}
template <class T>
HIWAY_DEVICE inline hiway::Outlet<T> outlet_d(int id, std::uint64_t type) {
  return hiway::on_this_device(
      [&](auto m) { return hiway::Outlet<T>(find(m, device_table(), id, type, &Ends::outlet)); });
}

}  // namespace detail

/// Makes a tunnel and stores its number in `id`. `isBatched`: items cross the bus in batches by DMA, else through
/// unified memory. *Throws* ConfigError, also when called while the service runs.
template <class T>
void createTunnel(int& id, TunnelDirection direction, bool isBatched, hiway::TunnelConfig config = {}) {
  config.movement = isBatched ? hiway::Movement::dma : hiway::Movement::managed;
  auto& made = pipeline().create_tunnel<T>("tunnel " + std::to_string(pipeline().tunnel_count()), direction, config);
  id = detail::add(
      made, hiway::item_type<T>,
      [](hiway::TunnelBase& t) { return static_cast<hiway::Tunnel<T>&>(t).open_inlet().view(); },
      [](hiway::TunnelBase& t) { return static_cast<hiway::Tunnel<T>&>(t).open_outlet().view(); });
}

/// The tunnel with number `id`, for stages of pipeline(). *Throws* MisuseError when its items are not of type T.
template <class T>
[[nodiscard]] hiway::Tunnel<T>& tunnel(int id) {
  return static_cast<hiway::Tunnel<T>&>(detail::tunnel(id, hiway::item_type<T>));
}

/// Opens the ends to which no stage is connected, starts monitors and stages, and returns. They stop by themselves when
/// every tunnel has ended. *Throws* ConfigError.
void setupService();
/// Ends the service: aborts it unless it has ended by itself. The next service needs new tunnels.
/// *Throws* the run's first error.
void shutdownService();

/// Puts `item` into tunnel `id`; waits for room.
template <class T>
void put_h(T item, int id) {
  detail::unless_aborted([&] { detail::inlet_h<T>(id, hiway::item_type<T>).put_h(item); });
}
template <class T>
HIWAY_DEVICE void put_d(T item, int id) {
  detail::inlet_d<T>(id, hiway::item_type<T>).put_d(item);
}
inline void put_h(EndFlag, int id) {
  detail::unless_aborted([&] { detail::inlet_h<detail::Any>(id, 0).close_h(); });
}
HIWAY_DEVICE inline void put_d(EndFlag, int id) { detail::inlet_d<detail::Any>(id, 0).close_d(); }
template <class T>
void put_h(EndFlag, int id) {
  detail::unless_aborted([&] { detail::inlet_h<T>(id, hiway::item_type<T>).close_h(); });
}
template <class T>
HIWAY_DEVICE void put_d(EndFlag, int id) {
  detail::inlet_d<T>(id, hiway::item_type<T>).close_d();
}

/// Gets an item from tunnel `id`; false if there is none.
template <class T>
[[nodiscard]] bool get_h(T* item, int id) {
  return detail::unless_aborted([&] { return detail::outlet_h<T>(id, hiway::item_type<T>).get_h(*item); });
}
template <class T>
[[nodiscard]] HIWAY_DEVICE bool get_d(T* item, int id) {
  return detail::outlet_d<T>(id, hiway::item_type<T>).get_d(*item);
}

/// Ends the task of one item got from tunnel `id`.
inline void endTask_h(int id) {
  detail::unless_aborted([&] { detail::outlet_h<detail::Any>(id, 0).end_task_h(); });
}
HIWAY_DEVICE inline void endTask_d(int id) { detail::outlet_d<detail::Any>(id, 0).end_task_d(); }

/// True when the whole pipeline has ended, or aborts. (The paper's figures use it in this sense, its text says the
/// opposite.)
[[nodiscard]] inline bool isTerminate_h() {
  return !detail::unless_aborted(
      [] { return !hiway::Outlet<detail::Any>(detail::host_table().whole).is_terminate_h(); });
}
[[nodiscard]] HIWAY_DEVICE inline bool isTerminate_d() {
  return hiway::Outlet<detail::Any>(detail::device_table().whole).is_terminate_d();
}

}  // namespace HiWayLib
