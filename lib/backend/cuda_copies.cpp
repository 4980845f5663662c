#include "lib/backend/cuda_copies.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "hiway/error.hpp"
#include "lib/backend/cuda_call.hpp"
#include "lib/backend/cuda_event.hpp"
#include "lib/backend/cuda_stream.hpp"

namespace hiway {
namespace {

constexpr char const* this_file = "lib/backend/cuda_copies.cpp";

static_assert(CUDART_VERSION >= 13000, "hiway: cudaMemcpyBatchAsync as CUDA 13 has it");

// Submissions alternate between two streams: the copies of one are under way while the other's words are set, which
// takes some microseconds (docs/adr/0037). Submission n has event n mod most_under_way to itself until it has
// completed. Its words are set by stream operations after its copies; the stream makes the copies' writes visible
// first. These operations also wait for the event of the submission before, so words are set in the order of
// submissions.
class GpuCopies final : public CopyStream {
 public:
  explicit GpuCopies(Gpu gpu) : streams_{{gpu, what}, {gpu, what}} {
    for (std::uint64_t i = 0; i != most_under_way; ++i) events_.push_back(make_event(gpu, what));
  }
  ~GpuCopies() override {
    Gpu::Current const here(gpu());
    for (GpuStream const& stream : streams_) cudaStreamSynchronize(stream.get());  // before the events are destroyed
  }

  std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) override {
    Gpu::Current const here(gpu(), what);
    cudaStream_t const stream = streams_[submitted_ % 2].get();
    copy(copies, stream);
    if (!words.empty() && submitted_ != 0) HIWAY_CUDA(cudaStreamWaitEvent(stream, event_of(submitted_ - 1)), what);
    for (WordCopy const& w : words) set(w, stream);
    HIWAY_CUDA(cudaEventRecord(event_of(submitted_), stream), what);
    return ++submitted_;
  }
  std::uint64_t completed() override {
    Gpu::Current const here(gpu(), what);
    for (; completed_ != submitted_; ++completed_) {
      if (!has_come(events_[completed_ % most_under_way], what)) break;
    }
    return completed_;
  }

 private:
  [[nodiscard]] Gpu gpu() const { return streams_[0].gpu(); }
  [[nodiscard]] cudaEvent_t event_of(std::uint64_t submission) const {
    return events_[submission % most_under_way].get();
  }
  static void set(WordCopy const& w, cudaStream_t stream) {
    CUresult const result = write_in_order(stream, w.word, w.value);
    if (result != CUDA_SUCCESS)
      throw CudaError(std::string(what) + ": cuStreamWriteValue64 failed: " + std::to_string(result));
  }
  void copy(std::span<Copy const> copies, cudaStream_t stream) {
    targets_.clear();
    sources_.clear();
    bytes_.clear();
    for (Copy const& c : copies) {
      if (c.rows != 1) {
        HIWAY_CUDA(cudaMemcpy2DAsync(c.target, c.pitch, c.source, c.pitch, c.bytes, c.rows, cudaMemcpyDefault, stream),
                   what);
        continue;
      }
      targets_.push_back(c.target);
      sources_.push_back(c.source);
      bytes_.push_back(c.bytes);
    }
    if (bytes_.empty()) return;
    if (bytes_.size() == 1) {
      HIWAY_CUDA(cudaMemcpyAsync(targets_[0], sources_[0], bytes_[0], cudaMemcpyDefault, stream), what);
      return;
    }
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;  // persistent kernels leave no SM free to copy with
    std::size_t of_all = 0;
    HIWAY_CUDA(cudaMemcpyBatchAsync(targets_.data(), sources_.data(), bytes_.data(), bytes_.size(), &attributes,
                                    &of_all, 1, stream),
               what);
  }

  static constexpr char const* what = "copy stream";
  std::vector<GpuEvent> events_;
  GpuStream streams_[2];
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
  // The lists of one submission; they are members so that their memory is reused.
  std::vector<void*> targets_;
  std::vector<void const*> sources_;
  std::vector<std::size_t> bytes_;
};

}  // namespace

std::unique_ptr<CopyStream> make_gpu_copies(Gpu gpu) { return std::make_unique<GpuCopies>(gpu); }

}  // namespace hiway
