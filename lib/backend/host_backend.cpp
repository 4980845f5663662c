// The emulated device's backend, and the choice of a backend by name.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <random>
#include <thread>

#include "hiway/backend.hpp"
#include "hiway/launch/device_table.hpp"
#include "hiway/log.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "lib/backend/emulated_stream.hpp"
#include "lib/environment.hpp"
#include "lib/simt/sanitizers.hpp"
#include "lib/sizes.hpp"

namespace hiway {
namespace {

constexpr std::align_val_t alignment{1024};  // of RingWords

void const* emulated_table = nullptr;

class HostKernel final : public RunningKernel {
 public:
  void start(simt::Device& device, std::string_view name, DeviceKernel const& kernel, simt::Grid grid) {
    launch_ = device.launch(name, grid, kernel.lane_body);
  }
  bool done() override {
    if (!launch_.done()) return false;
    launch_.wait();
    return true;
  }
  [[nodiscard]] std::exception_ptr failure() const override { return launch_.start_failure(); }
  [[nodiscard]] std::optional<unsigned> lanes_in_sync_block() const override { return launch_.lanes_in_sync_block(); }

 private:
  simt::Launch launch_;
};

/// Either may be null where there are no bytes, as CUDA's copies allow.
void copy_bytes(void* to, void const* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

/// What GPUs may do and emulated devices do on request; for tests.
struct Hardships {
  std::chrono::microseconds longest_copy{0};  ///< a submission takes up to this long
  bool peers = true;                          ///< they reach each other's memory
};

Hardships chosen_hardships() {
  auto const delay = number_from_environment("HIWAY_SIMT_DELAY_US", "a number of microseconds", 0, INT32_MAX);
  return {std::chrono::microseconds(delay.value_or(0)), peers_wanted()};
}

// A poll does one thing: it lands a copy (a submission's last one first), sets a word, or counts a submission. So code
// that forgets to wait, or takes one word or copy for another, sees old bytes.
class HostCopies final : public CopyStream {
  using Clock = std::chrono::steady_clock;

 public:
  HostCopies(std::chrono::microseconds longest, unsigned seed) : random_(seed), takes_us_(0, longest.count()) {}
  std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) override {
    under_way_.push_back({{copies.begin(), copies.end()}, {words.begin(), words.end()}, from_when()});
    return ++submitted_;
  }
  std::uint64_t completed() override {
    if (!under_way_.empty()) {
      Submission& next = under_way_.front();
      if (takes_us_.max() != 0 && Clock::now() < next.from) {
        // not yet, and no later submission either
      } else if (!next.copies.empty()) {
        Copy const& copy = next.copies.back();
        for (std::size_t row = 0; row < copy.rows; ++row) {
          std::size_t const at = row * copy.pitch;
          std::memcpy(static_cast<std::byte*>(copy.target) + at, static_cast<std::byte const*>(copy.source) + at,
                      copy.bytes);
        }
        next.copies.pop_back();
      } else if (!next.words.empty()) {
        ThreadMachine{}.store(*next.words.back().word, next.words.back().value, MemoryOrder::release);
        next.words.pop_back();
      } else {
        under_way_.pop_front();
      }
    }
    return submitted_ - under_way_.size();
  }

 private:
  struct Submission {
    std::vector<Copy> copies;
    std::vector<WordCopy> words;
    Clock::time_point from;
  };
  Clock::time_point from_when() {
    return takes_us_.max() == 0 ? Clock::time_point() : Clock::now() + std::chrono::microseconds(takes_us_(random_));
  }

  std::minstd_rand random_;
  std::uniform_int_distribution<std::int64_t> takes_us_;
  std::deque<Submission> under_way_;
  std::uint64_t submitted_ = 0;
};

class HostBackend final : public Backend {
 public:
  explicit HostBackend(Hardships hardships = {}) : hardships_(hardships) {}
  std::string name() const override { return "simt"; }
  std::string description() const override {
    simt::DeviceLimits const& l = device_.limits();
    return "emulated SIMT device on CPU threads: " + std::to_string(l.processors) + " processors of " +
           std::to_string(l.lanes_per_processor) + " lanes";
  }

  int number() const override { return 0; }
  void enable_peer_access(Backend const&) override {}
  bool reaches(Backend const&) const override { return hardships_.peers; }
  [[nodiscard]] bool is_host() const override { return true; }
  [[nodiscard]] bool left_behind_by_fork() const override { return device_.left_behind_by_fork(); }
  void* allocate(Memory memory, std::size_t bytes, std::string_view what) override {
    bytes = std::max<std::size_t>(bytes, 1);
    void* const drawn = drawn_.allocate(memory, bytes, number(), what);
    return drawn != nullptr ? drawn : take_memory(bytes, alignment, what);
  }
  void release(Memory, void* address) noexcept override {
    if (!drawn_.release(address)) ::operator delete(address, alignment);
  }
  void upload(void* device, void const* host, std::size_t bytes) override { copy_bytes(device, host, bytes); }
  void download(void* host, void const* device, std::size_t bytes) override { copy_bytes(host, device, bytes); }
  void clear(void* device, std::size_t bytes) override {
    if (bytes > 0) std::memset(device, 0, bytes);
  }
  bool peek(std::span<Peek const> copies) override {
    for (Peek const& c : copies) simt::sanitizer::copy_unseen(c.to, c.device, c.bytes);
    return true;
  }
  std::unique_ptr<CopyStream> open_stream() override {
    return std::make_unique<HostCopies>(hardships_.longest_copy, ++streams_);
  }
  std::unique_ptr<BatchStream> open_batch_stream(std::string title, std::size_t batches) override {
    return std::make_unique<EmulatedStream>(*this, std::move(title), batches);
  }
  void reserve_streams(std::size_t) override {}
  void prepare(std::string_view name, DeviceKernel const& kernel, simt::Grid, Neighbours) override {
    if (kernel.lane_body) return;
    throw ConfigError(
        std::string(name) +
        " is a __global__ function, which only a GPU runs; give it as a functor to run it on the emulated device");
  }
  bool loads_beside_kernels() const override { return true; }
  unsigned processors() const override { return std::min(most_processors_, device_.limits().processors); }
  unsigned resident_blocks(DeviceKernel const&, simt::Grid grid) override { return device_.resident_blocks(grid); }
  simt::Grid default_grid(simt::Grid wanted, unsigned) const override {
    if (wanted.blocks == 0) wanted.blocks = 1;
    if (wanted.threads_per_block == 0) wanted.threads_per_block = 32;
    return wanted;
  }
  unsigned full_grid(DeviceKernel const&, simt::Grid, unsigned) override { return 2; }  // every lane is a fiber
  std::unique_ptr<RunningKernel> start(std::string_view name, DeviceKernel const& kernel, simt::Grid grid) override {
    auto running = std::make_unique<HostKernel>();  // before the launch, which cannot be undone
    running->start(device_, name, kernel, grid);
    return running;
  }
  void set_device_table(void const* table) override { emulated_table = table; }
  MonitorKernel monitor(MonitorTable*) const override { return {.threads = 32}; }  // every lane is a fiber

 private:
  Hardships hardships_;
  unsigned streams_ = 0;
  simt::Device device_;
};

CudaSupport& cuda_registry() noexcept {
  static CudaSupport support;
  return support;
}

std::string chosen_device() {
  char const* wanted = std::getenv("HIWAY_RUN_ON");
  return wanted != nullptr && *wanted != '\0' ? wanted : "auto";
}

}  // namespace

// Sources with CUDA code register before main, so this comes before the first CUDA call. A kernel that is loaded while
// persistent ones run waits for their end; so all kernels are loaded at once. A setting of the user's stays.
bool register_cuda(CudaSupport support) noexcept {
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  // As many queues as the GPU has: kernels of streams that share one wait for each other.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  cuda_registry() = support;
  return true;
}

namespace {

std::vector<TableSetter>& table_setters() noexcept {
  static std::vector<TableSetter> setters;
  return setters;
}

}  // namespace

void const* emulated_device_table() noexcept { return emulated_table; }

bool register_device_table(TableSetter set) noexcept {
  table_setters().push_back(set);
  return true;
}

std::span<TableSetter const> device_table_setters() noexcept { return table_setters(); }

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all{{"simt", HostBackend().description(), true}};
  if (cuda_registry().list != nullptr) {
    for (DeviceInfo& gpu : cuda_registry().list()) all.push_back(std::move(gpu));
  }
  return all;
}

std::unique_ptr<StreamGate> make_stream_gate() {
  auto const make = cuda_registry().make_gate;
  return make == nullptr ? nullptr : make();
}

std::unique_ptr<Backend> make_backend(std::string const& device) {
  std::string const wanted = device == "auto" || device.empty() ? chosen_device() : device;
  if (wanted == "simt") return std::make_unique<HostBackend>(chosen_hardships());
  if (wanted == "auto") {
    std::string chosen = "simt";
    if (cuda_registry().list != nullptr) {
      for (DeviceInfo const& gpu : cuda_registry().list()) {
        if (gpu.usable) {
          chosen = gpu.name;
          break;
        }
      }
    }
    static std::once_flag said;
    std::call_once(said, [&] { log(LogLevel::info, "running on " + chosen + " (set HIWAY_RUN_ON to choose)"); });
    return make_backend(chosen);
  }
  constexpr std::string_view prefix = "cuda:";
  int index = -1;
  if (wanted == "cuda") {
    index = 0;
  } else if (wanted.starts_with(prefix)) {
    char const* const end = wanted.data() + wanted.size();
    auto const parsed = std::from_chars(wanted.data() + prefix.size(), end, index);
    if (parsed.ec != std::errc{} || parsed.ptr != end) index = -1;
  }
  if (index < 0) throw NoDevice("no device '" + wanted + "': expected auto, simt or cuda:N");
  if (cuda_registry().make == nullptr)
    throw NoDevice("no device '" + wanted + "': this program was built without CUDA");
  return cuda_registry().make(index);
}

}  // namespace hiway
