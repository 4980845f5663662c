#include "background_extraction/program.hpp"

#include <hiway/cpus.hpp>

namespace background_extraction {
namespace {

std::uint64_t count_foreground(Strip const& strip) {
  std::uint32_t count = 0;
  for (Pack const& pack : strip.contents) {
    for (std::uint8_t const byte : pack.bytes) count += byte != 0 ? 1 : 0;
  }
  return count;
}

/// What is left to the library's monitors and to the other side; more than four threads do not carry more.
unsigned carriers_here() { return std::clamp(hiway::available_cpus() / 2, 3U, 6U) - 2; }

}  // namespace

Kept::Kept(Video const& video) : video_(video), strips_(std::size_t{video.frames() - 1} * video.strips()) {}

std::span<Strip> Kept::frame(std::uint32_t f) {
  return std::span{strips_}.subspan(std::size_t{f - 1} * video_.strips(), video_.strips());
}
void Kept::count_beside(std::uint32_t f) {
  counter_ = std::jthread{[this, f] {
    std::uint64_t count = 0;
    for (Strip const& strip : frame(f)) count += count_foreground(strip);
    bytes_ += count;
  }};
}
void Kept::take(Strip const& strip) {
  frame(strip.frame)[strip.place] = strip;
  bytes_.fetch_add(count_foreground(strip), std::memory_order_relaxed);
}
void Kept::finish() { counter_ = {}; }

void Kept::clear() {
  std::ranges::fill(strips_, Strip{});
  bytes_ = 0;
}
Summary Kept::summary() const {
  Summary summary{.frames = video_.frames(), .foreground_bytes = bytes_};
  for (std::size_t first = 0; first < strips_.size(); first += video_.strips())
    summary.foreground_hash = hash_on(
        summary.foreground_hash, bytes_of(std::span{strips_}.subspan(first, video_.strips()), video_.frame_bytes()));
  return summary;
}
std::vector<std::uint8_t> Kept::last() const {
  if (strips_.empty()) return {};
  return bytes_of(std::span{strips_}.last(video_.strips()), video_.frame_bytes());
}

Program::Program(Video const& v, std::string const& device)
    : video(v),
      pipe(hiway::PipelineConfig{.device = device}),
      frame(pipe.create_buffer<Strip>(v.strips())),
      places(pipe.create_buffer<Background>(v.strips())),
      model{places.view().data, frame.view().data, v.strips()},
      kept(v) {
  bool const emulated = device == "simt";
  grid = {.blocks = v.strips(), .threads_per_block = emulated ? 32U : 256U};
  warps = {.blocks = emulated ? 2U : 256U, .threads_per_block = emulated ? 64U : 128U};
  carriers.threads = carriers_here();
}

std::vector<Measurement> run_hiway(Video const& video, Job const& job) {
  Program program{video, job.device};
  return run<Hiway>(program, job);
}
std::vector<Measurement> run_baseline(Video const& video, Job const& job) {
  Program program{video, job.device};
  return run<Baseline>(program, job);
}
std::string hiway_graph(std::string const& device) {
  Video const smallest{1, 1, 1, 1};
  Program program{smallest, device};
  (void)run<Hiway>(program, {.device = device, .repeat = 0});
  return program.pipe.graph();
}

}  // namespace background_extraction
