// EmulatedStream: the stream of a batch stage on an emulated device, or on the CPU: its kernels run one after another,
// while the stage's thread goes on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "hiway/batch_stream.hpp"

namespace hiway {

// Copies to the device are made when somebody asks whether they are, or a body begins, so that it may work on its batch
// itself; all is as late as may be.
class EmulatedStream final : public BatchStream {
 public:
  /// `title`: of the stage.
  EmulatedStream(Backend& device, std::string title, std::size_t batches)
      : device_(device), title_(std::move(title)), marks_(batches) {}
  ~EmulatedStream() override { leave(); }
  EmulatedStream(EmulatedStream const&) = delete;
  EmulatedStream& operator=(EmulatedStream const&) = delete;

  void copy_count(std::uint32_t* to, std::uint32_t const* from) override {
    copy(BusDirection::from_device, to, from, sizeof *from);
  }
  void enter() override {}
  void follow(CUstream_st*) override {}
  void begin_body() override { make_coming(); }
  void end_body() override {}
  void launch(DeviceKernel kernel, simt::Grid grid) override;
  [[nodiscard]] CUstream_st* cuda() const override { return nullptr; }
  void mark_copies(std::size_t) override { make_coming(); }
  [[nodiscard]] bool has_copied(std::size_t) override { return true; }
  void mark(std::size_t batch) override { marks_[batch] = given_; }
  [[nodiscard]] bool has_passed(std::size_t batch) override;
  void leave() noexcept override;

 private:
  /// A kernel, or a copy.
  struct Step {
    DeviceKernel kernel{};
    simt::Grid grid{};
    Copy copy{};
  };

  void give_copy(BusDirection way, void* to, void const* from, std::size_t bytes) override;
  void make_coming();
  void give(Step step);
  /// Goes on to the next copy or kernel that runs.
  void advance();

  Backend& device_;
  std::string title_;
  std::vector<Copy> coming_;  ///< to the device
  std::deque<Step> waiting_;
  std::unique_ptr<RunningKernel> running_;
  std::uint64_t given_ = 0;
  std::uint64_t done_ = 0;
  std::vector<std::uint64_t> marks_;  ///< by batch
};

}  // namespace hiway
