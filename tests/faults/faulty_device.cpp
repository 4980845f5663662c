#include "tests/faults/faulty_device.hpp"

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "hiway/error.hpp"
#include "lib/backend/emulated_stream.hpp"

namespace hiway_tests {
namespace {

using namespace hiway;

FaultyDevice* faulty = nullptr;  // set before a pipeline is made, read by its threads

/// Holds submissions back before the device's own stream gets them.
class FaultyStream final : public CopyStream {
 public:
  explicit FaultyStream(std::unique_ptr<CopyStream> stream) : stream_(std::move(stream)) {}

  std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) override {
    faulty->count_call("copy stream");
    std::uint64_t const n = faulty->count(faulty->submissions, faulty->plan.failed_submission, "copy stream");
    held_.push_back(
        {pieces(copies), {words.begin(), words.end()}, faulty->plan.late_by_polls, n == faulty->plan.lost_submission});
    return ++submitted_;
  }
  std::uint64_t completed() override {
    faulty->count_call("copy stream");
    faulty->wait_while_stuck();
    faulty->count(faulty->completions, faulty->plan.failed_completion, "copy stream");
    if (!held_.empty() && !held_.front().lost && held_.front().polls_left-- == 0) {
      static_cast<void>(stream_->submit(held_.front().copies, held_.front().words));
      held_.pop_front();
    }
    return stream_->completed();
  }

 private:
  struct Submission {
    std::vector<Copy> copies;
    std::vector<WordCopy> words;
    std::uint64_t polls_left;
    bool lost;
  };
  static std::vector<Copy> pieces(std::span<Copy const> copies) {
    std::vector<Copy> all;
    for (Copy const& c : copies) {
      std::size_t const piece = faulty->plan.split_bytes != 0 ? faulty->plan.split_bytes : c.bytes;
      for (std::size_t row = 0; row < c.rows; ++row) {
        for (std::size_t at = 0; at < c.bytes; at += piece) {
          std::size_t const from = row * c.pitch + at;
          all.push_back({static_cast<std::byte*>(c.target) + from, static_cast<std::byte const*>(c.source) + from,
                         std::min(piece, c.bytes - at)});
        }
      }
    }
    return all;
  }

  std::unique_ptr<CopyStream> stream_;
  std::deque<Submission> held_;
  std::uint64_t submitted_ = 0;
};

class FaultyKernel final : public RunningKernel {
 public:
  FaultyKernel(std::unique_ptr<RunningKernel> kernel, std::string_view name, int device)
      : kernel_(std::move(kernel)), name_(name), device_(device) {}
  /// A lost context takes its kernels with it; lanes of this device leave because the run aborts.
  ~FaultyKernel() override {
    while (!kernel_->done()) std::this_thread::yield();
  }
  FaultyKernel(FaultyKernel const&) = delete;
  FaultyKernel& operator=(FaultyKernel const&) = delete;
  bool done() override {
    faulty->count_call(name_);
    faulty->wait_while_stuck();
    bool const other = faulty->plan.lost_on >= 0 && faulty->plan.lost_on != device_;
    std::uint64_t const lost = other ? 0 : faulty->plan.lost_context;
    std::uint64_t const n = other ? 0 : ++faulty->questions;
    if (lost != 0 && n >= lost) throw CudaError(name_ + ": it was told to fail");
    return kernel_->done();
  }
  [[nodiscard]] std::exception_ptr failure() const override { return kernel_->failure(); }

 private:
  std::unique_ptr<RunningKernel> kernel_;
  std::string name_;
  int device_;
};

class FaultyBackend final : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> device, int number) : device_(std::move(device)), number_(number) {}

  std::string name() const override { return "cuda:" + std::to_string(number_); }
  int number() const override { return number_; }
  [[nodiscard]] bool left_behind_by_fork() const override { return device_->left_behind_by_fork(); }
  void enable_peer_access(Backend const& other) override { device_->enable_peer_access(other); }
  bool reaches(Backend const&) const override { return !faulty->plan.apart; }
  std::string description() const override { return device_->description() + ", faulty"; }
  void* allocate(Memory memory, std::size_t bytes, std::string_view what) override {
    faulty->count_call(std::string(what));
    faulty->users.emplace(what);
    faulty->places.insert(std::string(what).append(memory == Memory::device ? " on " + name() : " at the host"));
    faulty->count(faulty->allocations, faulty->plan.failed_allocation, std::string(what));
    void* const address = device_->allocate(memory, bytes, what);
    faulty->held.emplace(address, what);
    return address;
  }
  void release(Memory memory, void* address) noexcept override {
    faulty->held.erase(address);
    device_->release(memory, address);
  }
  void upload(void* to, void const* from, std::size_t bytes) override {
    faulty->count_call("copy in");
    device_->upload(to, from, bytes);
  }
  void download(void* to, void const* from, std::size_t bytes) override {
    faulty->count_call("copy out");
    device_->download(to, from, bytes);
  }
  void clear(void* device, std::size_t bytes) override {
    faulty->count_call("copy of zeros");
    device_->clear(device, bytes);
  }
  bool peek(std::span<Peek const> copies) override {
    try {
      faulty->count_call("peek");
    } catch (CudaError const&) {
      return false;
    }
    faulty->wait_while_stuck();
    return device_->peek(copies);
  }
  std::unique_ptr<CopyStream> open_stream() override {
    faulty->count_call("copy stream");
    return std::make_unique<FaultyStream>(device_->open_stream());
  }
  std::unique_ptr<BatchStream> open_batch_stream(std::string title, std::size_t batches) override {
    faulty->count_call("batch stream");
    return std::make_unique<EmulatedStream>(*this, std::move(title), batches);
  }
  void reserve_streams(std::size_t kernels) override {
    faulty->count_call("streams");
    device_->reserve_streams(kernels);
  }
  void prepare(std::string_view name, DeviceKernel const& kernel, simt::Grid grid, Neighbours neighbours) override {
    faulty->count_call(std::string(name));
    device_->prepare(name, kernel, grid, neighbours);
  }
  bool loads_beside_kernels() const override { return device_->loads_beside_kernels(); }
  unsigned processors() const override { return std::min(most_processors_, device_->processors()); }
  unsigned resident_blocks(DeviceKernel const& kernel, simt::Grid grid) override {
    return device_->resident_blocks(kernel, grid);
  }
  simt::Grid default_grid(simt::Grid wanted, unsigned sharers) const override {
    return device_->default_grid(wanted, sharers);
  }
  unsigned full_grid(DeviceKernel const& kernel, simt::Grid grid, unsigned sharers) override {
    return device_->full_grid(kernel, grid, sharers);
  }
  std::unique_ptr<RunningKernel> start(std::string_view name, DeviceKernel const& kernel, simt::Grid grid) override {
    faulty->count_call(std::string(name));
    faulty->count(faulty->starts, faulty->plan.failed_start, std::string(name));
    return std::make_unique<FaultyKernel>(device_->start(name, kernel, grid), name, number_);
  }
  void set_device_table(void const* table) override { device_->set_device_table(table); }
  MonitorKernel monitor(MonitorTable* table) const override { return device_->monitor(table); }

 private:
  std::unique_ptr<Backend> device_;
  int number_;
};

}  // namespace

FaultyDevice::FaultyDevice(FaultPlan ordered) : plan(ordered) {
  faulty = this;
  register_cuda({[](int number) -> std::unique_ptr<Backend> {
                   return std::make_unique<FaultyBackend>(make_backend("simt"), number);
                 },
                 nullptr});
}

FaultyDevice::~FaultyDevice() {
  register_cuda({});
  faulty = nullptr;
}

void FaultyDevice::wait_while_stuck() const {
  while (stuck) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::uint64_t FaultyDevice::count(std::atomic<std::uint64_t>& counter, std::uint64_t failing, std::string const& what) {
  std::uint64_t const n = ++counter;
  if (n != failing) return n;
  failed_at = Clock::now();
  failed = what;
  throw CudaError(what + ": it was told to fail");
}

}  // namespace hiway_tests
