// Random pipelines against a serial oracle. HIWAY_SEED: the first seed; HIWAY_PIPELINES: how many; HIWAY_SECONDS: not
// longer than this. HIWAY_SEED=n HIWAY_PIPELINES=1 replays one.
#include "tests/soak/random_pipeline.hpp"

#include "tests/device.hpp"

namespace {

using namespace hiway_tests;
using namespace std::chrono_literals;

hiway::PipelineConfig watched(std::uint64_t seed) {
  // A hang is a stall. Small tunnels on a busy machine have taken 20 s while items moved.
  hiway::PipelineConfig config = bounded(std::chrono::seconds(100));
  config.stall_after = std::chrono::seconds(10);
  config.on_stall = hiway::OnStall::abort;
  constexpr std::chrono::microseconds slices[] = {1us, 20us, 300us, 5000us};
  config.slice = slices[seed / 2 % std::size(slices)];
  return config;
}

/// Every third pipeline has pools of a quarter of what ever comes: throttles are met, and some pools overflow.
bool has_small_pools(PipelineSpec const& spec) { return spec.seed % 3 == 0; }
PipelineSpec generate(std::uint64_t seed) {
  PipelineSpec spec = Generator(seed, 3000)();
  if (seed % 4 == 3) draw_batches(spec);
  if (!has_small_pools(spec)) return spec;
  std::vector<Seen> const expected = expected_of(spec);
  for (TunnelSpec& t : spec.tunnels) {
    if (t.config.when_full != hiway::WhenFull::automatic) continue;  // a put that never waits overflows all the same
    t.config.spill_items = 1 + expected[spec.stages[t.readers[0]].like].items.bits / 4;
  }
  return spec;
}

struct Tally {
  std::uint64_t throttled = 0;
  std::uint64_t overflowed = 0;
};

/// What was wrong with a run of `spec`, or nothing.
std::string wrong_with(PipelineSpec const& spec, Tally& tally) {
  try {
    std::unique_ptr<RandomPipeline> const random = build(spec, watched(spec.seed));
    std::vector<Seen> const expected = expected_of(spec);
    hiway::RunReport const report = random->pipeline().run();
    for (hiway::TunnelReport const& t : report.tunnels) tally.throttled += t.throttled;
    std::vector<Seen> const seen = random->seen();
    for (std::size_t s = 0; s < seen.size(); ++s) {
      if (seen[s] == expected[s]) continue;
      std::ostringstream out;
      out << "stage s" << s << " got " << seen[s] << ", not " << expected[s];
      return out.str();
    }
    return "";
  } catch (std::exception const& e) {
    std::string const what = one_line(e.what());
    if (has_small_pools(spec) && what.find("the spill pool is full") != std::string::npos) {
      ++tally.overflowed;
      return "";
    }
    return what;
  }
}

TEST(RandomPipelines, BringEveryStageWhatTheOracleSays) {
  HIWAY_NEEDS_DEVICE();
  bool const long_run = std::getenv("HIWAY_PIPELINES") != nullptr || std::getenv("HIWAY_SECONDS") != nullptr;
  std::uint64_t const first = from_environment("HIWAY_SEED", 1);
  std::uint64_t const count = from_environment("HIWAY_PIPELINES", long_run ? ~std::uint64_t{0} >> 1 : 200);
  auto const until = std::chrono::steady_clock::now() +
                     std::chrono::seconds(from_environment("HIWAY_SECONDS", long_run ? 1000000 : 10));
  std::uint64_t seed = first;
  std::uint64_t wrong = 0;
  Tally tally;
  for (; seed != first + count && std::chrono::steady_clock::now() < until && wrong < 20; ++seed) {
    PipelineSpec const spec = generate(seed);
    std::string const what = wrong_with(spec, tally);
    if (what.empty()) continue;
    ++wrong;
    ADD_FAILURE() << "HIWAY_SEED=" << seed << " HIWAY_PIPELINES=1: " << what << " (" << line_of(spec) << ")";
  }
  std::cout << "random pipelines: seeds " << first << " to " << seed - 1 << ", " << wrong << " wrong; throttled "
            << tally.throttled << " times, " << tally.overflowed << " overflowed" << std::endl;
}

// On a GPU nearly each time, by a low_latency item that was read with the next one's tag (docs/adr/0035).
TEST(RandomPipelines, ThoseThatWereWrongOnce) {
  HIWAY_NEEDS_DEVICE();
  Tally tally;
  for (std::uint64_t const seed : {609, 950, 103718, 104542, 105036, 105280})
    EXPECT_EQ(wrong_with(generate(seed), tally), "") << "HIWAY_SEED=" << seed << " HIWAY_PIPELINES=1";
}

}  // namespace
