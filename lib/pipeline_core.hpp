// Pipeline::Core: everything behind the Pipeline facade. It takes what the user adds, and owns the parts: the layout of
// what was declared and placed (lib/pipeline/layout.hpp), the user's buffers and launches, and the run.
//
// Lifetime: each member uses those above it. The run ends first, then memory goes back to the devices.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hiway/pipeline.hpp"
#include "pipeline/launches.hpp"
#include "pipeline/layout.hpp"
#include "pipeline/open_ends_over_nodes.hpp"
#include "pipeline/run.hpp"

namespace hiway {

/// The memory of the user's buffers.
class BufferMemories {
 public:
  explicit BufferMemories(Homes& homes) : homes_(homes) {}
  ~BufferMemories();
  BufferMemories(BufferMemories const&) = delete;
  BufferMemories& operator=(BufferMemories const&) = delete;

  /// *Throws* what Backend::allocate throws.
  [[nodiscard]] void* allocate(Memory memory, std::size_t bytes, Home home);
  /// Memory of the user's.
  void note(std::byte* address, std::size_t bytes, Home home) {
    blocks_.push_back({home, Memory::device, address, bytes, false});
  }
  /// The backend of the device that a buffer lies on.
  [[nodiscard]] Backend& backend_of(void const* buffer) const;

 private:
  struct Block {
    Home home;  ///< the home whose backend allocated it
    Memory memory;
    std::byte* address;
    std::size_t bytes;
    bool is_own;  ///< the library's, to be freed
  };

  Homes& homes_;
  std::vector<Block> blocks_;
};

/// The names of tunnels with open ends. *Threads*: any.
class OpenNames {
 public:
  void note(std::uint32_t tunnel, std::string const& name) {
    std::scoped_lock const lock(mutex_);
    names_[tunnel] = name;
  }
  /// "tunnel 'NAME': ", or nothing.
  [[nodiscard]] std::string title(std::uint32_t tunnel) {
    std::scoped_lock const lock(mutex_);
    auto const name = names_.find(tunnel);
    return name == names_.end() ? std::string() : "tunnel '" + name->second + "': ";
  }

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, std::string> names_;
};

/// Refuses the calls of open ends that are at other nodes: their run is not this one. *Threads*: any, once noted.
class EndsElsewhere final : public RunInfo {
 public:
  EndsElsewhere() { control_.run = this; }
  /// Lets calls of the end of `tunnel` fail with `text`.
  [[nodiscard]] Control* note(std::uint32_t tunnel, std::string text) {
    ThreadMachine{}.store(control_.aborted, 1u, MemoryOrder::release);
    texts_[tunnel] = std::move(text);
    return &control_;
  }
  [[noreturn]] void refuse(std::uint32_t tunnel) override { throw Error(texts_.at(tunnel)); }
  [[nodiscard]] std::string stage_name(std::uint32_t) const override { return {}; }

 private:
  Control control_;
  std::map<std::uint32_t, std::string> texts_;
};

class Pipeline::Core final : public RunInfo {
 public:
  explicit Core(PipelineConfig config);

  // ---- what open ends and stages ask
  [[noreturn]] void refuse(std::uint32_t tunnel) override { run_.refuse(open_names_.title(tunnel)); }
  [[nodiscard]] std::string stage_name(std::uint32_t id) const override { return layout_.stage_name(id); }

  // ---- what the user adds
  void add_tunnel(std::unique_ptr<TunnelBase> tunnel, StencilTunnelBase* stencil = nullptr);
  void add_stencil(std::unique_ptr<StencilTunnelBase> tunnel);
  void add_cpu(CpuStageDescription description);
  void add_gpu(GpuKernelDescription description);
  void* allocate_buffer(Memory memory, std::size_t count, std::size_t item_bytes, int device);
  void note_buffer(void* memory, std::size_t bytes, int device);
  void add_worker(StageDescription worker);
  InletView open_inlet(TunnelBase& tunnel, OpenEndOptions const& options);
  OutletView open_outlet(TunnelBase& tunnel, OpenEndOptions const& options);
  void launch(std::string_view name, DeviceKernel const& kernel, GpuStageOptions const& options);
  Scopes& create_scopes(std::string name, ScopesConfig config);
  Latency& create_latency(std::string path, unsigned every);
  [[nodiscard]] OutletView whole_run_at(Home home);

  // ---- what comes from outside
  void drain();
  void pause();
  void resume();

  [[nodiscard]] Layout& layout() { return layout_; }
  [[nodiscard]] BufferMemories& buffers() { return buffers_; }
  [[nodiscard]] Launches& launches() { return launches_; }
  [[nodiscard]] PipelineRun& run() { return run_; }

 private:
  /// *Throws* ConfigError.
  void check_scopes(TunnelBase const& tunnel) const;
  /// What is prepared no longer holds.
  void invalidate() { layout_.prepared.is_current = false; }
  /// The home of the device with this number (GpuStageOptions::device). The device becomes one of the pipeline's.
  /// *Throws* NoDevice.
  Home home_of(int number);
  /// The devices on which the stage is to run alike. *Throws* ConfigError.
  [[nodiscard]] std::vector<int> devices_of(GpuStageOptions const& options) const;
  [[nodiscard]] std::vector<BranchDevice> branch_devices(std::string const& stage, std::vector<int> const& numbers);
  [[nodiscard]] bool is_here(StageDescription const& stage);
  [[nodiscard]] OpenEndPlace note_open(TunnelBase& tunnel, EndOf end, OpenEndOptions const& options);

  OpenNames open_names_;
  EndsElsewhere ends_elsewhere_;
  std::vector<std::shared_ptr<void>> elsewhere_;  ///< segments of other nodes: the user has a reference to each
  Layout layout_;
  BufferMemories buffers_;
  Launches launches_;
  PipelineRun run_;
};

}  // namespace hiway
