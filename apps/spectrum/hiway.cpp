// Method hiway. cuFFT takes arrays: it is a batch stage; on an emulated device a kernel of ours stands in for it.
#include <algorithm>
#include <atomic>
#include <hiway/cpus.hpp>
#include <hiway/hiway.hpp>
#include <string>
#include <vector>

#include "cli/device.hpp"
#include "spectrum/fft.hpp"
#include "spectrum/methods.hpp"
#include "spectrum/on_gpu.hpp"

namespace spectrum {
namespace {

struct Unpack {
  Packet const* packets;
  Spectrum* spectra;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = hiway::thread_index(); i < count * channels; i += hiway::thread_count())
      spectra[i / channels].channel[i % channels] = in_floats(packets[i / channels].voltages[i % channels]);
    for (std::size_t i = hiway::thread_index(); i < count; i += hiway::thread_count())
      spectra[i].number = packets[i].number;
  }
};

/// A block for one spectrum after another.
struct Search {
  unsigned threads;
  HIWAY_DEVICE void operator()(hiway::Outlet<Spectrum> spectra, hiway::Inlet<Hit> hits) const {
    spectra.for_each_block_d([&](Spectrum const& spectrum) {
      for (std::uint32_t c = hiway::thread_index() % threads; c < channels; c += threads)
        if (float const p = power(spectrum.channel[c]); p > threshold) hits.put_d({spectrum.number, c, p});
    });
  }
};

class Receiver {
 public:
  Receiver(Problem const& problem, hiway::PipelineConfig const& config) : problem_(problem), pipe_(config) {
    bool const on_gpu = pipe_.device() != "simt";
    int const device = cli::number_of(pipe_.device());
    std::size_t const at_once = on_gpu ? 1024 : 16;
    unsigned const blocks = on_gpu ? 132 : 2;
    unsigned const threads = on_gpu ? 256 : 64;
    if (on_gpu) transform_ = spectrum::on_gpu().plan(at_once, device);
    hiway::TunnelConfig const room{.capacity_items = 4 * at_once};
    auto& packets = pipe_.create_tunnel<Packet>("packets", hiway::Direction::cpu_to_gpu, room);
    auto& spectra = pipe_.create_tunnel<Spectrum>("spectra", hiway::Direction::gpu_to_gpu, room);
    auto& hits = pipe_.create_tunnel<Hit>("hits", hiway::Direction::gpu_to_cpu);
    auto const transform = [=, this](hiway::Batch<Packet const> in, hiway::Batch<Spectrum> out, hiway::Stream stream) {
      out.resize(in.size());
      stream.launch(Unpack{in.data(), out.data(), in.size()}, 4 * blocks, threads);
      if (transform_) return transform_(out.data(), stream.cuda());  // of at_once, also if they are fewer
      stream.launch(TransformAll{out.data(), in.size()}, 1, 32);
    };
    pipe_.add_cpu_stage("make", [this](hiway::Inlet<Packet> out) { make(out); }, hiway::into(packets),
                        {.threads = makers(problem)});
    pipe_.add_batch_stage("transform", transform, hiway::from(packets), hiway::into(spectra),
                          {.max_items = at_once, .in_flight = 3, .device = device});
    pipe_.add_gpu_stage("search", Search{threads}, hiway::from(spectra), hiway::into(hits),
                        {.blocks = blocks, .threads_per_block = threads});
    pipe_.add_cpu_stage(
        "take", [this](Hit const& hit) { found_.add(hit.packet, hit.channel); }, hiway::from(hits));
    pipe_.prepare();
  }

  Measurement run() {
    Measurement run;
    next_ = 0;
    found_ = {};
    cli::take_report(run, pipe_.run());
    run.summary = found_;
    run.items = problem_.packets;
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  void make(hiway::Inlet<Packet> const& out) {
    std::vector<Packet> some(16);
    while (true) {
      std::uint64_t const first = next_.fetch_add(some.size(), std::memory_order_relaxed);
      if (first >= problem_.packets) return;
      some.resize(std::min<std::uint64_t>(some.size(), problem_.packets - first));
      for (std::size_t i = 0; i < some.size(); ++i) {
        some[i].number = first + i;
        make_voltages(problem_.seed, first + i, some[i].voltages);
      }
      out.put_h(some);
    }
  }

  Problem problem_;
  hiway::Pipeline pipe_;
  Transform transform_;
  std::atomic<std::uint64_t> next_{0};
  Summary found_;
};

}  // namespace

unsigned makers(Problem const& problem) {
  return problem.threads != 0 ? problem.threads : std::max(1U, hiway::available_cpus() / 2);
}

std::vector<Measurement> run_hiway(Problem const& problem, Job const& job) {
  Receiver receiver{problem, job.pipeline()};
  return cli::repeated(job, [&] { return receiver.run(); });
}

std::string hiway_graph(Problem const& problem, std::string const& device) {
  return Receiver{problem, {.device = device}}.graph();
}

}  // namespace spectrum
