// Method baseline: Hetero-Mark's scheme. The GPU takes places from the front of a list, the CPU's threads from the
// back, until all distances are there; then the CPU selects. The original has one list in managed memory; here a thread
// copies what the GPU is to work on, kernel by kernel, and its distances back at once.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "cli/host_array.hpp"
#include "knn/methods.hpp"
#include "knn/shares.hpp"
#include "knn/sharing.hpp"

namespace knn {

/// A thread a place.
struct FindDistances {
  Place const* places;
  float* distances;
  std::uint32_t count;
  Place from;
  HIWAY_DEVICE void operator()() const {
    for (std::uint32_t i = hiway::thread_index(); i < count; i += hiway::thread_count())
      distances[i] = sqrtf(squared_distance(from, places[i]));
  }
};

namespace {

/// A copy and a kernel take ten microseconds, in which a CPU thread has so many distances.
constexpr std::uint32_t times_as_many = 16;

class TwoLists {
 public:
  TwoLists(Input const& input, Tuning const& tuning, Job const& job)
      : input_(input),
        at_once_(times_as_many * tuning.at_once),
        is_emulated_(job.device == "simt"),
        shares_(static_cast<std::uint32_t>(input.places.size())),
        pipe_(job.pipeline()),
        places_(pipe_.create_buffer<Place>(input.places.size())),
        distances_(pipe_.create_buffer<float>(input.places.size())),
        places_array_(cli::copied_from(pipe_, std::span<Place const>(input.places), job.pinned)),
        distances_array_(pipe_, input.places.size(), job.pinned),
        sharing_(input, shares_, distances_array_.all(), std::max(2U, hiway::available_cpus()) - 1, tuning.at_once) {
    places_.copy_in(places_array_.first(1));
    launch({0, 1});  // loads the kernel
    pipe_.synchronize();
  }

  Measurement run() {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    shares_.begin();
    sharing_.begin();
    std::uint32_t end = 0;
    for (Range some; !(some = shares_.from_front(at_once_)).is_empty(); end = some.end) {
      places_.copy_in(places_array_.subspan(some.first, some.end - some.first), some.first);
      launch(some);
    }
    pipe_.synchronize();
    distances_.copy_out(distances_array_.all().first(end));
    std::span<Key const> const keys = sharing_.select();
    run.summary.assign(keys.begin(), keys.end());
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.items = input_.places.size();
    return run;
  }

 private:
  void launch(Range some) {
    std::uint32_t const count = some.end - some.first;
    pipe_.launch(
        "distances",
        FindDistances{places_.view().data + some.first, distances_.view().data + some.first, count, input_.from},
        is_emulated_ ? hiway::GpuStageOptions{.blocks = 1, .threads_per_block = 64}
                     : hiway::GpuStageOptions{.blocks = (count + 255) / 256, .threads_per_block = 256});
  }

  Input const& input_;
  std::uint32_t at_once_;
  bool is_emulated_;
  Shares shares_;
  hiway::Pipeline pipe_;
  hiway::Buffer<Place>& places_;
  hiway::Buffer<float>& distances_;
  std::span<Place const> places_array_;
  cli::HostArray<float> distances_array_;
  Sharing sharing_;
};

}  // namespace

std::vector<Measurement> run_baseline(Input const& input, Tuning const& tuning, Job const& job) {
  TwoLists lists{input, tuning, job};
  return cli::repeated(job, [&] { return lists.run(); });
}

}  // namespace knn
