#include "bench/device_run.hpp"

#include <cstdint>
#include <hiway/error.hpp>
#include <hiway/machine/thread_machine.hpp>
#include <thread>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

// Lanes are emulated under sanitizers, too, beside other work.
constexpr std::chrono::seconds patience_emulated{60};
constexpr std::chrono::seconds patience_of_a_gpu{10};
constexpr std::chrono::seconds patience_after_abort{10};

/// Emulated lanes that were aborted unwind, and that comes out here.
bool has_left(hiway::RunningKernel& running) {
  try {
    return running.done();
  } catch (hiway::Aborted const&) {
    return true;
  }
}

}  // namespace

DeviceRun::DeviceRun(std::string const& device, std::chrono::milliseconds patience)
    : backend_(hiway::make_backend(device)), patience_(patience) {
  if (patience_.count() == 0) patience_ = backend_->name() == "simt" ? patience_emulated : patience_of_a_gpu;
  backend_->reserve_streams(1);
  control_ = static_cast<hiway::Control*>(
      backend_->allocate(hiway::Memory::device, sizeof(hiway::Control), "the bench's control"));
  hiway::Control const fresh;
  backend_->upload(control_, &fresh, sizeof fresh);
}

DeviceRun::~DeviceRun() {
  release_all();
  backend_->release(hiway::Memory::device, control_);
}

void DeviceRun::release_all() noexcept {
  for (void* room : rooms_) backend_->release(hiway::Memory::device, room);
  rooms_.clear();
}

// A device aligns to 256 bytes only.
void* DeviceRun::room(std::size_t bytes, std::size_t alignment) {
  rooms_.push_back(nullptr);
  rooms_.back() = backend_->allocate(hiway::Memory::device, bytes + alignment, "the bench's memory");
  auto const address = reinterpret_cast<std::uintptr_t>(rooms_.back());
  return reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment);
}

double DeviceRun::run(std::string const& name, hiway::DeviceKernel const& kernel, hiway::simt::Grid grid) {
  backend_->prepare(name, kernel, grid, hiway::Neighbours::own);
  auto const start = Clock::now();
  std::unique_ptr<hiway::RunningKernel> const running = backend_->start(name, kernel, grid);
  auto until = start + patience_;
  bool aborted = false;
  while (!has_left(*running)) {
    if (Clock::now() >= until) {
      if (aborted) throw std::runtime_error{name + ": the kernel stands still and does not leave"};
      abort_kernel();
      aborted = true;
      until = Clock::now() + patience_after_abort;
    }
    std::this_thread::yield();
  }
  double const seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (aborted) {
    hiway::Control const fresh;
    backend_->upload(control_, &fresh, sizeof fresh);
    throw StandsStill{name + ": the kernel stood still for " + std::to_string(patience_.count()) + " ms"};
  }
  return seconds;
}

// Emulated lanes read the word while it is set; a copy beside a GPU's kernels is the copy engine's.
void DeviceRun::abort_kernel() {
  constexpr std::uint32_t set = 1;
  if (backend_->name() == "simt") {
    hiway::ThreadMachine{}.store(control_->aborted, set, hiway::MemoryOrder::release);
  } else {
    backend_->upload(&control_->aborted.bits, &set, sizeof set);
  }
}

}  // namespace bench
