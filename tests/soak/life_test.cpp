// A pipeline's life, many times: made, started, ended in every way, destroyed; its memory comes back. HIWAY_CYCLES: how
// many; HIWAY_SEED: the first seed.
#include <random>
#include <thread>

#include "tests/device.hpp"
#include "tests/soak/random_pipeline.hpp"
#include "tests/soak/resident_memory.hpp"

namespace {

using namespace hiway_tests;
using std::chrono::microseconds;

/// Of one life: so many that it is still under way at its moment, so few that a busy machine ends it by its deadline.
constexpr std::uint64_t most_items = 5000;

enum class End { by_itself, by_abort, by_deadline, by_a_stage, by_the_destructor };

/// One life; its outcome when it is a wrong one.
std::string live(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto const end = static_cast<End>(random() % 5);
  auto const moment = microseconds(random() % 4000);
  PipelineSpec spec = Generator(seed, most_items)();
  if (end == End::by_a_stage) {
    for (StageSpec& s : spec.stages) s.rule.fails_of = 1 + static_cast<std::uint32_t>(random() % 100);
  }
  hiway::PipelineConfig config = bounded(std::chrono::seconds(20));
  if (end == End::by_deadline) config.deadline = std::chrono::milliseconds(1 + random() % 4);
  try {
    std::unique_ptr<RandomPipeline> const life = build(spec, config);
    life->pipeline().start();
    if (end == End::by_abort || end == End::by_the_destructor) std::this_thread::sleep_for(moment);
    if (end == End::by_abort) life->pipeline().abort();
    if (end == End::by_the_destructor) return "";
    life->pipeline().wait();
    return "";  // it may have ended before the moment came
  } catch (hiway::Aborted const& e) {
    return end == End::by_abort || end == End::by_deadline ? "" : one_line(e.what());
  } catch (hiway::StageError const& e) {
    std::string const text = e.what();
    return end == End::by_a_stage && text.find("planted") != std::string::npos ? "" : one_line(text);
  } catch (std::exception const& e) {
    return one_line(e.what());
  }
}

TEST(Life, OfAPipelineLeavesNoMemoryBehind) {
  HIWAY_NEEDS_DEVICE();
  std::uint64_t const first = from_environment("HIWAY_SEED", 1);
  std::uint64_t const cycles = from_environment("HIWAY_CYCLES", 200);
  // The same seeds again and again: what the allocator keeps follows the largest.
  std::uint64_t const lap = std::max<std::uint64_t>(1, std::min<std::uint64_t>(100, cycles / 4));
  bool const short_run = std::getenv("HIWAY_CYCLES") == nullptr;
  auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(short_run ? 20 : 1000000);
  Memory warm;
  Memory last;
  std::uint64_t done = 0;
  unsigned wrong = 0;
  for (; done < cycles && std::chrono::steady_clock::now() < until && wrong < 20; ++done) {
    if (done % lap == 0 && done >= 2 * lap) {
      last = Memory::now();
      if (warm.resident == 0) warm = last;
      if (done % (10 * lap) == 0) std::cout << "lives: " << done << ", " << last << std::endl;
    }
    std::uint64_t const seed = first + done % lap;
    if (std::string const what = live(seed); !what.empty()) {
      ++wrong;
      ADD_FAILURE() << "HIWAY_SEED=" << seed << " HIWAY_CYCLES=1: " << what << " ("
                    << line_of(Generator(seed, most_items)()) << ")";
    }
  }
  if (done % lap == 0) last = Memory::now();
  std::cout << "lives: " << done << " of seeds " << first << " to " << first + lap - 1 << ", " << wrong << " wrong, "
            << last << ", when warm " << warm << std::endl;
#if !defined(HIWAY_SANITIZED)  // sanitizers keep freed memory
  if (warm.resident != 0) {
    EXPECT_LE(std::abs(last.outside_heaps() - warm.outside_heaps()), std::int64_t{1} << 20);
    if (device() == "simt") {
      EXPECT_LE(std::abs(last.resident - warm.resident), std::int64_t{1} << 20);
    }
    EXPECT_LE(last.in_use, warm.in_use + (std::int64_t{1} << 18));
  }
#endif
}

}  // namespace
