// What a pipeline keeps of its stages and kernels, as they were added.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "hiway/batch/batch_stage.hpp"
#include "hiway/config.hpp"
#include "hiway/persistent.hpp"
#include "hiway/stage_form.hpp"
#include "hiway/tunnel.hpp"

namespace hiway {

/// One stage as the pipeline keeps it.
struct StageDescription {
  std::string name;
  std::vector<TunnelBase*> from;
  std::vector<TunnelBase*> into;
  bool item_form = false;    ///< item or value form: no user code runs after its loop
  bool own_kernel = false;   ///< a user's own __global__ function: it counts no start, and does not close its inlets
  bool on_device = false;    ///< a batch stage: its ends are a device's, though a CPU thread works at them
  bool by_ticket = false;    ///< puts each result at the ticket of its item (stage_by_ticket.hpp)
  std::vector<int> nodes{};  ///< that run it, sorted
};

namespace detail {

template <class... Is, class... Os>
StageDescription describe_ends(std::string_view name, From<Is...> in, Into<Os...> out) {
  StageDescription d{std::string(name), {}, {}};
  std::apply([&](auto*... t) { (d.from.push_back(t), ...); }, in.tunnels);
  std::apply([&](auto*... t) { (d.into.push_back(t), ...); }, out.tunnels);
  for (std::size_t i = 0; i != sizeof...(Is); ++i) {  // in StageRunner's order
    TunnelBase* const tasks = d.from[i]->tasks();
    if (tasks == nullptr) continue;
    d.from.push_back(tasks);
    d.into.push_back(tasks);
  }
  return d;
}
template <class F, class... Is, class... Os>
StageDescription describe(std::string_view name, From<Is...> in, Into<Os...> out) {
  StageDescription d = describe_ends(name, in, out);
  d.item_form = Form<F, From<Is...>, Into<Os...>>::item;
  d.by_ticket = (is_restored<Os> || ...);
  return d;
}

}  // namespace detail

/// A CPU stage: what each of its threads runs.
struct CpuStageDescription {
  StageDescription stage;
  CpuStageOptions options;
  std::function<void(StageEnds const&)> body;
  std::shared_ptr<BatchStage> batch{};  ///< null if it is none
};

/// A persistent kernel: one stage, or a group.
struct GpuKernelDescription {
  std::string name;
  std::vector<StageDescription> stages;
  GpuStageOptions options;
  StageKernel kernel;
};

/// *Throws* ConfigError if an extent is 0, or there are too many threads.
void check_shape(std::string_view stage, KernelShape const& shape);

}  // namespace hiway
