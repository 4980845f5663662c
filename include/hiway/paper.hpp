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
// connected is open to put_ and get_. Each tunnel then needs an end flag, unless connect() says what reads and
// writes it. Kernels need not be hiway's: every kernel of a unit that includes this header may call the _d functions
// while the service runs, because CUDA_MODULE_LOADING=EAGER, which hiway sets unless you set it, has loaded them all. A
// kernel that needs more local memory than any kernel before it waits for the service to end: launch it once before.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "hiway/launch/block_entry.hpp"
#include "hiway/launch/device_table.hpp"
#include "hiway/pipeline.hpp"
#include "hiway/stencil/stencil_tunnel.hpp"

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

using StencilConfig = hiway::StencilConfig;
/// A task of a stencil tunnel as the paper has it in its queue: where the stencil begins, at the top left.
struct StencilReference {
  int x;
  int y;
};

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
  int tasks = -1;                                    ///< of a stencil tunnel: the index of the ends of its tasks
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

using StencilMaker = std::unique_ptr<hiway::StencilTunnelBase> (*)(std::string const&, TunnelDirection,
                                                                   StencilConfig const&, std::uint32_t first_id);
/// The type of a stencil tunnel of values of type T: that of no item.
template <class T>
inline constexpr std::uint64_t stencil_type = ~hiway::item_type<T>;

/// Makes the tunnel a stencil tunnel. *Throws* ConfigError, MisuseError.
void config_stencil(int id, std::uint64_t item_type, StencilConfig const& config, StencilMaker make);
/// Stores what setupService() needs to know of a tunnel; returns its number.
int add(std::uint64_t type, std::size_t item_bytes, TunnelDirection direction, bool is_batched,
        hiway::TunnelConfig const& config, Maker make);
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
  std::uint32_t const only = m.load(device_tables().only, hiway::MemoryOrder::relaxed);
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
  } else if (m.load(*table.by_warps, hiway::MemoryOrder::relaxed) == 0) {
    m.store(*table.by_warps, ends.tunnel + 1, hiway::MemoryOrder::relaxed);
  }
  return view;
}

/// A consumer's ends of a stencil tunnel.
template <class Machine>
HIWAY_DEVICE inline hiway::detail::StencilViews stencil(Machine m, Table const& table, int id, std::uint64_t type) {
  Ends const& regions = find(m, table, id, type, &Ends::outlet);
  if (regions.tasks < 0) refuse(m, table, hiway::FaultKind::wrong_type, id);
  Ends const& tasks = table.ends[regions.tasks];
  return {regions.outlet, tasks.outlet, tasks.inlet};
}
template <class Machine>
HIWAY_DEVICE inline bool get_reference(Machine m, hiway::detail::StencilViews const& v, StencilReference& to) {
  hiway::StencilStrip strip{};  // of one task
  unsigned own = 0;
  unsigned& misses = m.misses(own);
  std::uint32_t const group = hiway::detail::together(m, v.strips);
  if (!hiway::detail::take_strip_or_region(m, v, group, hiway::Credits::doubtful, strip)) {
    hiway::leave_if_aborted(m, *v.strips.control);
    m.relax(misses++);
    return false;
  }
  misses = 0;
  hiway::StencilShape const& shape = v.board().shape;
  to = {static_cast<int>(strip.x) - static_cast<int>(shape.left),
        static_cast<int>(strip.y) - static_cast<int>(shape.up)};
  return true;
}
template <class T, class Machine>
HIWAY_DEVICE inline void fetch(Machine m, hiway::detail::StencilViews const& v, int x, int y, T& to) {
  hiway::GetBoard const& board = v.board();
  if (!board.shape.has(x, y)) hiway::detail::raise_at(m, v.strips, hiway::FaultKind::outside_matrix, {x, y, 0});
  to = reinterpret_cast<T const*>(
      board.values)[board.shape.at(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y))];
}
/// Stands for the item type in calls that carry no item.
using Any = unsigned char;

template <class Machine>
HIWAY_DEVICE inline void end_task(Machine m, Table const& table, int id) {
  Ends const& ends = find(m, table, id, 0, &Ends::outlet);
  if (ends.tasks < 0) return hiway::Outlet<Any>(ends.outlet).end_task();
  hiway::detail::StencilViews const v = stencil(m, table, id, 0);
  hiway::detail::end_strips(m, v, hiway::detail::together(m, v.strips), true, 0, 1, 1);
}

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
      hiway::item_type<T>, sizeof(T), direction, isBatched, config,
      [](hiway::Pipeline& pipe, std::string const& name, TunnelDirection way,
         hiway::TunnelConfig const& with) -> hiway::TunnelBase& { return pipe.create_tunnel<T>(name, way, with); });
}

/// Makes the tunnel, which createTunnel<T> has made and nobody uses yet, a stencil tunnel of one matrix of values of
/// type T. Producers set each value once and then put the end flag. Consumers get StencilReferences, one task each, of
/// stencils that have arrived; what isStencilReady says of other places may change. *Throws* ConfigError, MisuseError.
template <class T>
void configStencilTunnel(int id, StencilConfig config) {
  detail::config_stencil(id, hiway::item_type<T>, config,
                         [](std::string const& name, TunnelDirection way, StencilConfig const& with,
                            std::uint32_t first_id) -> std::unique_ptr<hiway::StencilTunnelBase> {
                           return std::make_unique<hiway::StencilTunnel<T>>(name, way, with, first_id,
                                                                            hiway::Strips::of_one_task);
                         });
}

/// The tunnel with number `id`, for stages of pipeline(). *Throws* MisuseError when its items are not of type T.
template <class T>
[[nodiscard]] hiway::Tunnel<T>& tunnel(int id) {
  return static_cast<hiway::Tunnel<T>&>(detail::tunnel(id, hiway::item_type<T>));
}

/// Says which tunnels your own kernel or thread `name` gets from and which it puts into, before setupService(); threads
/// that do the same are one. What it puts while the task of an item that it got has not ended is that item's. So a
/// tunnel into which only such kernels and threads put needs no end flag: it ends when all that they get from has
/// ended; tunnels of a cycle end together, and a put inside a cycle spills. A worker that gets from none puts the end
/// flag. *Throws* ConfigError, MisuseError when there is no tunnel of such a number.
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
  return detail::unless_aborted([&] {
    if constexpr (std::is_same_v<T, StencilReference>) {
      return hiway::on_this_thread(
          [&](auto m) { return detail::get_reference(m, detail::stencil(m, detail::host_table(id), id, 0), *item); });
    } else {
      return detail::outlet_h<T>(id, hiway::item_type<T>).get_h(*item);
    }
  });
}
template <class T>
[[nodiscard]] HIWAY_DEVICE bool get_d(T* item, int id) {
  if constexpr (std::is_same_v<T, StencilReference>) {
    return hiway::on_this_device(
        [&](auto m) { return detail::get_reference(m, detail::stencil(m, detail::device_table(id), id, 0), *item); });
  } else {
    return detail::outlet_d<T>(id, hiway::item_type<T>).get_d(*item);
  }
}

/// Sets the value at column x, row y of the stencil tunnel, once.
template <class T>
void set_h(int id, int x, int y, T value) {
  detail::unless_aborted([&] { detail::inlet_h<hiway::StencilOf<T>>(id, detail::stencil_type<T>).set_h(x, y, value); });
}
template <class T>
HIWAY_DEVICE void set_d(int id, int x, int y, T value) {
  detail::inlet_d<hiway::StencilOf<T>>(id, detail::stencil_type<T>).set_d(x, y, value);
}

/// The value at column x, row y, of those that have arrived: all of the stencil of a task that was got.
template <class T>
void fetch_h(int id, int x, int y, T* value) {
  detail::unless_aborted([&] {
    hiway::on_this_thread([&](auto m) {
      detail::fetch(m, detail::stencil(m, detail::host_table(id), id, detail::stencil_type<T>), x, y, *value);
    });
  });
}
template <class T>
HIWAY_DEVICE void fetch_d(int id, int x, int y, T* value) {
  hiway::on_this_device([&](auto m) {
    detail::fetch(m, detail::stencil(m, detail::device_table(id), id, detail::stencil_type<T>), x, y, *value);
  });
}

/// Whether all values of the stencil have arrived whose middle is at column x, row y.
[[nodiscard]] inline bool isStencilReady_h(int id, int x, int y) {
  return detail::unless_aborted([&] {
    return hiway::on_this_thread([&](auto m) {
      return hiway::detail::is_stencil_ready(m, detail::stencil(m, detail::host_table(id), id, 0), {x, y, 0});
    });
  });
}
[[nodiscard]] HIWAY_DEVICE inline bool isStencilReady_d(int id, int x, int y) {
  return hiway::on_this_device([&](auto m) {
    return hiway::detail::is_stencil_ready(m, detail::stencil(m, detail::device_table(id), id, 0), {x, y, 0});
  });
}

/// Ends the task of one item got from tunnel `id`.
inline void endTask_h(int id) {
  detail::unless_aborted(
      [&] { hiway::on_this_thread([&](auto m) { detail::end_task(m, detail::host_table(id), id); }); });
}
HIWAY_DEVICE inline void endTask_d(int id) {
  hiway::on_this_device([&](auto m) { detail::end_task(m, detail::device_table(id), id); });
}

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
