// Program: what the baseline and hiway have in common, which is all but how frames and foregrounds are carried.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "background_extraction/methods.hpp"
#include "background_extraction/stages.hpp"

namespace background_extraction {

/// The methods' names, for Extract and run.
struct Baseline;
struct Hiway;

/// The taking side: keeps all foregrounds, and counts what is not 0 in them.
class Kept {
 public:
  explicit Kept(Video const& video);

  /// Room for the foreground of frame `f`, from 1 on.
  [[nodiscard]] std::span<Strip> frame(std::uint32_t f);
  /// Starts the taking thread on the foreground that lies in frame(f), when it is done with the one before.
  void count_beside(std::uint32_t f);
  /// Puts a strip of a foreground to the others, and counts. *Threads*: any number at once.
  void take(Strip const& strip);
  /// *Waits* for the taking thread.
  void finish();

  void clear();
  [[nodiscard]] Summary summary() const;
  [[nodiscard]] std::vector<std::uint8_t> last() const;

 private:
  Video const& video_;
  std::vector<Strip> strips_;
  std::atomic<std::uint64_t> bytes_{0};
  std::jthread counter_;  // goes before what it works on
};

/// *Lifetime*: not longer than the video's.
struct Program {
  Program(Video const& video, std::string const& device);

  Video const& video;
  hiway::Pipeline pipe;
  hiway::Buffer<Strip>& frame;  ///< room for one, on the device
  hiway::Buffer<Background>& places;
  Model model;
  Kept kept;
  hiway::GpuStageOptions grid;        ///< of ordinary kernels: a block for each strip
  hiway::GpuStageOptions warps;       ///< of a stage that stays: as many warps as the device is busy with
  hiway::CpuStageOptions carriers{};  ///< CPU threads that feed, or take
};

/// The feeding side of a tunnel. Each thread has places of its own (for_each_in_order, O1).
struct Feed {
  Video const* video;
  void operator()(hiway::Inlet<Strip> out) const {
    for (std::uint32_t f = 1; f < video->frames(); ++f)
      out.put_h(video->frame(f, hiway::thread_index(), hiway::thread_count()));
  }
};
/// The taking side of a tunnel.
struct Take {
  Kept* kept;
  void operator()(Strip const& foreground) const { kept->take(foreground); }
};

/// The method's kernel.
template <class Method>
struct Extract;

/// The method: adds to `p` what it carries frames by, and measures it.
template <class Method>
std::vector<Measurement> run(Program& p, Job const& job);
template <>
std::vector<Measurement> run<Baseline>(Program& p, Job const& job);
template <>
std::vector<Measurement> run<Hiway>(Program& p, Job const& job);

/// Begins the background and has all other frames carried, as often as the job says: by `carry(f)` one after another, by the
/// feeding thread, which is the caller's; or by `carry()` all of them. For units that place stages.
template <class Carry>
std::vector<Measurement> measured(Program& p, Job const& job, Carry&& carry) {
  bool const has_tunnels = p.pipe.tunnel_count() != 0;
  if (has_tunnels && job.repeat != 0) p.pipe.prepare();
  return cli::repeated(job, [&] {
    p.kept.clear();
    auto const begin = std::chrono::steady_clock::now();
    p.frame.copy_in(p.video.frame(0));
    p.pipe.launch("begin", Begin{p.model}, p.grid);
    p.pipe.synchronize();
    if constexpr (std::is_invocable_v<Carry&, std::uint32_t>) {
      for (std::uint32_t f = 1; f < p.video.frames(); ++f) carry(f);
    } else {
      carry();
    }
    p.kept.finish();
    Measurement run;
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = p.kept.summary();
    run.last = p.kept.last();
    run.items = std::uint64_t{p.video.strips()} * (p.video.frames() - 1);
    if (has_tunnels) {
      double const seconds = run.seconds;
      cli::take_report(run, p.pipe.stats());
      run.seconds = seconds;
    }
    return run;
  });
}

}  // namespace background_extraction
