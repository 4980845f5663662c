// bench natural: the calls that a user writes first, item by item, beside spans and beside what CPU threads may use
// instead.
//
// Time is the steady clock's from run() to its return, as in bench tunnel; queues of other libraries: from the start of
// their threads to the last one's end. What has no device in it is timed also where the device is emulated.
#include "bench/natural.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/one_item.hpp"
#include "bench/raw_cuda.hpp"
#include "bench/timed_mover.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

constexpr std::pair<Course, char const*> courses[] = {{Course::cpu_to_cpu, "cpu_to_cpu"},
                                                      {Course::cpu_to_gpu, "cpu_to_gpu"},
                                                      {Course::gpu_to_cpu, "gpu_to_cpu"},
                                                      {Course::cpu_to_gpu_to_cpu, "cpu_to_gpu_to_cpu"}};
constexpr char const* one_item = "one_item";
constexpr char const* by_items = "hiway";
constexpr char const* by_gets = "hiway get";
constexpr char const* by_spans = "hiway spans";
constexpr std::size_t batch_bytes = 1 << 20;  // of baselines that have batches: none of these
constexpr std::size_t usual_capacity = 65536;
constexpr std::size_t small_capacity = 256;  // on the emulated device: full now and then
constexpr std::uint64_t small_items = 1000;

class NaturalBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "natural"; }
  [[nodiscard]] std::string summary() const override {
    return "items a second by one call for each, on CPU ends: beside spans and beside queues of other libraries";
  }

  void add_options(cli::Options& command) override {
    command.add_option("--only", only_, "only this: cpu_to_cpu, cpu_to_gpu, gpu_to_cpu, cpu_to_gpu_to_cpu, one_item")
        .type_name("ROW");
    command.add_option("--variant", variant_, "only those whose name begins so").type_name("NAME");
    command.add_option("--item-bytes", item_bytes_, "4, 16 or 64").type_name("BYTES").default_str("16");
    command.add_option("--threads", threads_, "of each CPU end; 0: 1, 4 and 8 between CPUs, else 1 and 8")
        .type_name("N");
    command.add_option("--items", items_, "of a turn; 0: as many as take 100 ms").type_name("N");
    command.add_option("--capacity-items", capacity_items_, "of tunnels and queues; 0: 65536").type_name("N");
    command.add_option("--compute-us", compute_us_, "of one_item: how long its thread computes; 0: 20000")
        .type_name("N");
    command.add_option("--plant", plant_, "an error that must be found: lose, duplicate, alter").type_name("ERROR");
  }

  void check_options() const override {
    bool const known = only_.empty() || only_ == one_item ||
                       std::ranges::any_of(courses, [&](auto const& course) { return only_ == course.second; });
    if (!known) throw cli::BadInput{"--only: no row " + only_};
    if (item_bytes_ != 4 && item_bytes_ != 16 && item_bytes_ != 64)
      throw cli::BadInput{"--item-bytes: 4, 16 or 64, not " + std::to_string(item_bytes_)};
    if (threads_ > 256) throw cli::BadInput{"--threads: at most 256"};
    if (items_ > most_items) throw cli::BadInput{"--items: at most " + std::to_string(most_items)};
    if (capacity_items_ != 0 && (capacity_items_ < 64 || capacity_items_ > most_capacity))
      throw cli::BadInput{"--capacity-items: 64 to " + std::to_string(most_capacity)};
    if (compute_us_ > 10'000'000) throw cli::BadInput{"--compute-us: at most 10000000"};
    (void)named_plant(plant_);
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    check_options();
    std::vector<Row> rows;
    auto const add = [&](Row row) {
      if (!row.measured.empty()) rows.push_back(std::move(row));
    };
    for (auto const& [course, course_name] : courses) {
      if (!only_.empty() && only_ != course_name) continue;
      for (unsigned const threads : thread_counts(course)) add(row(course, course_name, threads, request));
    }
    if (only_.empty() || only_ == one_item) {
      add(one_item_row(false, request));
      add(one_item_row(true, request));
    }
    if (rows.empty()) throw cli::BadInput{"--variant: no variant of these rows begins with " + variant_};
    return rows;
  }

 private:
  static constexpr std::size_t most_capacity = std::size_t{1} << 24;

  [[nodiscard]] std::vector<unsigned> thread_counts(Course course) const {
    if (threads_ != 0) return {threads_};
    return course == Course::cpu_to_cpu ? std::vector<unsigned>{1, 4, 8} : std::vector<unsigned>{1, 8};
  }
  [[nodiscard]] bool is_asked(std::string const& variant) const { return variant.starts_with(variant_); }

  /// Of a row without a device each time counts, so that it has an uncounted turn and as many items as elsewhere.
  [[nodiscard]] static Request request_of(bool only_cpu, Request const& request) {
    Request asked = request;
    asked.small = request.small && !only_cpu;
    return asked;
  }

  [[nodiscard]] Row row(Course course, char const* course_name, unsigned threads, Request const& request) const {
    bool const only_cpu = course == Course::cpu_to_cpu;
    Request const asked = request_of(only_cpu, request);
    std::size_t const capacity = capacity_items_ != 0 ? capacity_items_ : asked.small ? small_capacity : usual_capacity;
    std::uint64_t const items = items_ != 0 ? items_ : asked.small ? small_items : 0;
    Work const sizes{.device = request.device, .item_bytes = item_bytes_};
    std::vector<Variant> variants;
    for (Way& way : ways_of({request.device, course, item_bytes_, threads, capacity, named_plant(plant_)})) {
      auto timed = std::make_shared<TimedMover>(std::move(way.mover), sizes, items, asked.small);
      variants.push_back({way.name, [timed] { return timed->turn(); }, [timed] { return timed->facts(); }});
    }
    Json what{
        {"course", course_name}, {"item_bytes", item_bytes_}, {"cpu_threads", threads}, {"capacity_items", capacity}};
    if (!only_cpu && raw_cuda(request.device) == nullptr) what["large copy"] = "none: it needs a GPU";
    Row row = measure(std::move(what), "items/s", Better::more, beside(only_cpu, threads, variants), variants, asked);
    row.only_cpu = only_cpu;
    return row;
  }

  /// Those that are asked for.
  [[nodiscard]] std::vector<Way> ways_of(NaturalWork const& work) const {
    std::vector<Way> ways;
    auto const add_hiway = [&](char const* name, NaturalCalls calls) {
      if (is_asked(name)) ways.push_back({name, make_natural(work, calls)});
    };
    add_hiway(by_items, NaturalCalls::items);
    if (work.course == Course::cpu_to_cpu || work.course == Course::cpu_to_gpu_to_cpu)
      add_hiway(by_gets, NaturalCalls::gets);
    add_hiway(by_spans, NaturalCalls::spans);
    for (Way& way : work.course == Course::cpu_to_cpu ? make_peers(work) : large_copies(work)) {
      if (is_asked(way.name)) ways.push_back(std::move(way));
    }
    return ways;
  }

  /// One, on a GPU. There and back it copies as many items each way, at the same time.
  [[nodiscard]] static std::vector<Way> large_copies(NaturalWork const& work) {
    std::vector<Way> copies;
    Flow const flow = work.course == Course::cpu_to_gpu   ? Flow::cpu_to_gpu
                      : work.course == Course::gpu_to_cpu ? Flow::gpu_to_cpu
                                                          : Flow::both;
    if (RawCuda const* const raw = raw_cuda(work.device); raw != nullptr) {
      copies.push_back(
          {name_of(ByHand::large_copy),
           raw->make(ByHand::large_copy, {work.device, flow, work.item_bytes, 1, work.plant}, batch_bytes)});
    }
    return copies;
  }

  /// What the row's ratios are taken against: where it is left out, hiway.
  [[nodiscard]] static std::string beside(bool only_cpu, unsigned threads, std::vector<Variant> const& variants) {
    std::string const wanted = !only_cpu ? by_spans : threads == 1 ? boost_spsc_queue : concurrent_queue_with_tokens;
    bool const is_there = std::ranges::find(variants, wanted, &Variant::name) != variants.end();
    return is_there ? wanted : by_items;
  }

  [[nodiscard]] Row one_item_row(bool through_gpu, Request const& request) const {
    Request const asked = request_of(!through_gpu, request);
    unsigned const compute_us = compute_us_ != 0 ? compute_us_ : asked.small ? 1000 : 20'000;
    OneItemWork const work{request.device, through_gpu, asked.small ? 5U : 50U, std::chrono::microseconds(compute_us),
                           named_plant(plant_)};
    std::vector<Variant> variants;
    if (is_asked(by_items)) variants.push_back(one_item_variant(by_items, make_one_item(work), work));
    if (!through_gpu && is_asked(mutex_and_deque))
      variants.push_back(one_item_variant(mutex_and_deque, make_one_item_of_deque(work), work));
    Json what{{"course", through_gpu ? "cpu_to_gpu_to_cpu" : "cpu_to_cpu"},
              {"one item", "its thread then computes"},
              {"compute_us", compute_us}};
    Row row = measure(std::move(what), "us", Better::less, through_gpu ? "" : mutex_and_deque, variants, asked);
    row.only_cpu = !through_gpu;
    return row;
  }

  std::string only_;
  std::string variant_;
  std::size_t item_bytes_ = 16;
  unsigned threads_ = 0;
  std::uint64_t items_ = 0;
  std::size_t capacity_items_ = 0;
  unsigned compute_us_ = 0;
  std::string plant_;
};

}  // namespace

std::unique_ptr<Bench> make_natural() { return std::make_unique<NaturalBench>(); }

}  // namespace bench
