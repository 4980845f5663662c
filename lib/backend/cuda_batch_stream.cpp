#include "lib/backend/cuda_batch_stream.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiway/error.hpp"
#include "lib/backend/cuda_call.hpp"
#include "lib/backend/cuda_event.hpp"
#include "lib/backend/cuda_launch.hpp"
#include "lib/backend/cuda_stream.hpp"

namespace hiway {
namespace {

constexpr char const* this_file = "lib/backend/cuda_batch_stream.cpp";

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using GraphPtr = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

/// A captured body that can be launched.
class GpuBatchGraph final : public BatchGraph {
 public:
  GpuBatchGraph(GraphPtr const& graph, std::string_view what) {
    HIWAY_CUDA(cudaGraphInstantiate(&launchable_, graph.get(), 0), what);
  }
  ~GpuBatchGraph() override { cudaGraphExecDestroy(launchable_); }
  GpuBatchGraph(GpuBatchGraph const&) = delete;
  GpuBatchGraph& operator=(GpuBatchGraph const&) = delete;
  [[nodiscard]] cudaGraphExec_t get() const { return launchable_; }

 private:
  cudaGraphExec_t launchable_ = nullptr;
};

// Large copies have streams of their own, which the bodies' stream and these wait for by events. Small ones go by the
// bodies' stream: an event between two streams takes longer than they do. Once a run has made a large copy from the
// device, all later copies from there go by the same stream, also small ones: an event in that stream then covers all
// of a batch. Counts are an exception, because the next body overwrites them.
class GpuBatchStream final : public BatchStream {
 public:
  GpuBatchStream(Gpu gpu, std::string title, std::size_t batches)
      : title_(std::move(title)),
        in_(gpu, title_),
        bodies_(gpu, title_),
        out_(gpu, title_),
        came_(make_event(gpu, title_)),
        made_(make_event(gpu, title_)) {
    for (std::size_t i = 0; i < batches; ++i) {
      copied_.push_back(make_event(gpu, title_));
      marks_.push_back(make_event(gpu, title_));
    }
  }
  ~GpuBatchStream() override { leave(); }

  void enter() override { current_.of_run.emplace(gpu(), title_); }
  void copy_count(std::uint32_t* to, std::uint32_t const* from) override {
    HIWAY_CUDA(cudaMemcpyAsync(to, from, sizeof *from, cudaMemcpyDefault, bodies_.get()), title_);
    small_left_ = true;
  }
  void follow(CUstream_st* stream) override { order(stream, bodies_, title_); }
  void begin_body() override {
    current_.of_body.emplace(gpu(), title_);
    await_copies();
  }
  void end_body() override {
    current_.of_body.reset();
    out_waits_ = true;
  }
  void launch(DeviceKernel kernel, simt::Grid grid) override {
    require_code(title_, kernel);
    launch_on(bodies_, title_, kernel, grid);
  }
  std::unique_ptr<BatchGraph> capture(std::function<void()> const& give) override {
    HIWAY_CUDA(cudaStreamBeginCapture(bodies_.get(), cudaStreamCaptureModeThreadLocal), title_);
    try {
      give();
    } catch (...) {
      static_cast<void>(end_capture());
      throw;
    }
    GraphPtr const graph = end_capture();
    if (graph == nullptr) {
      static_cast<void>(cudaGetLastError());
      throw MisuseError(
          "the body cannot be captured as a graph: it does what a stream that is captured does not take, as cudaMalloc "
          "or a wait for the stream; leave out BatchOptions::capture");
    }
    return std::make_unique<GpuBatchGraph>(graph, title_);
  }
  void replay(BatchGraph const& graph) override {
    HIWAY_CUDA(cudaGraphLaunch(static_cast<GpuBatchGraph const&>(graph).get(), bodies_.get()), title_);
  }
  [[nodiscard]] CUstream_st* cuda() const override { return bodies_.get(); }

  void mark_copies(std::size_t batch) override {
    if (small_came_) await_copies();
    HIWAY_CUDA(cudaEventRecord(copied_[batch].get(), body_waits_ ? in_.get() : bodies_.get()), title_);
  }
  bool has_copied(std::size_t batch) override { return has_come(copied_[batch], title_); }
  void mark(std::size_t batch) override {
    bool const copied = std::exchange(marks_out_, false);
    if (copied && small_left_) order_out();
    HIWAY_CUDA(cudaEventRecord(marks_[batch].get(), copied ? out_.get() : bodies_.get()), title_);
  }
  bool has_passed(std::size_t batch) override { return has_come(marks_[batch], title_); }
  void leave() noexcept override {
    current_.of_body.reset();
    current_.of_run.reset();
    Gpu::Current const here(gpu());  // also for the thread that destroys the stream
    for (GpuStream const* s : {&in_, &bodies_, &out_}) cudaStreamSynchronize(s->get());
    body_waits_ = small_came_ = out_waits_ = small_left_ = out_used_ = marks_out_ = false;
  }

 private:
  static constexpr std::size_t small = std::size_t{64} << 10;

  [[nodiscard]] Gpu gpu() const { return bodies_.gpu(); }
  void give_copy(BusDirection way, void* to, void const* from, std::size_t bytes) override {
    HIWAY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_for(way, bytes).get()), title_);
  }
  [[nodiscard]] GpuStream const& stream_for(BusDirection way, std::size_t bytes) {
    bool const there = way == BusDirection::to_device;
    if (bytes <= small && (there || !out_used_)) {
      (there ? small_came_ : small_left_) = true;
      return bodies_;
    }
    if (there) {
      body_waits_ = true;
      return in_;
    }
    if (out_waits_ || small_left_) order_out();
    out_used_ = marks_out_ = true;
    return out_;
  }
  /// Null if what was given is no graph.
  [[nodiscard]] GraphPtr end_capture() const {
    cudaGraph_t graph = nullptr;
    cudaError_t const error = cudaStreamEndCapture(bodies_.get(), &graph);
    GraphPtr made(graph);
    return error == cudaSuccess ? std::move(made) : nullptr;
  }
  /// Lets later copies from the device wait for all that `bodies_` has.
  void order_out() {
    order(bodies_.get(), made_, out_, title_);
    out_waits_ = small_left_ = false;
  }
  /// Lets the next body wait for the copies to the device.
  void await_copies() {
    if (std::exchange(body_waits_, false)) order(in_.get(), came_, bodies_, title_);
    small_came_ = false;
  }

  std::string title_;
  GpuStream in_;
  GpuStream bodies_;
  GpuStream out_;
  GpuEvent came_;                 ///< what was copied in
  GpuEvent made_;                 ///< by bodies
  std::vector<GpuEvent> copied_;  ///< by batch, before its body
  std::vector<GpuEvent> marks_;   ///< by batch
  bool body_waits_ = false;       ///< the next body, for `in_`
  bool small_came_ = false;       ///< `bodies_` has copies to the device for the next body
  bool out_waits_ = false;        ///< the next large copy, for bodies
  bool small_left_ = false;       ///< `bodies_` has copies from the device that `out_` does not wait for
  bool out_used_ = false;         ///< in this run
  bool marks_out_ = false;        ///< the next mark comes after what `out_` has
  struct {
    std::optional<Gpu::Current> of_run;
    std::optional<Gpu::Current> of_body;  ///< the body may make another device current
  } current_;
};

}  // namespace

std::unique_ptr<BatchStream> make_gpu_batch_stream(Gpu gpu, std::string title, std::size_t batches) {
  return std::make_unique<GpuBatchStream>(gpu, std::move(title), batches);
}

}  // namespace hiway
