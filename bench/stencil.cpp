// bench stencil: how fast a stream of matrices goes through a stencil tunnel, beside a plain large copy of as many bytes, and
// what it costs to let tasks go round until they are ready, as the paper does. Nobody computes: each task adds up its
// centre's value, which is the check.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <hiway/pipeline.hpp>
#include <hiway/stencil/stencil_tunnel.hpp>
#include <memory>
#include <string>
#include <vector>

#include "bench/benches.hpp"
#include "bench/raw_cuda.hpp"
#include "bench/timed_mover.hpp"
#include "cli/bad_input.hpp"

namespace bench {

/// A value of the matrix: its number, as often as there is room.
template <unsigned Bytes>
struct Cell {
  std::uint32_t number[Bytes / 4];
};
template <unsigned Bytes>
HIWAY_DEVICE Cell<Bytes> cell(std::uint32_t number) {
  Cell<Bytes> value;
  for (std::uint32_t& n : value.number) n = number;
  return value;
}

struct Matrices {
  std::uint32_t width, height, frames;
  HIWAY_DEVICE std::uint32_t number(std::uint32_t x, std::uint32_t y) const { return y * width + x; }
};

/// Each thread sets the values of rows whose turn is its own.
template <unsigned Bytes>
struct SetRows {
  Matrices m;
  Cell<Bytes> const* source;
  void operator()(hiway::StencilInlet<Cell<Bytes>> out) const {
    for (std::uint32_t frame = 0; frame < m.frames; ++frame) {
      for (std::uint32_t y = hiway::thread_index(); y < m.height; y += hiway::thread_count())
        out.set_h(0, y, std::span<Cell<Bytes> const>(source + std::size_t{y} * m.width, m.width), frame);
    }
  }
};
/// The lanes of a GPU set values side by side.
template <unsigned Bytes>
struct SetValues {
  Matrices m;
  HIWAY_DEVICE void operator()(hiway::StencilInlet<Cell<Bytes>> out) const {
    std::uint32_t const all = m.width * m.height;
    for (std::uint32_t frame = 0; frame < m.frames; ++frame) {
      for (std::uint32_t i = hiway::thread_index(); i < all; i += hiway::thread_count())
        out.set_d(i % m.width, i / m.width, cell<Bytes>(i), frame);
    }
  }
};
/// Adds up what it finds in the places of its tasks.
template <unsigned Bytes>
struct AddUp {
  Matrices m;
  hiway::View<hiway::Word<std::uint64_t>> sums;
  HIWAY_DEVICE void operator()(hiway::StencilOutlet<Cell<Bytes>> in) const {
    std::uint64_t sum = 0;
    in.for_each([&](hiway::StencilTask const& t) {
      Cell<Bytes> const& value = in.fetch(t.x, t.y);
      sum += value.number[0] == m.number(t.x, t.y) && value.number[Bytes / 4 - 1] == value.number[0]
                 ? value.number[0] + std::uint64_t{1}
                 : std::uint64_t{1} << 40;
    });
    hiway::anywhere([&](auto machine) { machine.fetch_add(sums[0], sum, hiway::MemoryOrder::relaxed); });
  }
};

namespace {

/// How the matrices go.
struct Way {
  hiway::Movement movement = hiway::Movement::dma;
  hiway::StencilTasks tasks = hiway::StencilTasks::when_ready;
};

template <unsigned Bytes>
class Stream {
 public:
  Stream(Matrices const& matrices, Flow flow, Way const& way, unsigned threads, std::uint32_t region, bool small,
         std::string const& device)
      : m_(matrices), flow_(flow), pipe_(hiway::PipelineConfig{.device = device}) {
    using Value = Cell<Bytes>;
    hiway::StencilConfig const config{.width = m_.width,
                                      .height = m_.height,
                                      .region_width = std::min(region, m_.width),
                                      .region_height = std::min(region, m_.height),
                                      .frames = m_.frames,
                                      .buffers = 3,
                                      .edges = hiway::StencilEdges::clipped,
                                      .tasks = way.tasks,
                                      .movement = way.movement};
    hiway::GpuStageOptions const grid{.blocks = small ? 2u : 128u, .threads_per_block = small ? 32u : 256u};
    if (flow == Flow::cpu_to_gpu) {
      for (std::uint32_t i = 0; i < m_.width * m_.height; ++i) source_.push_back(cell<Bytes>(i));
      auto& matrix = pipe_.create_stencil_tunnel<Value>("matrix", hiway::Direction::cpu_to_gpu, config);
      sums_ = &pipe_.create_buffer<hiway::Word<std::uint64_t>>(1);
      pipe_.add_cpu_stage("set", SetRows<Bytes>{m_, source_.data()}, hiway::into(matrix), {.threads = threads});
      pipe_.add_gpu_stage("add up", AddUp<Bytes>{m_, sums_->view()}, hiway::from(matrix), grid);
    } else {
      auto& matrix = pipe_.create_stencil_tunnel<Value>("matrix", hiway::Direction::gpu_to_cpu, config);
      pipe_.add_gpu_stage("set", SetValues<Bytes>{m_}, hiway::into(matrix), grid);
      pipe_.add_cpu_stage("add up", AddUp<Bytes>{m_, {&host_sum_, 1}}, hiway::from(matrix), {.threads = threads});
    }
    pipe_.prepare();
  }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;

  [[nodiscard]] Turn turn() {
    host_sum_.bits = 0;
    if (sums_ != nullptr) sums_->copy_in(std::span<hiway::Word<std::uint64_t> const>(&host_sum_, 1));
    hiway::RunReport const run = pipe_.run();
    report_ = run.stencils.front();
    if (sums_ != nullptr) sums_->copy_out(std::span<hiway::Word<std::uint64_t>>(&host_sum_, 1));
    std::uint64_t const n = std::uint64_t{m_.width} * m_.height;
    std::uint64_t const expected = m_.frames * (n * (n + 1) / 2);
    Turn turn{static_cast<double>(n * m_.frames * Bytes) / run.seconds, host_sum_.bits == expected};
    if (!turn.right)
      turn.wrong = "the values' sum is " + std::to_string(host_sum_.bits) + ", not " + std::to_string(expected);
    return turn;
  }
  [[nodiscard]] Json facts() const {
    return {
        {"region_copies", report_.region_copies},
        {"copies_per_value", static_cast<double>(report_.bytes_moved) / static_cast<double>(report_.values * Bytes)},
        {"tasks", report_.tasks},
        {"strips_put_back", report_.put_back}};
  }

 private:
  Matrices m_;
  Flow flow_;
  hiway::Pipeline pipe_;
  std::vector<Cell<Bytes>> source_;
  hiway::Buffer<hiway::Word<std::uint64_t>>* sums_ = nullptr;
  hiway::Word<std::uint64_t> host_sum_{0};
  hiway::StencilReport report_;
};

class StencilBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "stencil"; }
  [[nodiscard]] std::string summary() const override {
    return "a stream of matrices through a stencil tunnel, beside a large copy; tasks when ready, or put back";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--size", size_, "of a matrix, in values a side; 0: frames of 64 MiB").type_name("N");
    command.add_option("--frames", frames_, "0: 16").type_name("N");
    command.add_option("--region", region_, "values a side; 0: the library chooses").type_name("N");
    command.add_option("--threads", threads_, "CPU threads; 0: 8").type_name("N");
    command.add_option("--flow", flow_, "only this: cpu_to_gpu, gpu_to_cpu").type_name("FLOW");
  }
  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    if (size_ > 16384) throw cli::BadInput{"--size: at most 16384"};
    if (frames_ > 4096) throw cli::BadInput{"--frames: at most 4096"};
    if (threads_ > 256) throw cli::BadInput{"--threads: at most 256"};
    std::vector<Row> rows;
    for (Flow const flow : {Flow::cpu_to_gpu, Flow::gpu_to_cpu}) {
      if (!flow_.empty() && flow_ != name_of(flow)) continue;
      rows.push_back(row<4>(flow, request));
      rows.push_back(row<64>(flow, request));
    }
    if (rows.empty()) throw cli::BadInput{"--flow: no flow " + flow_};
    return rows;
  }

 private:
  template <unsigned Bytes>
  [[nodiscard]] Row row(Flow flow, Request const& request) const {
    std::uint32_t const side = size_ != 0 ? size_ : request.small ? 48 : Bytes == 4 ? 4096 : 1024;
    Matrices const matrices{side, side, frames_ != 0 ? frames_ : request.small ? 3 : 16};
    unsigned const threads = threads_ != 0 ? threads_ : request.small ? 2 : 8;
    std::vector<Variant> variants;
    auto const add = [&](char const* name, Way const& way) {
      std::uint32_t const region = region_ != 0 || !request.small ? region_ : 16;
      auto stream =
          std::make_shared<Stream<Bytes>>(matrices, flow, way, threads, region, request.small, request.device);
      variants.push_back({name, [stream] { return stream->turn(); }, [stream] { return stream->facts(); }});
    };
    add("dma", {});
    add("direct", {.movement = hiway::Movement::direct});
    add("dma, put back", {.tasks = hiway::StencilTasks::put_back});
    std::string beside;
    if (RawCuda const* const raw = raw_cuda(request.device); raw != nullptr) {
      Work const work{request.device, flow, 16, 1, Plant::none};
      auto timed = std::make_shared<TimedMover>(raw->make(ByHand::large_copy, work, 4 << 20), work, 0, false);
      auto bytes = [timed] {
        Turn turn = timed->turn();
        turn.value *= 16;
        return turn;
      };
      beside = name_of(ByHand::large_copy);
      variants.push_back({beside, bytes});
    }
    Json what = Json::object();
    what["flow"] = name_of(flow);
    what["value_bytes"] = Bytes;
    what["width"] = what["height"] = side;
    what["frames"] = matrices.frames;
    what["cpu_threads"] = threads;
    return measure(std::move(what), "bytes/s", Better::more, beside, variants, request);
  }

  std::uint32_t size_ = 0;
  std::uint32_t frames_ = 0;
  std::uint32_t region_ = 0;
  unsigned threads_ = 0;
  std::string flow_;
};

}  // namespace

std::unique_ptr<Bench> make_stencil() { return std::make_unique<StencilBench>(); }

}  // namespace bench
