// Method hiway: feed (CPU threads) -> encrypt (a batch stage: a kernel for the pieces that have come) -> take (CPU
// threads).
#include <hiway/hiway.hpp>
#include <span>
#include <string>
#include <vector>

#include "aes/methods.hpp"
#include "aes/stages.hpp"
#include "arrays/piece.hpp"

namespace aes {
namespace {

using Piece = arrays::Piece<Block, 1024>;

struct EncryptPieces {
  RoundKeys keys;
  std::uint32_t const* table;
  Piece const* in;
  Piece* out;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    std::uint32_t const* const lookup = table_of_block(table);
    arrays::for_each_value(in, out, count, [&](Piece const& piece, std::uint32_t i) {
      return encrypted(piece.values()[i], keys, lookup);
    });
  }
};

class Encryption {
 public:
  Encryption(Problem const& problem, arrays::Carrying const& carrying, Job const& job, std::span<Block> ciphertext)
      : problem_(problem),
        ciphertext_(ciphertext),
        pipe_(job.pipeline()),
        table_(pipe_.create_buffer(std::span<std::uint32_t const>(table))) {
    arrays::Carriers const carriers = arrays::carriers_there_and_back(carrying, job.device);
    auto& plain = pipe_.create_tunnel<Piece>("plain", hiway::Direction::cpu_to_gpu, carriers.room);
    auto& secret = pipe_.create_tunnel<Piece>("secret", hiway::Direction::gpu_to_cpu, carriers.room);
    auto const encrypt = [this, device = job.device](hiway::Batch<Piece const> in, hiway::Batch<Piece> out,
                                                     hiway::Stream stream) {
      out.resize(in.size());
      auto const [blocks, threads] = arrays::launch_for(in.size() * Piece::room, device);
      stream.launch(EncryptPieces{keys_, table_.view().data, in.data(), out.data(), in.size()}, blocks, threads,
                    table_bytes);
    };
    pipe_.add_cpu_stage(
        "feed", [this](hiway::Inlet<Piece> out) { arrays::feed(out, turns_, std::span(problem_.text)); },
        hiway::into(plain), carriers.feeders);
    pipe_.add_batch_stage("encrypt", encrypt, hiway::from(plain), hiway::into(secret), carriers.batches);
    pipe_.add_cpu_stage(
        "take", [this](Piece const& piece) { arrays::keep(piece, ciphertext_); }, hiway::from(secret), carriers.takers);
  }

  void prepare() {
    pipe_.prepare();
    (void)encrypt_first(1);  // loads the kernel
  }
  Measurement run() {
    arrays::Clock const clock;
    Measurement run;
    cli::take_report(run, encrypt_first(arrays::pieces_of(ciphertext_.size(), Piece::room)));
    run.seconds = clock.seconds();
    run.items = ciphertext_.size();
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  hiway::RunReport encrypt_first(std::uint32_t pieces) {
    keys_ = round_keys(problem_.key);
    turns_.begin(pieces);
    return pipe_.run();
  }

  Problem const& problem_;
  std::span<Block> ciphertext_;
  hiway::Pipeline pipe_;
  hiway::Buffer<std::uint32_t>& table_;
  RoundKeys keys_{};
  arrays::Turns turns_;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, arrays::Carrying const& carrying, Job const& job,
                                   Text& ciphertext) {
  ciphertext.assign(problem.text.size(), {});
  Encryption encryption{problem, carrying, job, ciphertext};
  encryption.prepare();
  return cli::repeated(job, [&] {
    Measurement run = encryption.run();
    run.summary = summarize(ciphertext);
    return run;
  });
}

std::string hiway_graph(std::string const& device) {
  Problem const smallest{.text = Text(1)};
  Text ciphertext(1);
  return Encryption{smallest, {}, {.device = device}, ciphertext}.graph();
}

}  // namespace aes
