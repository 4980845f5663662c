// RunKernels: the persistent kernels of a run, the device monitors first. The caller starts them; from then on only the
// watcher asks the driver about them.
#pragma once
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
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

  void clear() { kernels_.clear(); }
  /// *Throws* what the backend throws, with the kernel's name.
  void start();
  /// *Threads*: the watcher. Closes the ends of own kernels that have ended, and asks whether kernels have left.
  /// True if it has started another launch of one that yields.
  bool poll_when_due(std::chrono::steady_clock::time_point now);
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
    std::function<DeviceKernel(std::uint32_t number)> next{};  ///< its launch number `number`
    simt::Grid grid{};
    std::uint32_t launched = 1;
  };

  [[nodiscard]] Started start_one(std::string name, DeviceKernel const& kernel, simt::Grid grid, Home home);
  [[nodiscard]] DeviceKernel kernel_of(std::size_t k, std::uint32_t number);
  void run_lane(std::size_t kernel, Control& control, std::function<void()> const& body);
  [[nodiscard]] bool comes_back(Started const& kernel) const;
  bool start_next_slices();
  bool start_next_slice(Started& kernel);
  void close_behind_own_kernels();
  [[nodiscard]] std::exception_ptr ask(Started& kernel);
  [[nodiscard]] std::exception_ptr ask_all();
  void poll(bool finishing);
  [[nodiscard]] std::exception_ptr name_all_on(Home home, std::exception_ptr error) const;

  Layout& layout_;
  RunState& state_;
  RunErrors& errors_;
  std::vector<Started> kernels_;
  std::chrono::steady_clock::time_point next_poll_;
};

}  // namespace hiway
