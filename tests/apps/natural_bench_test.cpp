// bench natural, small: every way of every course is right, and a planted error is found in each. What is lock-free by
// other people's proof is not shown to a sanitizer: fences and reads of items that are thrown away look like races to
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/benches.hpp"
#include "bench/mutex_deque.hpp"
#include "bench/natural.hpp"
#include "bench/one_item.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

#ifdef HIWAY_SANITIZED
constexpr bool with_other_queues = false;
#else
constexpr bool with_other_queues = true;
#endif

std::vector<Row> run_natural(std::vector<std::string> arguments) {
  if (!with_other_queues) arguments.insert(arguments.end(), {"--variant", "hiway"});
  std::unique_ptr<Bench> const bench = make_natural();
  cli::Options command;
  bench->add_options(command);
  EXPECT_TRUE(command.parse(arguments));
  return bench->run({.device = "simt", .repeat = 1, .small = true});
}

std::vector<std::string> variants_of(Row const& row) {
  std::vector<std::string> names;
  for (Measured const& measured : row.measured) names.push_back(measured.variant);
  return names;
}

TEST(NaturalBench, EveryCourseIsRightInEveryWay) {
  std::vector<Row> const rows = run_natural({"--items", "3000", "--compute-us", "200"});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  std::vector<std::string> courses;
  for (Row const& row : rows) courses.push_back(row.what["course"]);
  EXPECT_THAT(courses,
              ElementsAre("cpu_to_cpu", "cpu_to_cpu", "cpu_to_cpu", "cpu_to_gpu", "cpu_to_gpu", "gpu_to_cpu",
                          "gpu_to_cpu", "cpu_to_gpu_to_cpu", "cpu_to_gpu_to_cpu", "cpu_to_cpu", "cpu_to_gpu_to_cpu"));
  EXPECT_THAT(variants_of(rows.at(3)), ElementsAre("hiway", "hiway spans"));
  EXPECT_THAT(variants_of(rows.at(5)), ElementsAre("hiway", "hiway spans"));
  EXPECT_THAT(variants_of(rows.at(7)), ElementsAre("hiway", "hiway get", "hiway spans"));
  EXPECT_EQ(rows.at(10).unit, "us");
}

TEST(NaturalBench, BetweenCpusOtherQueuesStandBeside) {
  if (!with_other_queues) GTEST_SKIP() << "they are not shown to a sanitizer";
  std::vector<Row> const rows = run_natural({"--only", "cpu_to_cpu", "--items", "3000"});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(variants_of(rows[0]), testing::IsSupersetOf({boost_spsc_queue, boost_queue, mutex_and_deque}));
  EXPECT_EQ(rows[0].beside, boost_spsc_queue);
  for (std::size_t const row : {1U, 2U}) {
    std::vector<std::string> const names = variants_of(rows[row]);
    EXPECT_THAT(names, testing::Not(Contains(boost_spsc_queue))) << "it has one writer";
    bool const has_moodycamel = std::ranges::find(names, concurrent_queue_with_tokens) != names.end();
    EXPECT_EQ(rows[row].beside, has_moodycamel ? concurrent_queue_with_tokens : "hiway");
    EXPECT_TRUE(rows[row].measured[0].ratio.has_value()) << "no device is in it: it is timed";
  }
}

TEST(NaturalBench, EverySizeFitsAndTunnelsRunFull) {
  for (char const* bytes : {"4", "64"}) {
    std::vector<Row> const rows = run_natural(
        {"--item-bytes", bytes, "--threads", "3", "--items", "2000", "--capacity-items", "64", "--compute-us", "100"});
    EXPECT_THAT(first_wrong(rows), IsEmpty()) << bytes;
    EXPECT_THAT(rows, SizeIs(6));
    EXPECT_EQ(rows[0].what["cpu_threads"], 3);
  }
}

TEST(NaturalBench, EveryPlantIsFoundInEveryRowAndVariant) {
  for (char const* plant : {"lose", "duplicate", "alter"}) {
    for (char const* bytes : {"4", "16"}) {
      std::vector<Row> const rows =
          run_natural({"--plant", plant, "--item-bytes", bytes, "--items", "999", "--compute-us", "100"});
      EXPECT_THAT(rows, SizeIs(11));
      for (Row const& row : rows) {
        for (Measured const& measured : row.measured)
          EXPECT_FALSE(measured.right) << plant << " " << row.what.dump() << " " << measured.variant;
      }
    }
  }
}

TEST(NaturalBench, WrongOptionsAreNamed) {
  auto const refused = [](std::vector<std::string> const& arguments, char const* text) {
    try {
      (void)run_natural(arguments);
      FAIL() << "taken: " << text;
    } catch (cli::BadInput const& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  };
  refused({"--only", "gpu_to_gpu"}, "--only: no row gpu_to_gpu");
  refused({"--item-bytes", "12"}, "--item-bytes: 4, 16 or 64, not 12");
  refused({"--threads", "257"}, "--threads: at most 256");
  refused({"--capacity-items", "63"}, "--capacity-items: 64 to 16777216");
  refused({"--compute-us", "10000001"}, "--compute-us");
  refused({"--items", "1073741825"}, "--items: at most");
  refused({"--plant", "swap"}, "--plant: lose, duplicate or alter, not swap");
}

TEST(NaturalBench, AVariantThatIsNotThereIsNamed) {
  std::unique_ptr<Bench> const bench = make_natural();
  cli::Options command;
  bench->add_options(command);
  EXPECT_TRUE(command.parse({"--variant", "gate"}));
  EXPECT_THROW((void)bench->run({.device = "simt", .repeat = 1, .small = true}), cli::BadInput);
}

TEST(MutexDeque, IsBoundedAndHandsOutWhatItHasWhenClosed) {
  MutexDeque<int> queue(2);
  std::vector<int> got;
  {
    std::jthread const writer([&] {
      for (int i = 0; i != 100; ++i) queue.put(i);
      queue.close();
    });
    for (int item = 0; queue.next(item);) got.push_back(item);
  }
  ASSERT_THAT(got, SizeIs(100));
  EXPECT_TRUE(std::ranges::is_sorted(got));
}

TEST(OneItem, HasATimeForEachItemThatIsCounted) {
  for (bool const through_gpu : {false, true}) {
    OneItemWork const work{"simt", through_gpu, 7, std::chrono::microseconds(100)};
    auto const one = make_one_item(work);
    for (unsigned turn = 0; turn != 2; ++turn) {
      RoundTrips const made = one->run();
      EXPECT_THAT(made.wrong, IsEmpty());
      EXPECT_THAT(made.us, SizeIs(7));
      EXPECT_THAT(made.us, Each(testing::Gt(0.0)));
    }
  }
}

}  // namespace
}  // namespace bench
