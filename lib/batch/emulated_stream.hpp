// EmulatedStream: the stream of a batch stage on an emulated device, or on the CPU: its kernels run one after another,
// while the stage's thread goes on.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "hiway/batch.hpp"

namespace hiway {

/// *Threads*: one at a time.
class EmulatedStream final : public detail::BatchWork {
 public:
  /// `title`: of the stage.
  EmulatedStream(Backend& device, std::string title) : device_(device), title_(std::move(title)) {}
  /// *Waits* for the kernel that runs; those behind it do not start.
  ~EmulatedStream();
  EmulatedStream(EmulatedStream const&) = delete;
  EmulatedStream& operator=(EmulatedStream const&) = delete;

  void launch(DeviceKernel kernel, simt::Grid grid) override;
  [[nodiscard]] CUstream_st* cuda() const override { return nullptr; }

  [[nodiscard]] std::uint64_t launched() const { return launched_; }
  /// How many launches have ended, and starts the next one. *Throws* what one of them threw.
  [[nodiscard]] std::uint64_t ended();

 private:
  struct Waiting {
    DeviceKernel kernel;
    simt::Grid grid;
  };

  Backend& device_;
  std::string title_;
  std::deque<Waiting> waiting_;
  std::unique_ptr<RunningKernel> running_;
  std::uint64_t launched_ = 0;
  std::uint64_t ended_ = 0;
};

}  // namespace hiway
