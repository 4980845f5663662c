// Scopes through stencil tunnels: whose tasks are whose, and that frames come through whatever becomes of scopes.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <string>
#include <vector>

#include "hiway/pipeline.hpp"
#include "hiway/stencil/stencil_tunnel.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::from_environment;
using hiway_tests::text_of_error;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

using Value = std::uint32_t;

HIWAY_DEVICE constexpr Value value_at(std::uint32_t x, std::uint32_t y, std::uint32_t frame) {
  Value h = (x * 0x9e3779b1U) ^ (y * 0x85ebca77U) ^ (frame * 0xc2b2ae3dU);
  h ^= h >> 15;
  return (h * 0x2c1b3c6dU) >> 8;
}

/// Some rows of a frame.
struct Rows {
  std::uint32_t frame, first, count;
};
/// Item form: sets them.
struct SetRows {
  std::uint32_t width;
  HIWAY_DEVICE void operator()(Rows const& r, ScopedStencilInlet<Value> out) const {
    for (std::uint32_t y = r.first; y != r.first + r.count; ++y)
      for (std::uint32_t x = 0; x != width; ++x) out.set(x, y, value_at(x, y, r.frame), r.frame);
  }
};
/// The same as a loop.
struct SetRowsInALoop {
  std::uint32_t width;
  HIWAY_DEVICE void operator()(Outlet<Rows> in, ScopedStencilInlet<Value> out) const {
    Rows rows;
    while (in.next(rows)) {
      SetRows{width}(rows, out);
      in.end_task();
    }
  }
};
/// The same by warps: the first lane has the task, all of them set.
struct SetRowsByWarps {
  std::uint32_t width;
  HIWAY_DEVICE void operator()(Outlet<Rows> in, ScopedStencilInlet<Value> out) const {
    anywhere([&](auto m) {
      unsigned const leader = m.lowest(m.lanes());
      bool const leads = m.lane() == leader;
      for (Rows r{};;) {
        bool const got = leads && in.get(r);
        if (m.ballot(m.lanes(), leads && !got && in.has_ended()) != 0) return;
        if (m.ballot(m.lanes(), got) == 0) continue;
        r = {m.shuffle(m.lanes(), r.frame, leader), m.shuffle(m.lanes(), r.first, leader),
             m.shuffle(m.lanes(), r.count, leader)};
        for (std::uint32_t i = 0; i != r.count * width; ++i) {
          std::uint32_t const x = i % width;
          std::uint32_t const y = r.first + i / width;
          auto const fill = [&](Value& value) {
            if (leads) value = value_at(x, y, r.frame);
          };
          out.set_in_place_warp(x, y, fill, r.frame);
        }
        if (leads) in.end_task();
      }
    });
  }
};

/// Puts each task's sum of its stencil, in parts: at once, by a last put, by way of another stage; in some frames tasks
/// fail their scope.
struct SumUp {
  StencilConfig config;
  bool by_for_each;
  std::uint32_t failing;  ///< one frame of so many
  HIWAY_DEVICE Value sum_of(ScopedStencilOutlet<Value> const& in, StencilTask const& t) const {
    std::int64_t const left = std::int64_t{t.x} - config.stencil_width / 2;
    std::int64_t const top = std::int64_t{t.y} - config.stencil_height / 2;
    Value sum = in.is_stencil_ready(t.x, t.y) ? 0 : 1;
    for (std::int64_t y = top; y < top + config.stencil_height; ++y) {
      for (std::int64_t x = left; x < left + config.stencil_width; ++x) {
        bool const inside = x >= 0 && x < config.width && y >= 0 && y < config.height;
        if (inside) sum += in.fetch(x, y);
      }
    }
    return sum;
  }
  HIWAY_DEVICE void work(ScopedStencilOutlet<Value> const& in, StencilTask const& t, Inlet<Value> const& again,
                         Inlet<Value> const& sums) const {
    Value const sum = sum_of(in, t);
    if (t.frame % failing == failing - 1) t.x % 2 == 0 ? fail_scope("of a frame") : fail_task("of a frame");
    for (std::uint32_t i = 0; i != t.x % 4; ++i) again.put(0u);
    switch ((t.x + t.y) % 3) {
      case 0: return sums.put_last(sum);
      case 1: return again.put(sum);
      default: sums.put(sum / 2); sums.put(sum - sum / 2);
    }
  }
  HIWAY_DEVICE void operator()(ScopedStencilOutlet<Value> in, Inlet<Value> again, Inlet<Value> sums) const {
    if (by_for_each) return in.for_each([&](StencilTask const& t) { work(in, t, again, sums); });
    StencilTask t;
    while (in.next(t)) {
      work(in, t, again, sums);
      in.end_task();
    }
  }
};
struct Same {
  HIWAY_DEVICE Value operator()(Value const& x) const { return x; }
};

std::uint64_t sum_of_frame(StencilConfig const& c, std::uint32_t frame) {
  std::uint64_t sum = 0;
  std::int64_t const left = c.stencil_width / 2;
  std::int64_t const up = c.stencil_height / 2;
  for (std::int64_t y = 0; y < c.height; ++y) {
    for (std::int64_t x = 0; x < c.width; ++x) {
      bool const whole =
          x >= left && x - left + c.stencil_width <= c.width && y >= up && y - up + c.stencil_height <= c.height;
      if (c.edges == StencilEdges::inside && !whole) continue;
      for (std::int64_t vy = y - up; vy < y - up + c.stencil_height; ++vy) {
        for (std::int64_t vx = x - left; vx < x - left + c.stencil_width; ++vx) {
          if (vx >= 0 && vy >= 0 && vx < c.width && vy < c.height)
            sum += value_at(static_cast<Value>(vx), static_cast<Value>(vy), frame);
        }
      }
    }
  }
  return sum;
}
ScopedStencilConfig with(StencilConfig const& c, Scopes& scopes) {
  return {c.width,  c.height,  c.stencil_width, c.stencil_height, c.region_width, c.region_height,
          c.frames, c.buffers, c.edges,         c.tasks,          c.movement,     &scopes};
}
constexpr bool is_from_gpu(Direction d) { return d == Direction::gpu_to_cpu || d == Direction::gpu_to_gpu; }
constexpr bool is_to_gpu(Direction d) { return d == Direction::cpu_to_gpu || d == Direction::gpu_to_gpu; }

/// What form the stage has that sets values.
enum class Setting : std::uint8_t { items, loop, warps };

/// What a pipeline is like.
struct Shape {
  StencilConfig config{};
  Direction direction = Direction::cpu_to_gpu;
  bool by_for_each = true;
  Setting setting = Setting::items;
  std::size_t most_open = 4;
  std::uint32_t failing = 1U << 30;
  unsigned threads = 2;
  int put_on = -1, got_on = -1;
};

/// An open inlet of rows -> a stage that sets them -> the stencil tunnel -> sums -> a CPU stage that adds them up, for
/// each scope. Each frame has a scope.
class Frames {
 public:
  explicit Frames(Shape const& shape) : shape_(shape), sums_(shape.most_open), pipe_(bounded()) {
    StencilConfig const& c = shape.config;
    jobs_ = &pipe_.create_scopes("jobs", {.most_open = shape.most_open});
    auto& rows = pipe_.create_tunnel<Rows>("rows", to(is_from_gpu(shape.direction)), {.scopes = jobs_});
    auto& matrix = pipe_.create_stencil_tunnel<Value>("matrix", shape.direction, with(c, *jobs_));
    bool const on_gpu = is_to_gpu(shape.direction);
    auto& again = pipe_.create_tunnel<Value>("again", on_gpu ? Direction::gpu_to_gpu : Direction::cpu_to_cpu,
                                             {.capacity_items = 64, .spill_items = 1 << 16, .scopes = jobs_});
    Direction const back = on_gpu ? Direction::gpu_to_cpu : Direction::cpu_to_cpu;
    auto& sums = pipe_.create_tunnel<Value>("sums", back, {.scopes = jobs_});
    auto const set = [&](auto body) {
      add("set", is_from_gpu(shape.direction), shape.put_on, body, from(rows), into(matrix));
    };
    if (shape.setting == Setting::items) set(SetRows{c.width});
    if (shape.setting == Setting::loop) set(SetRowsInALoop{c.width});
    if (shape.setting == Setting::warps) set(SetRowsByWarps{c.width});
    add("sum up", on_gpu, shape.got_on, SumUp{c, shape.by_for_each, shape.failing}, from(matrix), into(again, sums));
    add("same", on_gpu, shape.got_on, Same{}, from(again), into(sums));
    pipe_.add_cpu_stage("add", [this](Value const& x) { sums_[scope_index()] += x; }, from(sums), {.threads = 2});
    in_ = rows.open_inlet();
  }

  /// Puts a frame's rows, `each` at once, for a scope of its own; `cancels`: cancelled meanwhile.
  void put(std::uint32_t frame, std::uint32_t each, bool cancels) {
    StencilConfig const& c = shape_.config;
    Scope job = jobs_->open_h();
    bool const fails = frame % shape_.failing == shape_.failing - 1;
    std::uint64_t const expected = sum_of_frame(c, frame);
    job.then([=, this, at = job.index()](std::exception_ptr const& error) {
      std::uint64_t const came = sums_[at].exchange(0);
      bool const all = came == expected && (error != nullptr) == fails;
      bool const some = came <= expected && error != nullptr;
      if (cancels ? !some : !all) ++wrong_;
      ++ended_;
    });
    for (std::uint32_t y = 0; y < c.height; y += each) {
      in_.put_h({frame, y, std::min(each, c.height - y)}, job);
      if (cancels) job.cancel();
    }
  }
  /// Forgets what a run that has failed has brought.
  void clear() {
    for (auto& sum : sums_) sum = 0;
  }
  template <class Frame>
  void run(Frame&& frame) {
    pipe_.start();
    for (std::uint32_t f = 0; f != shape_.config.frames; ++f) frame(f);
    in_.close_h();
    pipe_.wait();
    EXPECT_EQ(ended_.exchange(0), shape_.config.frames);
    EXPECT_EQ(wrong_, 0);
  }

  [[nodiscard]] Pipeline& pipe() { return pipe_; }
  [[nodiscard]] Scopes& jobs() { return *jobs_; }
  [[nodiscard]] Inlet<Rows> const& rows() const { return in_; }

 private:
  static Direction to(bool gpu) { return gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu; }
  template <class Body, class... Ends>
  void add(char const* name, bool on_gpu, int device, Body body, Ends... ends) {
    if (on_gpu) {
      pipe_.add_gpu_stage(name, body, ends..., {.blocks = shape_.threads, .threads_per_block = 32, .device = device});
    } else {
      pipe_.add_cpu_stage(name, body, ends..., {.threads = shape_.threads});
    }
  }

  Shape shape_;
  std::vector<std::atomic<std::uint64_t>> sums_;
  std::atomic<unsigned> ended_{0};
  std::atomic<int> wrong_{0};
  Pipeline pipe_;  // its scopes end before what their calls need
  Scopes* jobs_ = nullptr;
  Inlet<Rows> in_;
};

constexpr Direction every_direction[] = {Direction::cpu_to_cpu, Direction::cpu_to_gpu, Direction::gpu_to_cpu,
                                         Direction::gpu_to_gpu};
StencilConfig const small{.width = 9, .height = 7, .region_width = 4, .region_height = 3, .frames = 12, .buffers = 2};

TEST(ScopesInStencils, EndWithTheLastTaskOfTheirFrame) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const direction : every_direction) {
    for (Setting const setting : {Setting::items, Setting::loop, Setting::warps}) {
      bool const by_for_each = setting != Setting::loop;
      Frames frames({.config = small, .direction = direction, .by_for_each = by_for_each, .setting = setting});
      for (int run = 0; run < 2; ++run) frames.run([&](std::uint32_t f) { frames.put(f, 2, false); });
    }
  }
}

/// With one buffer the next frame waits for that of a cancelled scope.
TEST(ScopesInStencils, OfCancelledScopesFreeTheirFrames) {
  HIWAY_NEEDS_DEVICE();
  StencilConfig config = small;
  config.buffers = 1;
  for (Direction const direction : every_direction) {
    for (StencilTasks const tasks : {StencilTasks::when_ready, StencilTasks::put_back}) {
      config.tasks = tasks;
      Frames frames({.config = config, .direction = direction, .by_for_each = tasks == StencilTasks::put_back});
      frames.run([&](std::uint32_t f) { frames.put(f, 3, f % 3 != 2); });
    }
  }
}

TEST(ScopesInStencils, FailAlone) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const direction : every_direction) {
    Frames frames({.config = small, .direction = direction, .failing = 3});
    frames.run([&](std::uint32_t f) { frames.put(f, 7, false); });
  }
}

/// Strips of several places: a place's last put leaves the other places their part of the scope.
TEST(ScopesInStencils, OfStripsWithSeveralPlaces) {
  HIWAY_NEEDS_DEVICE();
  StencilConfig const on_cpu{.width = 150, .height = 150, .stencil_width = 2, .stencil_height = 1, .frames = 3};
  StencilConfig const on_gpu{.width = 300, .height = 260, .stencil_width = 2, .stencil_height = 1, .frames = 1};
  for (bool const by_for_each : {true, false}) {
    Frames cpu({.config = on_cpu, .direction = Direction::cpu_to_cpu, .by_for_each = by_for_each});
    cpu.run([&](std::uint32_t f) { cpu.put(f, 10, f == 1); });
    Frames gpu({.config = on_gpu, .by_for_each = by_for_each});
    gpu.run([&](std::uint32_t f) { gpu.put(f, 30, false); });
  }
}

TEST(ScopesInStencils, GoFromDeviceToDevice) {
  HIWAY_NEEDS_DEVICES(2);
  for (Movement const movement : {Movement::automatic, Movement::direct, Movement::dma}) {
    StencilConfig config = small;
    config.movement = movement;
    Frames frames({.config = config, .direction = Direction::gpu_to_gpu, .put_on = 1, .got_on = 0});
    frames.run([&](std::uint32_t f) { frames.put(f, 2, f % 4 == 1); });
  }
}

TEST(ScopesInStencils, EndWithTheErrorOfTheirRun) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const direction : every_direction) {
    Frames frames({.config = small, .direction = direction});
    frames.pipe().start();
    Scope job = frames.jobs().open_h();
    frames.rows().put_h({0, 0, 4}, job);
    frames.rows().put_h({2, 0, 1}, job);  // waits for a buffer
    job.close_h();
    EXPECT_FALSE(job.wait_for(20ms));
    frames.pipe().abort();
    EXPECT_THAT(text_of_error<Error>([&] { job.wait(); }), HasSubstr("the scope's run has failed"));
    EXPECT_THAT(text_of_error<Error>([&] { frames.pipe().wait(); }), HasSubstr("abort"));
    frames.clear();
    frames.run([&](std::uint32_t f) { frames.put(f, 4, false); });
  }
}

/// Nothing of the scope is anywhere then; what it has set belongs to the one that completes it.
TEST(ScopesInStencils, EndWithoutHavingCompletedTheirFrame) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const direction : every_direction) {
    StencilConfig config = small;
    config.frames = 1;
    Frames frames({.config = config, .direction = direction});
    frames.pipe().start();
    Scope job = frames.jobs().open_h();
    frames.rows().put_h({0, 0, 2}, job);
    job.close_h();
    EXPECT_NO_THROW(job.wait());
    frames.rows().close_h();
    EXPECT_THAT(text_of_error<MisuseError>([&] { frames.pipe().wait(); }),
                HasSubstr("its writers have returned, but frame 0 is not complete: region (0, 0) has 8 of 12 values"));
  }
}

Shape random_shape(unsigned seed) {
  std::mt19937 rng(seed);
  auto const number = [&](std::uint32_t least, std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(least, most)(rng);
  };
  Shape s;
  StencilConfig& c = s.config;
  c.width = number(1, number(0, 3) == 0 ? 40 : 10);
  c.height = number(1, 12);
  c.stencil_width = number(1, std::min(c.width, 4U));
  c.stencil_height = number(1, std::min(c.height, 4U));
  c.region_width = number(0, c.width);
  c.region_height = number(0, c.height);
  c.frames = number(1, 9);
  c.buffers = number(1, 3);
  c.edges = number(0, 1) == 0 ? StencilEdges::inside : StencilEdges::clipped;
  c.tasks = number(0, 3) == 0 ? StencilTasks::put_back : StencilTasks::when_ready;
  s.direction = every_direction[number(0, 3)];
  constexpr Movement movements[] = {Movement::automatic, Movement::direct, Movement::dma};
  c.movement = movements[number(0, 2)];
  s.by_for_each = number(0, 1) == 0;
  s.setting = static_cast<Setting>(number(0, 4) % 3);
  s.most_open = number(1, 6);
  s.failing = number(2, 6);
  s.threads = number(1, 3);
  if (s.direction == Direction::gpu_to_gpu && number(0, 1) == 0 && hiway_tests::missing_devices(2).empty())
    s.put_on = 1, s.got_on = 0;
  return s;
}

// HIWAY_SCOPE_SEEDS: how many pipelines; HIWAY_SCOPE_SEED: the first one's seed.
TEST(RandomScopesInStencils, EndWithAllOfTheirResults) {
  HIWAY_NEEDS_DEVICE();
  auto const first = static_cast<unsigned>(from_environment("HIWAY_SCOPE_SEED", 1));
  auto const seeds = static_cast<unsigned>(from_environment("HIWAY_SCOPE_SEEDS", 20));
  for (unsigned seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("HIWAY_SCOPE_SEED=" + std::to_string(seed));
    Shape const shape = random_shape(seed);
    std::mt19937 rng(seed);
    Frames frames(shape);
    bool const may_cancel = shape.setting == Setting::items;  // a loop gets no items of cancelled scopes
    frames.run([&](std::uint32_t f) { frames.put(f, 1 + rng() % 4, may_cancel && rng() % 5 == 0); });
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
