// Method baseline: Hetero-Mark's. The text is copied in, one kernel encrypts it where it lies, it is copied out.
#include <algorithm>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "aes/methods.hpp"
#include "aes/stages.hpp"
#include "cli/host_array.hpp"

namespace aes {
namespace {

struct EncryptAll {
  RoundKeys keys;
  std::uint32_t const* table;
  Block* blocks;
  std::uint64_t count;
  HIWAY_DEVICE void operator()() const {
    std::uint32_t const* const lookup = table_of_block(table);
    for (std::uint64_t i = hiway::thread_index(); i < count; i += hiway::thread_count())
      blocks[i] = encrypted(blocks[i], keys, lookup);
  }
};

/// The device's side, made once for all runs.
class Device {
 public:
  Device(Problem const& problem, Job const& job)
      : key_(problem.key),
        pipe_(job.pipeline()),
        from_(cli::copied_from<Block>(pipe_, problem.text, job.pinned)),
        to_(pipe_, problem.text.size(), job.pinned),
        table_(pipe_.create_buffer(std::span<std::uint32_t const>(table))),
        blocks_(pipe_.create_buffer<Block>(problem.text.size())) {
    auto const [blocks, threads] = arrays::launch_for(from_.size(), job.device);
    grid_ = {.blocks = blocks, .threads_per_block = threads, .shared_bytes = table_bytes};
    encrypt_first(1);  // loads the kernel
  }

  double run() {
    arrays::Clock const clock;
    encrypt_first(from_.size());
    return clock.seconds();
  }
  [[nodiscard]] std::span<Block const> ciphertext() const { return to_.all(); }

 private:
  void encrypt_first(std::size_t blocks) {
    blocks_.copy_in(from_.first(blocks));
    pipe_.launch("encrypt", EncryptAll{round_keys(key_), table_.view().data, blocks_.view().data, blocks}, grid_);
    pipe_.synchronize();
    blocks_.copy_out(to_.all().first(blocks));
  }

  Key key_;
  hiway::Pipeline pipe_;
  std::span<Block const> from_;
  cli::HostArray<Block> to_;
  hiway::Buffer<std::uint32_t>& table_;
  hiway::Buffer<Block>& blocks_;
  hiway::GpuStageOptions grid_{};
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Text& ciphertext) {
  Device device{problem, job};
  return cli::repeated(job, [&] {
    double const seconds = device.run();
    ciphertext.assign(device.ciphertext().begin(), device.ciphertext().end());
    return Measurement{.summary = summarize(ciphertext), .seconds = seconds, .items = ciphertext.size()};
  });
}

}  // namespace aes
