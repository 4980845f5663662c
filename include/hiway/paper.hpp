// The paper's own interface (HiWayLib, ASPLOS'19): tunnels by number, on top of the same objects. Queues, waiting and
// the end check are the library's; this header only leads from a number to an Inlet or Outlet.
//
//   int results;                                             // host                     // device, in any kernel
//   createTunnel<float>(results, GPU_TO_CPU, true);          while (!isTerminate_h())     put_d(value, results);
//   setupService();                                            if (get_h(&x, results)) {  put_d(endFlag, results);
//   ... threads and kernels, as often as one likes ...           ...; endTask_h(results);
//   shutdownService();                                         }
//
// A program has one service, or makes further ones (Service). Its tunnels are hiway::Tunnels of pipeline(): stages may
// be added there before setupService(), and one tunnel may be used through both interfaces. An end to which no stage is
// connected is open to put_ and get_. Each tunnel then needs an end flag, unless connect() says who reads and writes
// it. Kernels need not be hiway's: every kernel of a unit that includes this header may call the _d functions while the
// service runs, because CUDA_MODULE_LOADING=EAGER, which hiway sets unless you set it, has loaded them all. A kernel
// that needs more local memory than any kernel before it waits for the service to end: launch it once before.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hiway/launch/block_entry.hpp"
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

/// The pipeline of the calling thread's service; made, if there is none.
[[nodiscard]] hiway::Pipeline& pipeline();

namespace detail {

struct ServiceState;

/// Services of a process at once. A tunnel's number has its service's place in the upper half, its own in the lower.
inline constexpr int most_services = 16;

/// The open ends of one tunnel at one home. An end without a control does not exist here, or belongs to a stage.
struct Ends {
  hiway::InletView inlet;
  hiway::OutletView outlet;
  std::uint64_t type = 0;                            ///< hiway::item_type of the items
  std::uint32_t tunnel = hiway::no_id;               ///< its number in the pipeline
  hiway::Grouping grouping = hiway::Grouping::warp;  ///< as asked for
};
/// The open ends of a service's tunnels at one home.
struct Table {
  Ends const* ends = nullptr;
  int count = 0;
  hiway::OutletView whole;                         ///< an outlet of no tunnel: it has ended when the whole pipeline has
  hiway::Word<std::uint32_t>* by_warps = nullptr;  ///< a tunnel of which blocks could not share claims, and 1; or 0
};
/// Those of all services, on a device.
struct Tables {
  Table of[most_services];
  hiway::Word<std::uint32_t> only{hiway::no_id};  ///< the place of the one service that runs; no_id: there are several
};

/// What makes a tunnel.
using Maker = hiway::TunnelBase& (*)(hiway::Pipeline&, std::string const&, TunnelDirection, hiway::TunnelConfig const&);

/// Stores what setupService() needs to know of a tunnel; returns its number.
int add(std::uint64_t type, std::size_t item_bytes, TunnelDirection direction, hiway::TunnelConfig const& config,
        Maker make);
/// The tunnel, which is made if it is not there. *Throws* MisuseError when there is no tunnel `id` with such items.
[[nodiscard]] hiway::TunnelBase& tunnel(int id, std::uint64_t type);
/// The host's table of the tunnel's service. *Throws* ConfigError before setupService().
[[nodiscard]] Table const& host_table(int id);
/// The same of the one service that runs, or of the calling thread's own. *Throws* MisuseError if there are several.
[[nodiscard]] Table const& host_table();

/// Records the fault, and *throws* MisuseError that says it.
[[noreturn]] void refuse_h(hiway::FaultKind fault, int id);
template <class Machine>
[[noreturn]] HIWAY_DEVICE inline void refuse(Machine m, Table const& table, hiway::FaultKind fault, int id) {
  int const index = id & 0xffff;
  auto const tunnel = index < table.count ? table.ends[index].tunnel : hiway::no_id;
  hiway::raise(m, *table.whole.control, fault, hiway::no_id, tunnel, 0);
}
HIWAY_NO_SPACE_CHECK [[noreturn]] HIWAY_DEVICE inline void refuse(hiway::StageThread, Table const&,
                                                                  hiway::FaultKind fault, int id) {
  refuse_h(fault, id);
}

/// The ends of tunnel `id`, of which `Ends::*end` is there. *Errors*: unknown_tunnel, wrong_type and wrong_end; each
/// ends the run.
template <class Machine, class View>
HIWAY_DEVICE inline Ends const& find(Machine m, Table const& table, int id, std::uint64_t type, View Ends::*end) {
  using hiway::FaultKind;
  int const index = id & 0xffff;
  if (id < 0 || index >= table.count) refuse(m, table, FaultKind::unknown_tunnel, id);
  if (type != 0 && type != table.ends[index].type) refuse(m, table, FaultKind::wrong_type, id);
  if ((table.ends[index].*end).control == nullptr) refuse(m, table, FaultKind::wrong_end, id);
  return table.ends[index];
}

HIWAY_DEVICE inline Tables& device_tables() {
  auto* const tables = static_cast<Tables*>(const_cast<void*>(hiway::device_table()));
  if (tables == nullptr) hiway::fail_d("HiWayLib: the service does not run: setupService() comes first");
  return *tables;
}
/// The table of the service at `place`; of another one, which then has the fault, if none is there.
HIWAY_DEVICE inline Table const& device_table_at(int place) {
  Tables const& tables = device_tables();
  if (place >= 0 && place < most_services && tables.of[place].whole.control != nullptr) return tables.of[place];
  for (Table const& other : tables.of) {
    if (other.whole.control != nullptr) return other;
  }
  hiway::fail_d("HiWayLib: the service does not run: setupService() comes first");
}
template <class Machine>
HIWAY_DEVICE inline Table const& only_device_table(Machine m) {
  std::uint32_t const only = m.load(device_tables().only, hiway::Order::relaxed);
  Table const& table = device_table_at(only == hiway::no_id ? 0 : static_cast<int>(only));
  if (only == hiway::no_id) {
    hiway::raise(m, *table.whole.control, hiway::FaultKind::failed, hiway::no_id, hiway::no_id, 0,
                 "HiWayLib: several services run: give isTerminate the number of a tunnel");
  }
  return table;
}
HIWAY_DEVICE inline Table const& device_table(int id) { return device_table_at(id >> 16); }

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

/// A copy of the view, by which the block's warps share claims if that is asked for and they may.
template <class Machine, class View>
HIWAY_DEVICE inline View grouped(Machine m, Table const& table, Ends const& ends, View view) {
  if (ends.grouping == hiway::Grouping::warp) return view;
  if (hiway::has_entered_block()) {
    view.ring.grouping = ends.grouping;
  } else if (m.load(*table.by_warps, hiway::Order::relaxed) == 0) {
    m.store(*table.by_warps, ends.tunnel + 1, hiway::Order::relaxed);
  }
  return view;
}

/// Stands for the item type in calls that carry no item.
using Any = unsigned char;

template <class T>
hiway::Inlet<T> inlet_h(int id, std::uint64_t type) {
  return hiway::on_this_thread(
      [&](auto m) { return hiway::Inlet<T>(find(m, host_table(id), id, type, &Ends::inlet).inlet); });
}
template <class T>
HIWAY_DEVICE inline hiway::Inlet<T> inlet_d(int id, std::uint64_t type) {
  return hiway::on_this_device([&](auto m) {
    Table const& table = device_table(id);
    Ends const& ends = find(m, table, id, type, &Ends::inlet);
    return hiway::Inlet<T>(grouped(m, table, ends, ends.inlet));
  });
}
template <class T>
hiway::Outlet<T> outlet_h(int id, std::uint64_t type) {
  return hiway::on_this_thread(
      [&](auto m) { return hiway::Outlet<T>(find(m, host_table(id), id, type, &Ends::outlet).outlet); });
}
template <class T>
HIWAY_DEVICE inline hiway::Outlet<T> outlet_d(int id, std::uint64_t type) {
  return hiway::on_this_device([&](auto m) {
    Table const& table = device_table(id);
    Ends const& ends = find(m, table, id, type, &Ends::outlet);
    return hiway::Outlet<T>(grouped(m, table, ends, ends.outlet));
  });
}

}  // namespace detail

/// One of several services in a process, each with a pipeline, tunnels, and an end of its own. From when it is made
/// until it is destroyed, createTunnel, connect, setupService, shutdownService and pipeline() mean it, on the thread
/// that made it; of several that thread means the last. Other threads, and threads without one, mean the program's own
/// service, which HIWAY_RUN_ON places. The other functions find the service by the tunnel's number.
/// *Threads*: one at a time.
class Service {
 public:
  /// *Throws* ConfigError if there are too many, NoDevice.
  explicit Service(hiway::PipelineConfig config = {});
  /// Shuts it down. Its threads and kernels have left.
  ~Service();
  Service(Service const&) = delete;
  Service& operator=(Service const&) = delete;

  [[nodiscard]] hiway::Pipeline& pipeline();
  void setup();
  /// Returns the run's report; empty if the service did not run, or is aborted by this call.
  hiway::RunReport shutdown();

 private:
  detail::ServiceState* state_;
};

/// Makes a tunnel and stores its number in `id`. `isBatched`: items cross the bus in batches by DMA, else through
/// unified memory. *Throws* ConfigError, also when called while the service runs.
template <class T>
void createTunnel(int& id, TunnelDirection direction, bool isBatched, hiway::TunnelConfig config = {}) {
  config.movement = isBatched ? hiway::Movement::dma : hiway::Movement::managed;
  id = detail::add(
      hiway::item_type<T>, sizeof(T), direction, config,
      [](hiway::Pipeline& pipe, std::string const& name, TunnelDirection way,
         hiway::TunnelConfig const& with) -> hiway::TunnelBase& { return pipe.create_tunnel<T>(name, way, with); });
}

/// The tunnel with number `id`, for stages of pipeline(). *Throws* MisuseError when its items are not of type T.
template <class T>
[[nodiscard]] hiway::Tunnel<T>& tunnel(int id) {
  return static_cast<hiway::Tunnel<T>&>(detail::tunnel(id, hiway::item_type<T>));
}

/// Says which tunnels your own kernel or thread `name` gets from and which it puts into, before setupService(); threads
/// that do the same are one. What it puts while the task of an item that it got has not ended is that item's. So a
/// tunnel into which only such kernels and threads put needs no end flag: it ends when all that they get from has
/// ended; tunnels of a cycle end together, and a put inside a cycle spills. Who gets from none puts the end flag.
/// *Throws* ConfigError, MisuseError when there is no tunnel of such a number.
void connect(std::string const& name, std::vector<int> const& gets_from, std::vector<int> const& puts_into);

/// The threads of a block in a kernel of your own call it first, all of them, if tunnels have Grouping::block or
/// block_scan: else warps claim each for itself, and shutdownService() warns. Kernels that pipeline().launch starts
/// need not.
HIWAY_DEVICE inline void enterKernel_d() { hiway::enter_block(nullptr, hiway::no_id); }

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
void put_h(EndFlag flag, int id) {
  put_h(flag, id);
}
template <class T>
HIWAY_DEVICE void put_d(EndFlag flag, int id) {
  put_d(flag, id);
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
/// opposite.) If several services run, by the number of a tunnel.
[[nodiscard]] inline bool isTerminate_h() {
  return !detail::unless_aborted(
      [] { return !hiway::Outlet<detail::Any>(detail::host_table().whole).is_terminate_h(); });
}
[[nodiscard]] inline bool isTerminate_h(int id) {
  return !detail::unless_aborted(
      [&] { return !hiway::Outlet<detail::Any>(detail::host_table(id).whole).is_terminate_h(); });
}
[[nodiscard]] HIWAY_DEVICE inline bool isTerminate_d() {
  return hiway::on_this_device(
      [](auto m) { return hiway::Outlet<detail::Any>(detail::only_device_table(m).whole).is_terminate_d(); });
}
[[nodiscard]] HIWAY_DEVICE inline bool isTerminate_d(int id) {
  return hiway::Outlet<detail::Any>(detail::device_table(id).whole).is_terminate_d();
}

}  // namespace HiWayLib
