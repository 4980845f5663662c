// Homes: where a pipeline's memory lies: the host and the devices, with their backends, arenas and control words.
//
// Lifetime: an arena returns its memory to the backend that it came from. So in a Device the backend is declared before
// the arenas, and in Homes the devices are declared before the host's arenas, whose memory the first device's backend
// allocated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include "hiway/backend.hpp"
#include "hiway/failed_tasks.hpp"
#include "hiway/fault.hpp"
#include "hiway/launch/slice.hpp"
#include "lib/arena.hpp"
#include "lib/word_copies.hpp"
#include "monitors/device_monitor.hpp"
#include "monitors/transfer.hpp"

namespace hiway {

/// What a monitor that yields reads at the host: if it has changed since before the monitor's last launch, the monitor
/// has something to do.
struct HostCounts {
  std::vector<Word<std::uint64_t>*> words{};
  std::vector<Word<std::uint32_t>*> gates{};
  std::vector<Relays*> outboxes{};

  /// Of counts that only grow.
  [[nodiscard]] std::uint64_t sum() const;
  /// Whether all that was put has been got.
  [[nodiscard]] bool are_answered() const;
};

/// For each stage, at one home: how many of its tasks have failed. Made by prepare().
struct FailedTasksPlace {
  FailedTasks* tasks = nullptr;
  FirstFailure* firsts = nullptr;
  std::size_t stages = 0;
};

/// A device that the pipeline runs on, and its words.
struct Device {
  int number = -1;  ///< GpuStageOptions::device; -1: PipelineConfig::device
  std::unique_ptr<Backend> backend;
  // For the pipeline's life.
  std::unique_ptr<Arena> words;
  Control* control = nullptr;
  SliceNews* monitor_news = nullptr;         ///< if the monitor yields
  HostCounts counts;                         ///< likewise
  DeviceNotice* notice = nullptr;            ///< at the host
  Word<std::uint32_t>* all_ended = nullptr;  ///< every unit has ended
  // Made by prepare().
  std::unique_ptr<Arena> plan;
  FailedTasksPlace failed_tasks{};
  MonitorTable* monitor = nullptr;  ///< null: the pipeline uses nothing here
  /// By BusDirection: lines that copy to the device, and from it; null where there is none.
  std::unique_ptr<TransferLine> lines[2];
};

/// The host's arenas and words.
struct HostMemory {
  // For the pipeline's life.
  std::unique_ptr<Arena> words;
  std::unique_ptr<Arena> managed;  ///< for items that the driver moves
  Control* control = nullptr;
  Word<std::uint32_t>* all_ended = nullptr;  ///< every unit has ended
  // Made by prepare().
  std::unique_ptr<Arena> plan;
  FailedTasksPlace failed_tasks{};
};

/// A word that one side tells the other.
struct ToldWord {
  Word<std::uint64_t>* word = nullptr;
  Home home = at_host;
};
/// A word at a device, in a cache line of its own.
struct DeviceWord {
  alignas(128) Word<std::uint64_t> word{0};
};

/// *Threads*: one at a time changes it, while no run is under way.
class Homes {
 public:
  /// `run` is told to refuse calls on open ends. *Throws* NoDevice.
  Homes(PipelineConfig const& config, RunInfo* run);

  [[nodiscard]] std::size_t device_count() const { return devices_.size(); }
  /// The homes of the devices, the pipeline's own first.
  [[nodiscard]] auto device_homes() const { return std::views::iota(own_device, own_device + devices_.size()); }
  [[nodiscard]] std::deque<Device>& devices() { return devices_; }
  [[nodiscard]] std::deque<Device> const& devices() const { return devices_; }
  [[nodiscard]] Device& device(Home home) { return devices_.at(home - own_device); }
  [[nodiscard]] Device const& device(Home home) const { return devices_.at(home - own_device); }
  [[nodiscard]] HostMemory& host() { return host_; }
  [[nodiscard]] HostMemory const& host() const { return host_; }

  /// The home of the device with this number (GpuStageOptions::device); none if it is not the pipeline's yet.
  [[nodiscard]] std::optional<Home> find(int number) const;
  /// Of one that is.
  [[nodiscard]] Home of(int number) const { return find(number).value(); }
  /// Makes the device one of the pipeline's. *Throws* NoDevice.
  Home add(int number);
  [[nodiscard]] std::string name(Home home) const;
  [[nodiscard]] std::string names() const;

  [[nodiscard]] Backend& backend() const { return *devices_.front().backend; }
  [[nodiscard]] Backend& backend(Home home) const { return *device(home).backend; }
  /// Words for the pipeline's life, and those that a prepare() places.
  [[nodiscard]] Arena& words(Home home) { return home == at_host ? *host_.words : *device(home).words; }
  [[nodiscard]] Arena& plan(Home home) { return home == at_host ? *host_.plan : *device(home).plan; }
  [[nodiscard]] Control* control(Home home) const { return home == at_host ? host_.control : device(home).control; }

  [[nodiscard]] FailedTasksPlace const& failed_tasks(Home home) const {
    return home == at_host ? host_.failed_tasks : device(home).failed_tasks;
  }

  /// True if kernels on device `from` can read and write memory at `home`, another device.
  [[nodiscard]] bool is_reached(Home home, Home from) const;
  /// A word that `teller` writes and `hearer` polls. Placed in the poller's memory if the other side can reach it, else
  /// in host memory.
  [[nodiscard]] ToldWord place_told(Home teller, Home hearer, Word<std::uint64_t>& at_the_host);
  /// The plan arena for a word of prepare() that `teller` writes and `hearer` polls; same choice as place_told().
  [[nodiscard]] Arena& told_plan(Home teller, Home hearer);

  /// Drops what the last prepare() placed.
  void make_plans();
  /// At each home, for so many stages.
  void place_failed_tasks(std::size_t stages);
  /// Gives lines and words what they have at the start of a run. *Throws* like TransferLine::reset.
  void reset();

 private:
  void give_words(Device& device);
  [[nodiscard]] FailedTasksPlace place_failed_tasks(std::size_t stages, Home home);

  unsigned multiprocessors_;
  MemoryResource* memory_;
  RunInfo* run_;
  std::deque<Device> devices_;
  HostMemory host_;
};

}  // namespace hiway
