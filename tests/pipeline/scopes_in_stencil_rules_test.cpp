// Scopes through stencil tunnels: which scope a task belongs to, and what is refused.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <vector>

#include "hiway/pipeline.hpp"
#include "hiway/service.hpp"
#include "hiway/stencil/stencil_tunnel.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// 3 x 3 values, of which the one in the middle is a task; `rows` of them are a region.
ScopedStencilConfig one_task(Scopes& jobs, std::uint32_t frames = 1, std::uint32_t rows = 3) {
  return {.width = 3, .height = 3, .region_width = 3, .region_height = rows, .frames = frames, .scopes = &jobs};
}
using SetValues = std::function<void(ScopedStencilInlet<int>)>;

/// How tasks are taken.
enum class Taking { for_each, next };

/// A CPU stage that sets values -> tasks, counted for each scope.
struct OneTask {
  explicit OneTask(SetValues set, std::uint32_t frames = 1, Taking taking = Taking::for_each, std::uint32_t rows = 3)
      : pipe(bounded()) {
    jobs = &pipe.create_scopes("jobs", {.most_open = 2});
    others = &pipe.create_scopes("others", {.most_open = 2});
    auto& matrix = pipe.create_stencil_tunnel<int>("matrix", Direction::cpu_to_cpu, one_task(*jobs, frames, rows));
    pipe.add_cpu_stage("set", std::move(set), into(matrix));
    pipe.add_cpu_stage(
        "count",
        [this, taking](ScopedStencilOutlet<int> in) {
          if (taking == Taking::for_each) return in.for_each_h([&](StencilTask const&) { ++tasks[scope_index()]; });
          for (StencilTask task; in.next_h(task); in.end_task_h()) ++tasks[scope_index()];
        },
        from(matrix));
  }
  Pipeline pipe;
  Scopes* jobs;
  Scopes* others;
  std::array<std::atomic<int>, 2> tasks{};
};

void set_rows(ScopedStencilInlet<int> const& out, Scope const& job, int first, int end, std::uint32_t frame = 0) {
  std::array<int, 3> const row{1, 2, 3};
  for (int y = first; y != end; ++y) out.set_h(0, y, std::span<int const>(row), job, frame);
}

/// The first scope sets two rows, the second one the last; `rows` are a region.
void expect_task_of_the_second(std::uint32_t rows) {
  std::uint32_t last = 0;
  OneTask* made = nullptr;
  auto const set = [&](ScopedStencilInlet<int> const& out) {
    Scope first = made->jobs->open_h();
    Scope second = made->jobs->open_h();
    last = second.index();
    set_rows(out, first, 0, 2);
    first.close_h();
    first.wait();  // nothing of it is anywhere
    EXPECT_EQ(made->tasks[0] + made->tasks[1], 0);
    set_rows(out, second, 2, 3);
    second.close_h();
    second.wait();
    EXPECT_EQ(made->tasks[last], 1);
  };
  OneTask p(set, 1, Taking::for_each, rows);
  made = &p;
  p.pipe.run();
  EXPECT_EQ(p.tasks[last], 1);
  EXPECT_EQ(p.tasks[1 - last], 0);
}
TEST(ScopesOfStencilTasks, AreThoseOfTheLastValueAroundThem) {
  HIWAY_NEEDS_DEVICE();
  for (std::uint32_t const rows : {1u, 2u, 3u}) expect_task_of_the_second(rows);
}

TEST(ScopesOfStencilTasks, AreOpenAndOfTheTunnelsKind) {
  HIWAY_NEEDS_DEVICE();
  OneTask* made = nullptr;
  OneTask p([&](ScopedStencilInlet<int> const& out) {
    Scope closed = made->jobs->open_h();
    closed.close_h();
    EXPECT_THAT(text_of_error<Error>([&] { set_rows(out, closed, 0, 3); }), HasSubstr("closed"));
    Scope const other = made->others->open_h();
    EXPECT_THAT(text_of_error<Error>([&] { out.set_h(0, 0, 1, other); }), HasSubstr("no scopes of this kind"));
    set_rows(out, made->jobs->open_h(), 0, 3);  // none of them is set twice
  });
  made = &p;
  p.pipe.run();
  EXPECT_EQ(p.tasks[0] + p.tasks[1], 1);
}

TEST(ScopesOfStencilTasks, AreAskedForWithEachValue) {
  HIWAY_NEEDS_DEVICE();
  std::array<int, 2> const row{1, 2};  // a region is not complete
  for (SetValues const& set :
       {SetValues([](ScopedStencilInlet<int> const& out) { out.set_h(1, 1, 1); }),
        SetValues([&](ScopedStencilInlet<int> const& out) { out.set_h(0, 0, std::span<int const>(row)); }),
        SetValues(
            [](ScopedStencilInlet<int> const& out) { out.set_in_place_warp(1, 1, [](int& value) { value = 1; }); })}) {
    OneTask p(set);
    EXPECT_EQ(text_of_error<MisuseError>([&] { p.pipe.run(); }),
              "stage 'set': put into a tunnel with scopes, but neither a scope was named nor does the task belong to "
              "one: tunnel 'matrix', item 0");
  }
}

TEST(ScopesOfStencilTasks, AreDroppedIfTheyAreCancelled) {
  HIWAY_NEEDS_DEVICE();
  for (Taking const taking : {Taking::for_each, Taking::next}) {
    OneTask* made = nullptr;
    auto const set = [&](ScopedStencilInlet<int> const& out) {
      for (std::uint32_t frame = 0; frame != 6; ++frame) {
        Scope job = made->jobs->open_h();
        if (frame % 3 != 2) job.cancel();
        set_rows(out, job, 0, 3, frame);
        job.close_h();
        EXPECT_TRUE(job.wait_for(10s));
      }
    };
    OneTask p(set, 6, taking);
    made = &p;
    p.pipe.run();
    EXPECT_EQ(p.tasks[0] + p.tasks[1], 2);
  }
}

/// Item form: sets a frame by a scope of its own, and goes on with its task.
TEST(ScopesOfStencilTasks, OfASetThatNamesThemAreNotItsStages) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 2});
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu, {.scopes = &jobs});
  auto& further = pipe.create_tunnel<int>("further", Direction::cpu_to_cpu, {.scopes = &jobs});
  auto& matrix = pipe.create_stencil_tunnel<int>("matrix", Direction::cpu_to_cpu, one_task(jobs));
  std::array<std::atomic<int>, 2> seen{};
  std::array<std::atomic<int>, 2> tasks{};
  Scope* other = nullptr;
  pipe.add_cpu_stage(
      "set",
      [&](int const& x, ScopedStencilInlet<int> const& out, Inlet<int> const& on) {
        set_rows(out, *other, 0, 3);
        on.put_h(x);
      },
      from(numbers), into(matrix, further));
  pipe.add_cpu_stage(
      "see", [&](int const&) { ++seen[scope_index()]; }, from(further));
  pipe.add_cpu_stage(
      "count", [&](ScopedStencilOutlet<int> in) { in.for_each_h([&](StencilTask const&) { ++tasks[scope_index()]; }); },
      from(matrix));
  Inlet<int> const in = numbers.open_inlet();
  pipe.start();
  Scope job = jobs.open_h();
  Scope named = jobs.open_h();
  other = &named;
  in.put_h(1, job);
  job.close_h();
  EXPECT_TRUE(job.wait_for(10s));
  named.close_h();
  EXPECT_TRUE(named.wait_for(10s));
  EXPECT_EQ(seen[job.index()], 1);
  EXPECT_EQ(seen[named.index()], 0);
  EXPECT_EQ(tasks[job.index()], 0);
  EXPECT_EQ(tasks[named.index()], 1);
  in.close_h();
  pipe.wait();
}

TEST(ScopesOfStencilTasks, OneTaskIsOpenAtATime) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs");
  auto& matrix = pipe.create_stencil_tunnel<int>("matrix", Direction::cpu_to_cpu, one_task(jobs));
  pipe.add_cpu_stage(
      "set", [&](ScopedStencilInlet<int> const& out) { set_rows(out, jobs.open_h(), 0, 3); }, into(matrix));
  pipe.add_cpu_stage(
      "count",
      [](ScopedStencilOutlet<int> const& in) {
        StencilTask task;
        while (in.next_h(task)) {
        }
      },
      from(matrix));
  EXPECT_EQ(text_of_error<MisuseError>([&] { pipe.run(); }),
            "stage 'count': get from a tunnel with scopes before the last task's end_task: such a stage works on one "
            "item at a time: tunnel 'matrix tasks', item 0");
}

TEST(ScopesOfStencilTasks, AreTheirPipelines) {
  HIWAY_NEEDS_DEVICE();
  Pipeline one(bounded());
  Pipeline other(bounded());
  Scopes& jobs = one.create_scopes("jobs");
  EXPECT_THAT(text_of_error<ConfigError>([&] {
                static_cast<void>(other.create_stencil_tunnel<int>("m", Direction::cpu_to_cpu, one_task(jobs)));
              }),
              HasSubstr("not this pipeline's"));
}

struct SetFrame {
  HIWAY_DEVICE void operator()(std::uint32_t const& frame, ScopedStencilInlet<int> out) const {
    for (int i = 0; i != 9; ++i) out.set(i % 3, i / 3, static_cast<int>(frame) + i, frame);
  }
};
struct Middle {
  HIWAY_DEVICE void operator()(ScopedStencilOutlet<int> in, Inlet<int> out) const {
    in.for_each([&](StencilTask const& t) { out.put_last(in.fetch(t.x, t.y)); });
  }
};
/// Frames as requests; the stage that replies waits at a gate, beyond the first one's deadline.
TEST(ScopesOfStencilTasks, AreRequestsWithDeadlines) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& jobs = pipe.create_scopes("jobs", {.most_open = 8});
  auto& requests = pipe.create_tunnel<std::uint32_t>("requests", Direction::cpu_to_gpu, {.scopes = &jobs});
  auto& matrix = pipe.create_stencil_tunnel<int>("matrix", Direction::gpu_to_gpu, one_task(jobs, 40));
  auto& middles = pipe.create_tunnel<int>("middles", Direction::gpu_to_cpu, {.scopes = &jobs});
  auto& replies = pipe.create_tunnel<int>("replies", Direction::cpu_to_cpu, {.scopes = &jobs});
  std::promise<void> opens;
  std::shared_future<void> const gate = opens.get_future().share();
  pipe.add_gpu_stage("set", SetFrame{}, from(requests), into(matrix), {.blocks = 1, .threads_per_block = 32});
  pipe.add_gpu_stage("middle", Middle{}, from(matrix), into(middles), {.blocks = 1, .threads_per_block = 32});
  pipe.add_cpu_stage(
      "gate",
      [&](int const& x, Inlet<int> const& out) {
        gate.wait();
        out.put_h(x);
      },
      from(middles), into(replies));
  Service<std::uint32_t, int> service(pipe, requests, replies);
  pipe.start();
  EXPECT_THROW(static_cast<void>(service.call(0, 20ms)), DeadlineExceeded);
  opens.set_value();
  for (std::uint32_t frame = 1; frame != 40; ++frame)
    EXPECT_EQ(service.call(frame), static_cast<int>(frame) + 4) << frame;
  service.stop();
  pipe.wait();
}

}  // namespace
