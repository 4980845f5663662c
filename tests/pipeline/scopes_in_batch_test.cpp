// Scopes through batch stages, on the CPU and in a device's memory.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hiway/pipeline.hpp"
#include "hiway/service.hpp"
#include "tests/device.hpp"
#include "tests/spend.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::from_environment;
using hiway_tests::text_of_error;
using namespace std::chrono_literals;
using testing::HasSubstr;

GpuStageOptions const small_grid{.blocks = 2, .threads_per_block = 64};

/// A number, and the place of the scope that a batch's body saw.
struct Seen {
  long value;
  std::uint32_t place;
};
struct TwiceKernel {
  int const* in;
  Seen* out;
  std::size_t count;
  std::uint32_t place;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = thread_index(); i < count; i += thread_count()) out[i] = {2L * in[i], place};
  }
};
/// Twice each number.
struct Twice {
  void operator()(Batch<int const> in, Batch<Seen> out, Stream stream) const {
    out.resize(in.size());
    stream.launch(TwiceKernel{in.data(), out.data(), in.size(), scope_index()}, 1, 32);
  }
};

Direction there_to(int device) { return device < 0 ? Direction::cpu_to_cpu : Direction::cpu_to_gpu; }
Direction back_from(int device) { return device < 0 ? Direction::cpu_to_cpu : Direction::gpu_to_cpu; }

/// open inlet -> batch stage -> CPU stage that sums for each place.
struct ThereAndBack {
  template <class Body>
  ThereAndBack(Body body, BatchOptions const& options, ScopesConfig scopes_config = {}, std::size_t capacity = 64)
      : pipe(bounded()) {
    scopes = &pipe.create_scopes("jobs", scopes_config);
    auto& there =
        pipe.create_tunnel<int>("there", there_to(options.device), {.capacity_items = capacity, .scopes = scopes});
    auto& back =
        pipe.create_tunnel<Seen>("back", back_from(options.device), {.capacity_items = capacity, .scopes = scopes});
    pipe.add_batch_stage("work", body, from(there), into(back), options);
    sums = std::vector<std::atomic<long>>(scopes_config.most_open);
    bool const sees_scope = !options.one_to_one && !options.capture;
    pipe.add_cpu_stage("sum",
                       [this, sees_scope](Seen const& x) {
                         if (x.place != (sees_scope ? scope_index() : 0)) ++wrong_places;
                         sums[scope_index()] += x.value;
                       },
                       from(back), {.threads = 2});
    in = there.open_inlet();
  }
  long take_sum(Scope const& scope) { return sums[scope.index()].exchange(0); }
  void end() {
    in.close_h();
    pipe.wait();
    EXPECT_EQ(wrong_places, 0);
  }

  std::vector<std::atomic<long>> sums;
  std::atomic<int> wrong_places{0};
  Pipeline pipe;
  Scopes* scopes;
  Inlet<int> in;
};

/// Scopes that are open together, so that their items are neighbours; in two runs.
void expect_sums(int device, BatchOptions options, std::size_t capacity = 64) {
  options.device = device;
  ThereAndBack p(Twice{}, options, {.most_open = 8}, capacity);
  for (int run = 0; run < 2; ++run) {
    p.pipe.start();
    std::atomic<int> ended{0};
    std::atomic<int> wrong{0};
    for (int i = 1; i <= 100; ++i) {
      Scope job = p.scopes->open_h();
      job.then([&p, &ended, &wrong, i, at = job.index()] {
        if (p.sums[at].exchange(0) != 2L * i * (i % 7)) ++wrong;
        ++ended;
      });
      for (int k = 0; k < i % 7; ++k) p.in.put_h(i, job);
    }
    p.end();
    EXPECT_EQ(ended, 100);
    EXPECT_EQ(wrong, 0);
  }
}
void expect_sums(BatchOptions const& options, std::size_t capacity = 64) {
  for (int const device : {-1, 0}) expect_sums(device, options, capacity);
}

TEST(ScopesInBatches, EndAfterTheirLastBatch) {
  HIWAY_NEEDS_DEVICE();
  expect_sums({});
  expect_sums({.max_items = 1, .in_flight = 1});
  expect_sums({.max_items = 5, .min_items = 3, .in_flight = 3});
  expect_sums({}, 4);
}
TEST(ScopesInBatches, GoOnWithTheirItemsOneToOne) {
  HIWAY_NEEDS_DEVICE();
  expect_sums({.one_to_one = true});
  expect_sums({.max_items = 16, .min_items = 16, .max_wait = 500us, .in_flight = 3, .one_to_one = true});
  expect_sums({.max_items = 3, .one_to_one = true}, 4);
}
TEST(ScopesInBatches, AreThereWithCapturedBodies) {
  HIWAY_NEEDS_DEVICE();
  expect_sums({.max_items = 8, .capture = true});
  expect_sums({.max_items = 8, .min_items = 8, .max_wait = 500us, .capture = true, .one_to_one = true});
}

// The thread takes them apart, and joins them, in several parts. With one_to_one the last ones are of another scope.
TEST(ScopesInBatches, AreRightInLargeBatches) {
  HIWAY_NEEDS_DEVICE();
  for (int const device : {-1, 0}) {
    for (bool const one_to_one : {false, true}) {
      BatchOptions const options{.min_items = 8000, .max_wait = 1h, .device = device, .one_to_one = one_to_one};
      ThereAndBack p(Twice{}, options, {}, 1 << 13);
      p.pipe.start();
      std::array jobs{p.scopes->open_h(), p.scopes->open_h()};
      for (int k = 0; k < 8000; ++k) p.in.put_h(k, jobs[one_to_one && k >= 5000 ? 1 : 0]);
      long const all = 8000L * 7999;
      long const first = one_to_one ? 5000L * 4999 : all;
      for (Scope& job : jobs) {
        job.close_h();
        job.wait();
      }
      EXPECT_EQ(p.take_sum(jobs[0]), first);
      EXPECT_EQ(p.take_sum(jobs[1]), all - first);
      p.end();
    }
  }
}

// A batch waits for more, but not after an item of another scope has come.
TEST(ScopesInBatches, EndABatchWhereTheNextItemsBegins) {
  HIWAY_NEEDS_DEVICE();
  std::vector<std::pair<std::size_t, std::uint32_t>> batches;
  ThereAndBack p(
      [&](Batch<int const> in, Batch<Seen> out, Stream) {
        batches.emplace_back(in.size(), scope_index());
        out.resize(0);
      },
      {.max_items = 20, .min_items = 20, .max_wait = 1h});
  p.pipe.start();
  Scope first = p.scopes->open_h();
  Scope second = p.scopes->open_h();
  for (int k = 0; k < 3; ++k) p.in.put_h(k, first);
  for (int k = 0; k < 20; ++k) p.in.put_h(k, second);
  for (Scope& job : std::array{first, second}) {
    job.close_h();
    job.wait();
  }
  p.end();
  EXPECT_THAT(batches, testing::ElementsAre(std::pair(std::size_t{3}, first.index()),
                                            std::pair(std::size_t{20}, second.index())));
}

TEST(ScopesInBatches, ShareABatchOneToOne) {
  HIWAY_NEEDS_DEVICE();
  std::vector<std::size_t> sizes;
  ThereAndBack p(
      [&](Batch<int const> in, Batch<Seen> out, Stream) {
        sizes.push_back(in.size());
        out.resize(in.size());
        for (std::size_t i = 0; i < in.size(); ++i) out.span()[i] = {in.span()[i], scope_index()};
      },
      {.max_items = 20, .min_items = 20, .max_wait = 1h, .one_to_one = true});
  p.pipe.start();
  std::vector<Scope> jobs;
  for (int i = 0; i < 20; ++i) {
    jobs.push_back(p.scopes->open_h());
    p.in.put_h(i + 1, jobs.back());
  }
  for (int i = 0; i < 20; ++i) {
    Scope& job = jobs[static_cast<std::size_t>(i)];
    job.close_h();
    job.wait();
    EXPECT_EQ(p.take_sum(job), i + 1);
  }
  p.end();
  EXPECT_THAT(sizes, testing::ElementsAre(20));
}

TEST(ScopesInBatches, OfCancelledOnesNothingIsInABatch) {
  HIWAY_NEEDS_DEVICE();
  for (bool const one_to_one : {false, true}) {
    std::atomic<bool> open{false};
    std::vector<int> got;
    ThereAndBack p(
        [&](Batch<int const> in, Batch<Seen> out, Stream) {
          got.insert(got.end(), in.span().begin(), in.span().end());
          out.resize(in.size());
          for (Seen& x : out.span()) x = {1, scope_index()};
          while (!open) std::this_thread::yield();
        },
        {.in_flight = 1, .one_to_one = one_to_one});
    p.pipe.start();
    Scope first = p.scopes->open_h();
    p.in.put_h(1, first);
    Scope cancelled = p.scopes->open_h();
    Scope last = p.scopes->open_h();
    while (got.empty()) std::this_thread::sleep_for(1ms);  // the body waits
    for (int k = 0; k < 10; ++k) {
      p.in.put_h(100, cancelled);
      p.in.put_h(2, last);
    }
    cancelled.cancel();
    open = true;
    for (Scope* job : {&first, &last}) {
      job->close_h();
      job->wait();
    }
    cancelled.close_h();
    EXPECT_EQ(text_of_error<ScopeCancelled>([&] { cancelled.wait(); }), "the scope has been cancelled");
    p.end();
    EXPECT_EQ(std::ranges::count(got, 100), 0);
    EXPECT_EQ(std::ranges::count(got, 2), 10);
  }
}

TEST(ScopesInBatches, CancelledOnesDoNotWaitForMoreItems) {
  HIWAY_NEEDS_DEVICE();
  std::atomic<int> bodies{0};
  ThereAndBack p(
      [&](Batch<int const>, Batch<Seen> out, Stream) {
        ++bodies;
        out.resize(0);
      },
      {.min_items = 20, .max_wait = 1h});
  p.pipe.start();
  Scope job = p.scopes->open_h();
  for (int k = 0; k < 3; ++k) p.in.put_h(k, job);
  job.close_h();
  EXPECT_FALSE(job.wait_for(20ms));
  job.cancel();
  EXPECT_TRUE(job.wait_for(20s));
  p.end();
  EXPECT_EQ(bodies, 0);
}

TEST(ScopesInBatches, FailInABody) {
  HIWAY_NEEDS_DEVICE();
  for (bool const task : {false, true}) {
    ThereAndBack p(
        [&](Batch<int const> in, Batch<Seen> out, Stream) {
          out.resize(0);
          if (in.span().front() != 7) return;
          task ? fail_task("seven") : fail_scope("seven");
        },
        {});
    p.pipe.start();
    Scope good = p.scopes->open_h();
    Scope bad = p.scopes->open_h();
    p.in.put_h(6, good);
    p.in.put_h(7, bad);
    good.close_h();
    bad.close_h();
    EXPECT_EQ(text_of_error<ScopeFailed>([&] { bad.wait(); }), "seven");
    good.wait();
    p.end();
    EXPECT_EQ(p.pipe.stats().stages.front().failed_tasks, task ? 1u : 0u);
  }
}

/// The error of a run in which a batch stage with `body` gets an item of a scope, and the scope's.
template <class Body>
std::pair<std::string, std::string> errors_of(Body body, BatchOptions const& options) {
  ThereAndBack p(body, options);
  p.pipe.start();
  Scope job = p.scopes->open_h();
  p.in.put_h(1, job);
  job.close_h();
  std::string const of_scope = text_of_error<Aborted>([&] { job.wait(); });
  return {text_of_error<StageError>([&] { p.pipe.wait(); }), of_scope};
}

TEST(ScopesInBatches, AreEndedByTheRunsError) {
  HIWAY_NEEDS_DEVICE();
  auto const [run, scope] =
      errors_of([](Batch<int const>, Batch<Seen>, Stream) { throw std::runtime_error("no"); }, {});
  EXPECT_EQ(run, "stage 'work': no");
  EXPECT_THAT(scope, HasSubstr(run));
}
TEST(ScopesInBatches, CannotBeFailedWhereABodyIsNotOfOne) {
  HIWAY_NEEDS_DEVICE();
  auto const body = [](Batch<int const> in, Batch<Seen> out, Stream) {
    out.resize(in.size());
    fail_scope("one of them");
  };
  for (BatchOptions const& options : {BatchOptions{.one_to_one = true}, BatchOptions{.capture = true}})
    EXPECT_EQ(
        errors_of(body, options).first,
        "stage 'work': fail_scope or fail_task in the body of a batch stage with one_to_one or capture: it is not "
        "called for a batch of one scope");
}
TEST(ScopesInBatches, OneToOneMakesAsManyAsItGets) {
  HIWAY_NEEDS_DEVICE();
  std::uint32_t const two = 2;
  EXPECT_EQ(
      errors_of([](Batch<int const> in, Batch<Seen> out, Stream) { out.resize(in.size() - 1); }, {.one_to_one = true})
          .first,
      "stage 'work': one_to_one: of a batch of 1 items one of 0 is made, and each item makes one for each tunnel");
  EXPECT_EQ(
      errors_of([&](Batch<int const>, Batch<Seen> out, Stream) { out.resize_on_device(&two); }, {.one_to_one = true})
          .first,
      "stage 'work': one_to_one: of a batch of 1 items one of 2 is made, and each item makes one for each tunnel");
}

TEST(ScopesInBatches, AreOfOneKind) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  Scopes& others = pipe.create_scopes("others");
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_cpu, {.scopes = &jobs});
  auto& out = pipe.create_tunnel<Seen>("out", Direction::cpu_to_cpu, {.scopes = &others});
  EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.add_batch_stage("work", Twice{}, from(in), into(out)); }),
            "stage 'work': tunnel 'out' has other scopes than tunnel 'in': what is made belongs to the scope of what "
            "was got");
  auto& made = pipe.create_tunnel<int>("made", Direction::cpu_to_cpu);
  auto const make = [](Batch<int> batch, Stream) { batch.resize(0); };
  EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.add_batch_stage("make", make, into(made), {.one_to_one = true}); }),
            "stage 'make': one_to_one is for a stage that gets batches");
}

struct Late {
  int* done;
  HIWAY_DEVICE void operator()() const {
    hiway_tests::spend(300'000);
    *done = 1;
  }
};
// Without a tunnel to put into, or with one that has no scopes.
TEST(ScopesInBatches, EndWhenTheStreamHasComeSoFar) {
  HIWAY_NEEDS_DEVICE();
  for (int const device : {-1, 0}) {
    Pipeline pipe(bounded());
    Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 2});
    auto& in = pipe.create_tunnel<int>("in", there_to(device), {.capacity_items = 16, .scopes = &jobs});
    auto& on = pipe.create_tunnel<int>("on", there_to(device), {.capacity_items = 16, .scopes = &jobs});
    auto& plain = pipe.create_tunnel<int>("plain", back_from(device), {.capacity_items = 16});
    std::span<int> const done = pipe.create_host_buffer<int>(1);
    pipe.add_batch_stage("none", [done](Batch<int const>, Stream stream) { stream.launch(Late{done.data()}, 1, 1); },
                         from(in), {.device = device});
    pipe.add_batch_stage("plain",
                         [done](Batch<int const>, Batch<int> out, Stream stream) {
                           out.resize(1);
                           stream.launch(Late{out.data()}, 1, 1);
                           stream.launch(Late{done.data()}, 1, 1);
                         },
                         from(on), into(plain), {.device = device});
    std::atomic<int> sum{0};
    pipe.add_cpu_stage(
        "sum", [&](int const& x) { sum += x; }, from(plain));
    Inlet<int> first = in.open_inlet();
    Inlet<int> second = on.open_inlet();
    pipe.start();
    for (int i = 0; i < 20; ++i) {
      done[0] = 0;
      Scope job = jobs.open_h();
      (i % 2 == 0 ? first : second).put_h(i, job);
      job.close_h();
      job.wait();
      EXPECT_EQ(done[0], 1) << i;
    }
    first.close_h();
    second.close_h();
    pipe.wait();
    EXPECT_EQ(sum, 10);
  }
}

struct AddOne {
  HIWAY_DEVICE int operator()(int const& x) const { return x + 1; }
};
struct ValueOf {
  HIWAY_DEVICE Seen operator()(Seen const& x) const { return {x.value + 1, x.place}; }
};
// What comes from a device as a result has a large value, and a batch of these more than a word holds.
TEST(ScopesInBatches, PassBatchesBetweenKernels) {
  HIWAY_NEEDS_DEVICE();
  for (BatchOptions const& options :
       {BatchOptions{.max_items = 60, .min_items = 60, .max_wait = 2ms, .device = 0}, BatchOptions{.device = 0},
        BatchOptions{.max_items = 60, .min_items = 60, .max_wait = 2ms, .device = 0, .one_to_one = true}}) {
    std::vector<std::atomic<long>> sums(4);
    Pipeline pipe(bounded());
    Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 4});
    auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
    auto& there = pipe.create_tunnel<int>("there", Direction::gpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
    auto& back = pipe.create_tunnel<Seen>("back", Direction::gpu_to_gpu, {.capacity_items = 64, .scopes = &jobs});
    auto& out = pipe.create_tunnel<Seen>("out", Direction::gpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
    pipe.add_gpu_stage("add", AddOne{}, from(in), into(there), small_grid);
    pipe.add_batch_stage("twice", Twice{}, from(there), into(back), options);
    pipe.add_gpu_stage("pass", ValueOf{}, from(back), into(out), small_grid);
    pipe.add_cpu_stage(
        "sum", [&](Seen const& x) { sums[scope_index()] += x.value; }, from(out));
    Inlet<int> inlet = in.open_inlet();
    pipe.start();
    for (int i = 0; i < 20; ++i) {
      Scope job = jobs.open_h();
      for (int k = 0; k < 100; ++k) inlet.put_h(i, job);
      std::uint32_t const at = job.index();
      job.then([&sums, at, i] { EXPECT_EQ(sums[at].exchange(0), 100 * (2L * (i + 1) + 1)) << i; });
    }
    inlet.close_h();
    pipe.wait();
  }
}

/// Puts a copy into both.
struct Both {
  void operator()(Batch<int const> in, Batch<Seen> one, Batch<Seen> two, Stream stream) const {
    one.resize(in.size());
    two.resize(in.size());
    stream.launch(TwiceKernel{in.data(), one.data(), in.size(), 1}, 1, 32);
    stream.launch(TwiceKernel{in.data(), two.data(), in.size(), 2}, 1, 32);
  }
};
// Also where the last tunnel has no scopes: then nothing takes all that an item's task has.
TEST(ScopesInBatches, GoIntoSeveralTunnels) {
  HIWAY_NEEDS_DEVICE();
  for (bool const one_to_one : {false, true}) {
    for (int const which : {0, 1, 2}) {  // of the tunnels have scopes: both, the first, the second
      std::vector<std::atomic<long>> sums(4);
      std::atomic<long> plain_sum{0};
      Pipeline pipe(bounded());
      Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 4});
      auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
      auto& one = pipe.create_tunnel<Seen>("one", Direction::cpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
      auto& two = pipe.create_tunnel<Seen>("two", Direction::cpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
      auto& plain = pipe.create_tunnel<Seen>("plain", Direction::cpu_to_cpu, {.capacity_items = 64});
      BatchOptions const options{.max_items = 7, .one_to_one = one_to_one};
      auto const sum = [&](Seen const& x) { sums[scope_index()] += x.value; };
      auto const sum_plain = [&](Seen const& x) { plain_sum += x.value; };
      if (which == 0) pipe.add_batch_stage("both", Both{}, from(in), into(one, two), options);
      if (which == 1) pipe.add_batch_stage("both", Both{}, from(in), into(one, plain), options);
      if (which == 2) pipe.add_batch_stage("both", Both{}, from(in), into(plain, two), options);
      Inlet<Seen> unused;
      for (auto* const t : {&one, &two}) {
        pipe.add_cpu_stage("sum " + t->name(), sum, from(*t));
        bool const is_written = which == 0 || t == (which == 1 ? &one : &two);
        if (!is_written) unused = t->open_inlet();
      }
      pipe.add_cpu_stage("plain", sum_plain, from(plain));
      Inlet<Seen> unused_plain;
      if (which == 0) unused_plain = plain.open_inlet();
      Inlet<int> inlet = in.open_inlet();
      pipe.start();
      if (which == 0) unused_plain.close_h();
      if (which != 0) unused.close_h();
      for (int i = 0; i < 50; ++i) {
        Scope job = jobs.open_h();
        for (int k = 0; k < 5; ++k) inlet.put_h(i, job);
        job.then([&sums, i, which, at = job.index()] {
          EXPECT_EQ(sums[at].exchange(0), (which == 0 ? 2 : 1) * 5 * 2L * i) << i;
        });
      }
      inlet.close_h();
      pipe.wait();
      EXPECT_EQ(plain_sum, which == 0 ? 0 : 5L * 2 * 49 * 50 / 2);
    }
  }
}

TEST(ScopesInBatches, EachReaderGetsAllItems) {
  HIWAY_NEEDS_DEVICE();
  std::vector<std::atomic<int>> seen(4);
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 4});
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_cpu,
                                     {.capacity_items = 64, .readers = Readers::each, .scopes = &jobs});
  pipe.add_batch_stage(
      "batches", [&](Batch<int const> got, Stream) { seen[scope_index()] += static_cast<int>(got.size()); }, from(in));
  pipe.add_cpu_stage(
      "items", [&](int const&) { ++seen[scope_index()]; }, from(in));
  Inlet<int> inlet = in.open_inlet();
  pipe.start();
  for (int i = 0; i < 100; ++i) {
    Scope job = jobs.open_h();
    for (int k = 0; k < i % 5; ++k) inlet.put_h(k, job);
    job.then([&, i, at = job.index()] { EXPECT_EQ(seen[at].exchange(0), 2 * (i % 5)); });
  }
  inlet.close_h();
  pipe.wait();
}

// A body puts by an open inlet for the scope of its batch; a last put leaves the batch without it.
TEST(ScopesInBatches, ABodyPutsForTheScopeOfItsBatch) {
  HIWAY_NEEDS_DEVICE();
  for (bool const last : {false, true}) {
    Pipeline pipe(bounded());
    Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 4});
    auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
    auto& side = pipe.create_tunnel<int>("side", Direction::cpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
    auto& out = pipe.create_tunnel<int>("out", Direction::cpu_to_cpu, {.capacity_items = 64, .scopes = &jobs});
    Inlet<int> open = side.open_inlet();
    std::atomic<int> sum{0};
    auto const add = [&](int const& x) { sum += x; };
    pipe.add_batch_stage("work",
                         [&](Batch<int const> got, Batch<int> made, Stream) {
                           last ? open.put_last_h(1) : open.put_h(1);
                           made.resize(1);
                           made.span()[0] = got.span()[0];
                         },
                         from(in), into(out), {.max_items = 1});
    pipe.add_cpu_stage("side", add, from(side));
    pipe.add_cpu_stage("out", add, from(out));
    Inlet<int> inlet = in.open_inlet();
    pipe.start();
    Scope job = jobs.open_h();
    for (int k = 0; k < 30; ++k) inlet.put_h(1, job);
    job.close_h();
    if (last) {
      EXPECT_THAT(text_of_error<MisuseError>([&] { pipe.wait(); }), HasSubstr("put into a tunnel with scopes, but"));
      continue;
    }
    job.wait();
    EXPECT_EQ(sum, 60);
    inlet.close_h();
    open.close_h();
    pipe.wait();
  }
}

// What was got waits: for more items, and for another scope's batch.
TEST(ScopesInBatches, AnAbortedRunEndsThem) {
  HIWAY_NEEDS_DEVICE();
  for (bool const one_to_one : {false, true}) {
    ThereAndBack p(Twice{}, {.min_items = 60, .max_wait = 1h, .one_to_one = one_to_one});
    p.pipe.start();
    Scope first = p.scopes->open_h();
    Scope second = p.scopes->open_h();
    for (int k = 0; k < 20; ++k) p.in.put_h(k, k % 2 == 0 ? first : second);
    first.close_h();
    second.close_h();
    EXPECT_FALSE(second.wait_for(10ms));
    p.pipe.abort();
    EXPECT_THAT(text_of_error<Aborted>([&] { second.wait(); }), HasSubstr("the pipeline was aborted"));
    EXPECT_THROW(p.pipe.wait(), Aborted);
  }
}

// The reader gets nothing, so a batch waits for room, and others after it.
TEST(ScopesInBatches, AbortedRunsAndDeadlinesDoNotWaitForRoom) {
  HIWAY_NEEDS_DEVICE();
  for (bool const by_deadline : {false, true}) {
    for (int const device : {-1, 0}) {
      Pipeline pipe(by_deadline ? bounded(100ms) : bounded());
      Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 4});
      auto& in = pipe.create_tunnel<int>("in", there_to(device), {.capacity_items = 64, .scopes = &jobs});
      auto& out = pipe.create_tunnel<Seen>("out", back_from(device), {.capacity_items = 4, .scopes = &jobs});
      pipe.add_batch_stage("work", Twice{}, from(in), into(out), {.max_items = 4, .device = device});
      Inlet<int> inlet = in.open_inlet();
      static_cast<void>(out.open_outlet());
      pipe.start();
      Scope job = jobs.open_h();
      for (int k = 0; k < 40; ++k) inlet.put_h(k, job);
      job.close_h();
      EXPECT_FALSE(job.wait_for(20ms));
      if (!by_deadline) pipe.abort();
      EXPECT_THROW(job.wait(), Aborted);
      EXPECT_THROW(pipe.wait(), Error);
    }
  }
}

TEST(ScopesInBatches, AnswerRequestsOfAService) {
  HIWAY_NEEDS_DEVICE();
  for (int const device : {-1, 0}) {
    Pipeline pipe(bounded());
    Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 64});
    auto& requests = pipe.create_tunnel<int>("requests", there_to(device), {.capacity_items = 64, .scopes = &jobs});
    auto& replies = pipe.create_tunnel<Seen>("replies", back_from(device), {.capacity_items = 64, .scopes = &jobs});
    pipe.add_batch_stage("twice", Twice{}, from(requests), into(replies), {.device = device, .one_to_one = true});
    Service<int, Seen> service(pipe, requests, replies);
    pipe.start();
    std::atomic<int> right{0};
    for (int i = 0; i < 1000; ++i)
      service.submit(i, [&right, i](ServiceResult<Seen> const& r) { right += r && r.reply().value == 2L * i ? 1 : 0; });
    service.stop();
    pipe.wait();
    EXPECT_EQ(right, 1000);
  }
}

}  // namespace
