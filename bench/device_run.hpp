// Kernels of a bench on the device that was asked for: its memory, its size, one launch and its time. The pipeline is not
// in it: these benches are below it.
#pragma once
#include <chrono>
#include <cstddef>
#include <hiway/backend.hpp>
#include <hiway/fault.hpp>
#include <hiway/launch/cuda.cuh>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// A kernel that did not end by itself.
struct StandsStill : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One device. *Threads*: one.
class DeviceRun {
 public:
  /// A kernel that runs longer than `patience` stands still; 0: far above any turn.
  explicit DeviceRun(std::string const& device, std::chrono::milliseconds patience = {});
  ~DeviceRun();
  DeviceRun(DeviceRun const&) = delete;
  DeviceRun& operator=(DeviceRun const&) = delete;

  /// Room for `count` objects in device memory, not set; aligned like T. *Lifetime*: until release_all.
  template <class T>
  [[nodiscard]] T* room(std::size_t count) {
    return static_cast<T*>(room(count * sizeof(T), alignof(T)));
  }
  /// Gives back what room() gave.
  void release_all() noexcept;
  [[nodiscard]] hiway::Backend& backend() { return *backend_; }
  /// The word that every kernel's waits look at.
  [[nodiscard]] hiway::Control* control() const { return control_; }

  /// How many blocks of `body` the device holds at once.
  template <class Body>
  [[nodiscard]] unsigned resident_blocks(Body const& body, unsigned threads_per_block) {
    hiway::simt::Grid const grid{1, threads_per_block, 0};
    return backend_->processors() * backend_->resident_blocks(hiway::device_kernel<Body, hiway::ThisUnit>(body), grid);
  }

  /// Runs `body()` in every thread; returns the seconds from the launch to the kernel's end as the host sees it. A kernel
  /// that stands still is aborted. *Throws* StandsStill then; CudaError.
  template <class Body>
  double run(std::string const& name, Body const& body, unsigned blocks, unsigned threads_per_block) {
    return run(name, hiway::device_kernel<Body, hiway::ThisUnit>(body), {blocks, threads_per_block, 0});
  }

 private:
  [[nodiscard]] void* room(std::size_t bytes, std::size_t alignment);
  double run(std::string const& name, hiway::DeviceKernel const& kernel, hiway::simt::Grid grid);

  void abort_kernel();

  std::unique_ptr<hiway::Backend> backend_;
  std::chrono::milliseconds patience_;
  std::vector<void*> rooms_;
  hiway::Control* control_ = nullptr;
};

}  // namespace bench
