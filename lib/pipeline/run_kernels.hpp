// RunKernels: the persistent kernels of a run, the device monitors first. The caller starts them; from then on only the
// watcher asks the driver about them.
//
// Those that yield it starts again and again. A stage's kernel when a launch of it, or the monitor, has said so (L4 of
// hiway/launch/slice.hpp). A monitor until a launch of it has found nothing to do, and then when the host has news for
// it: it reads counts at the host, so if their sum has changed since before its last launch, that launch may have
// missed something.
#pragma once
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "layout.hpp"
#include "run_errors.hpp"
#include "run_state.hpp"

namespace hiway {

/// What a kernel that runs is doing.
struct KernelNow {
  std::optional<unsigned> in_sync_block;
};

class RunKernels {
 public:
  RunKernels(Layout& layout, RunState& state, RunErrors& errors) : layout_(layout), state_(state), errors_(errors) {}

  void clear() {
    std::scoped_lock const lock(mutex_);
    kernels_.clear();
  }
  /// `after`: they wait for the work that this stream has now. *Throws* what the backend throws, with the kernel's
  /// name.
  void start(std::optional<CUstream_st*> after);
  /// *Threads*: the watcher. Closes the ends of own kernels that have ended, and asks whether kernels have left.
  /// True if it has started another launch of one that yields.
  bool poll_when_due(std::chrono::steady_clock::time_point now);
  /// Starts what the host has news for, unless the watcher does so just now. For a thread that has put something while
  /// the watcher naps. *Threads*: any.
  void help() noexcept;
  /// The kernel of a GPU stage, if it runs. *Threads*: the watcher.
  [[nodiscard]] std::optional<KernelNow> of(Stage const& stage) const;

 private:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  struct Started {
    std::unique_ptr<RunningKernel> kernel;
    NamedFailure failure;
    Home home = own_device;
    bool monitor = false;  ///< it is a device monitor
    /// Index of a kernel in the graph: this is a user's own kernel, and what it left open is not closed yet.
    std::size_t close_behind = npos;
    bool done = false;  ///< it has ended, or failed
    // Of one that yields:
    SliceNews* news = nullptr;
    DeviceKernel launch{};
    simt::Grid grid{};
    std::uint32_t launched = 1;     ///< the last launch
    std::uint64_t host_counts = 0;  ///< of a monitor: before its last launch
    std::chrono::steady_clock::time_point launched_at{};
    std::vector<PlacedTunnel const*> fed{};  ///< of a stage's kernel: tunnels that the host puts into
  };

  [[nodiscard]] Started start_one(std::string name, DeviceKernel kernel, simt::Grid grid, Home home,
                                  std::optional<CUstream_st*> after);
  [[nodiscard]] DeviceKernel kernel_of(std::size_t k);
  /// The tunnels that the kernel reads and the host puts into.
  [[nodiscard]] std::vector<PlacedTunnel const*> fed_by_the_host(std::size_t kernel) const;
  void run_lane(std::size_t kernel, Control& control, std::function<void()> const& body);
  [[nodiscard]] bool comes_back(Started const& kernel) const;
  /// Whether a stage's kernel there has not ended.
  [[nodiscard]] bool has_kernels_at(Home home) const;
  bool start_next_slices();
  bool start_next_slice(Started& kernel);
  [[nodiscard]] bool may_start_next(Started const& kernel) const;
  [[nodiscard]] bool has_news_for(Started const& monitor) const;
  [[nodiscard]] bool has_items_for(Started const& kernel) const;
  [[nodiscard]] static bool is_gone(Started const& kernel);
  bool launch_next(Started& kernel);
  void close_behind_own_kernels();
  [[nodiscard]] std::exception_ptr ask(Started& kernel);
  [[nodiscard]] std::exception_ptr ask_all();
  void poll(bool finishing);
  [[nodiscard]] std::exception_ptr name_all_on(Home home, std::exception_ptr error) const;

  Layout& layout_;
  RunState& state_;
  RunErrors& errors_;
  mutable std::mutex mutex_;  ///< of kernels_
  std::vector<Started> kernels_;
  std::chrono::steady_clock::time_point next_poll_;
};

}  // namespace hiway
