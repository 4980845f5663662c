// Stencil tunnels against a serial oracle: at the host, on a device, and from one device to another.
#include <cstdio>
#include <cstdlib>

#include "tests/pipeline/stencil_shape.hpp"

namespace {

using namespace hiway;
using namespace stencil_tests;
using hiway_tests::bounded;
using hiway_tests::missing_devices;
using hiway_tests::name_of_device;
using hiway_tests::text_of_error;

constexpr Direction every_direction[] = {Direction::cpu_to_cpu, Direction::cpu_to_gpu, Direction::gpu_to_cpu,
                                         Direction::gpu_to_gpu};

TEST(Stencils, BringEveryPlaceItsValues) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const direction : every_direction) {
    for (Movement const movement : {Movement::direct, Movement::dma}) {
      for (Taking const taking : {Taking::for_each, Taking::get, Taking::two_at_a_time, Taking::next}) {
        Shape shape{.config = {.width = 13, .height = 9, .region_width = 4, .region_height = 3, .movement = movement},
                    .direction = direction,
                    .producers = 3,
                    .consumers = 2,
                    .step = 5,
                    .taking = taking};
        EXPECT_EQ(run(shape), "") << text_of(shape);
      }
    }
  }
}

/// Runs random shapes, each as `change` leaves it.
template <class Change>
void run_random_shapes(unsigned shapes_if_not_asked, Change&& change) {
  char const* const asked = std::getenv("HIWAY_STENCILS");
  unsigned const shapes = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : shapes_if_not_asked;
  char const* const first = std::getenv("HIWAY_SEED");
  unsigned const begin = first != nullptr ? static_cast<unsigned>(std::atoi(first)) : 1;
  unsigned failed = 0;
  for (unsigned seed = begin; seed < begin + shapes && failed < 3; ++seed) {
    Shape shape = random_shape(seed);
    change(shape);
    std::string what;
    try {
      what = run(shape);
    } catch (std::exception const& e) {
      what = e.what();
    }
    EXPECT_EQ(what, "") << text_of(shape) << (++failed, "");
  }
  std::printf("random stencils: seeds %u to %u, %u wrong\n", begin, begin + shapes - 1, failed);
}
TEST(Stencils, OfAnyShapeBringEveryPlaceItsValues) {
  HIWAY_NEEDS_DEVICE();
  run_random_shapes(150, [](Shape&) {});
}

/// Sets some values only, or one of them otherwise.
struct SetPart {
  std::uint32_t values;
  std::uint32_t width;
  std::int64_t x = -1, y = 0;  ///< set once more, when x is not -1
  std::uint32_t frame = 0;
  bool stays = false;
  HIWAY_DEVICE void operator()(StencilInlet<std::uint32_t> out) const {
    for (std::uint32_t i = 0; i < values; ++i) out.set(i % width, i / width, i);
    if (x != -1) out.set(x, y, 0u, frame);
    if (stays) out.set(0, 0, 0u, 1);  // waits for the frame before
  }
};
struct Count {
  HIWAY_DEVICE void operator()(StencilOutlet<std::uint32_t> in) const {
    in.for_each([](StencilTask const&) {});
  }
};

std::string error_of(Direction direction, SetPart const& body, StencilConfig config, PipelineConfig pipeline,
                     int put_on = -1, int got_on = -1) {
  Pipeline pipe(std::move(pipeline));
  auto& matrix = pipe.create_stencil_tunnel<std::uint32_t>("matrix", direction, config);
  bool const from_gpu = direction == Direction::gpu_to_cpu || direction == Direction::gpu_to_gpu;
  if (from_gpu) {
    pipe.add_gpu_stage("produce", body, into(matrix), {.blocks = 1, .threads_per_block = 1, .device = put_on});
  } else {
    pipe.add_cpu_stage("produce", body, into(matrix));
  }
  if (direction == Direction::cpu_to_gpu || direction == Direction::gpu_to_gpu) {
    pipe.add_gpu_stage("consume", Count{}, from(matrix), {.blocks = 1, .threads_per_block = 32, .device = got_on});
  } else {
    pipe.add_cpu_stage("consume", Count{}, from(matrix));
  }
  return text_of_error<Error>([&] { pipe.run(); });
}
std::string error_of(Direction direction, SetPart const& body) {
  return error_of(direction, body, {.width = 6, .height = 4, .region_width = 3, .region_height = 2}, bounded());
}

TEST(Stencils, AValueSetTwiceIsNamed) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const direction : every_direction) {
    char const* const text =
        "stage 'produce': a value was set twice in one frame: tunnel 'matrix', value (4, 1) of frame 0";
    EXPECT_EQ(error_of(direction, {.values = 20, .width = 6, .x = 4, .y = 1}), text);
    EXPECT_EQ(error_of(direction, {.values = 24, .width = 6, .x = 4, .y = 1}), text);  // of a whole region
  }
}
TEST(Stencils, APlaceOutsideIsNamed) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const direction : every_direction) {
    std::string const text = "stage 'produce': outside the matrix, or behind the last frame: tunnel 'matrix', value ";
    EXPECT_EQ(error_of(direction, {.values = 0, .width = 6, .x = 6, .y = 1}), text + "(6, 1) of frame 0");
    EXPECT_EQ(error_of(direction, {.values = 0, .width = 6, .x = 0, .y = -2}), text + "(0, -2) of frame 0");
    EXPECT_EQ(error_of(direction, {.values = 0, .width = 6, .x = 0, .y = 0, .frame = 1}), text + "(0, 0) of frame 1");
  }
}
TEST(Stencils, AFrameThatIsNotCompleteIsNamed) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const direction : every_direction) {
    EXPECT_EQ(
        error_of(direction, {.values = 23, .width = 6}),
        "stencil tunnel 'matrix': its writers have returned, but frame 0 is not complete: region (1, 1) has 5 of 6 "
        "values");
  }
}
TEST(Stencils, AStallNamesTheFrameThatIsNotComplete) {
  HIWAY_NEEDS_DEVICE();
  for (Direction const direction : {Direction::cpu_to_gpu, Direction::gpu_to_cpu}) {
    PipelineConfig config = bounded();
    config.stall_after = std::chrono::milliseconds(300);
    config.on_stall = OnStall::abort;
    std::string const text =
        error_of(direction, {.values = 7, .width = 6, .stays = true},
                 {.width = 6, .height = 4, .region_width = 3, .region_height = 2, .frames = 2, .buffers = 1}, config);
    EXPECT_NE(text.find("stencil tunnel 'matrix': frame 0 is not complete: region (0, 0) has 4 of 6 values"),
              std::string::npos)
        << text;
  }
}

/// Reads beside the matrix, or ends a task too many.
struct Misread {
  bool reads;
  HIWAY_DEVICE void operator()(StencilOutlet<std::uint32_t> in) const {
    StencilTask task;
    while (in.next(task)) {
      if (reads && in.fetch(task.x, std::int64_t{task.y} - 4) == 77) in.fail("never");
      in.end_task();
      if (!reads) in.end_task();
    }
  }
};
TEST(Stencils, ReadingBesideTheMatrixAndEndingTwiceAreNamed) {
  HIWAY_NEEDS_DEVICE();
  for (bool const reads : {true, false}) {
    for (Direction const direction : {Direction::cpu_to_gpu, Direction::cpu_to_cpu}) {
      Pipeline pipe(bounded());
      auto& matrix = pipe.create_stencil_tunnel<std::uint32_t>("matrix", direction, {.width = 3, .height = 3});
      pipe.add_cpu_stage("produce", SetPart{.values = 9, .width = 3}, into(matrix));
      if (direction == Direction::cpu_to_gpu) {
        pipe.add_gpu_stage("consume", Misread{reads}, from(matrix), {.blocks = 1, .threads_per_block = 1});
      } else {
        pipe.add_cpu_stage("consume", Misread{reads}, from(matrix));
      }
      std::string const text = text_of_error<MisuseError>([&] { pipe.run(); });
      EXPECT_EQ(text,
                reads ? "stage 'consume': outside the matrix, or behind the last frame: tunnel 'matrix tasks', value "
                        "(1, -3) of frame 0"
                      : "stage 'consume': one end_task too many: tunnel 'matrix tasks', item 0");
    }
  }
}

TEST(Stencils, ABadConfigurationIsNamed) {
  HIWAY_NEEDS_DEVICE();
  auto const text = [](StencilConfig const& config) {
    Pipeline pipe(bounded());
    return text_of_error<ConfigError>(
        [&] { static_cast<void>(pipe.create_stencil_tunnel<float>("m", Direction::cpu_to_gpu, config)); });
  };
  EXPECT_EQ(text({.width = 0, .height = 3}), "stencil tunnel 'm': width and height must be from 1 to 2^21: 0 x 3");
  EXPECT_EQ(text({.width = 4, .height = 4, .stencil_width = 5}),
            "stencil tunnel 'm': a stencil of 5 x 3 does not lie in a matrix of 4 x 4");
  EXPECT_EQ(text({.width = 4, .height = 4, .stencil_width = 0}),
            "stencil tunnel 'm': a stencil of 0 x 3 has no values");
  EXPECT_EQ(text({.width = 4, .height = 4, .region_width = 5, .region_height = 1}),
            "stencil tunnel 'm': a region of 5 x 1 is larger than the matrix, 4 x 4");
  EXPECT_EQ(text({.width = 4, .height = 4, .frames = 0}), "stencil tunnel 'm': frames must be from 1 to 2^20: 0");
  EXPECT_EQ(text({.width = 4, .height = 4, .movement = Movement::managed}),
            "stencil tunnel 'm': regions move by dma or direct, not by Movement::managed");
}

/// Where a tunnel's two ends are.
struct Ends {
  Direction direction;
  int put_on = -1, got_on = -1;
};

/// Through 12 regions, the last ones of each row and column smaller; what a report says alike wherever they go.
void run_three_frames(Ends const& ends, Movement movement, RunReport& report) {
  Shape const shape{
      .config = {.width = 13, .height = 9, .region_width = 4, .region_height = 4, .frames = 3, .movement = movement},
      .direction = ends.direction,
      .producers = 2,
      .consumers = 2,
      .put_on = ends.put_on,
      .got_on = ends.got_on};
  Pipeline pipe(bounded());
  EXPECT_EQ(run(shape, pipe, report), "");
  ASSERT_EQ(report.stencils.size(), 1u);
  StencilReport const& r = report.stencils[0];
  EXPECT_EQ(r.name, "matrix");
  EXPECT_EQ(r.regions, 4u * 3u * 3u);
  EXPECT_EQ(r.values, 13u * 9u * 3u);
  EXPECT_EQ(r.tasks, 11u * 7u * 3u);
  EXPECT_TRUE(r.first_task_before_last_set);  // of two buffers, for three frames
}

TEST(Stencils, EachRegionCrossesOnce) {
  HIWAY_NEEDS_DEVICE();
  struct Way {
    Direction direction;
    Movement movement;
    bool copies;
  };
  for (Way const way :
       {Way{Direction::cpu_to_gpu, Movement::dma, true}, Way{Direction::cpu_to_gpu, Movement::direct, true},
        Way{Direction::gpu_to_cpu, Movement::dma, true}, Way{Direction::gpu_to_cpu, Movement::direct, false},
        Way{Direction::cpu_to_cpu, Movement::automatic, false},
        Way{Direction::gpu_to_gpu, Movement::automatic, false}}) {
    RunReport report;
    ASSERT_NO_FATAL_FAILURE(run_three_frames({way.direction}, way.movement, report));
    StencilReport const& r = report.stencils[0];
    EXPECT_EQ(r.region_copies, way.copies ? r.regions : 0);
    bool const crosses = way.direction == Direction::cpu_to_gpu || way.direction == Direction::gpu_to_cpu;
    EXPECT_EQ(r.bytes_moved, crosses ? 4 * r.values : 0);
  }
}

// ---- several devices

constexpr Ends ends_elsewhere[] = {{Direction::gpu_to_gpu, 0, 1},  {Direction::gpu_to_gpu, 1, 0},
                                   {Direction::gpu_to_gpu, 1, 2},  {Direction::gpu_to_gpu, 2, 2},
                                   {Direction::cpu_to_gpu, -1, 1}, {Direction::gpu_to_cpu, 1, -1}};

TEST(StencilsOnSeveralDevices, BringEveryPlaceItsValues) {
  HIWAY_NEEDS_DEVICES(3);
  for (Ends const& ends : ends_elsewhere) {
    for (Movement const movement : {Movement::direct, Movement::dma}) {
      for (std::uint32_t const buffers : {1u, 2u}) {
        for (Taking const taking : {Taking::for_each, Taking::two_at_a_time}) {
          Shape const shape{.config = {.width = 13,
                                       .height = 9,
                                       .region_width = 4,
                                       .region_height = 3,
                                       .frames = 3,
                                       .buffers = buffers,
                                       .movement = movement},
                            .direction = ends.direction,
                            .producers = 3,
                            .consumers = 2,
                            .step = 5,
                            .taking = taking,
                            .put_on = ends.put_on,
                            .got_on = ends.got_on};
          EXPECT_EQ(run(shape), "") << text_of(shape);
        }
      }
    }
  }
}

TEST(StencilsOnSeveralDevices, OfAnyShapeBringEveryPlaceItsValues) {
  HIWAY_NEEDS_DEVICES(3);
  run_random_shapes(100, [](Shape& s) {
    Ends const& ends = ends_elsewhere[s.seed % std::size(ends_elsewhere)];
    s.direction = ends.direction;
    s.put_on = ends.put_on;
    s.got_on = ends.got_on;
    if (ends.direction == Direction::cpu_to_gpu) s.producers = s.producers % 3 + 1;
    if (ends.direction == Direction::gpu_to_cpu) s.consumers = s.consumers % 3 + 1;
  });
}

TEST(StencilsOnSeveralDevices, EachRegionCrossesOnce) {
  HIWAY_NEEDS_DEVICES(2);
  for (Movement const movement : {Movement::automatic, Movement::direct, Movement::dma}) {
    RunReport report;
    ASSERT_NO_FATAL_FAILURE(run_three_frames({Direction::gpu_to_gpu, 1, 0}, movement, report));
    StencilReport const& r = report.stencils[0];
    EXPECT_EQ(r.region_copies, movement == Movement::direct ? 0 : r.regions);
    EXPECT_EQ(r.bytes_moved, 4 * r.values);
    TunnelReport const& references = report.tunnels[1];
    EXPECT_EQ(references.name, "matrix");
    EXPECT_EQ(references.movement, movement == Movement::direct ? "direct" : "dma");
    EXPECT_EQ(references.items, r.regions);
  }
}

/// Hands each place's value on, one larger.
struct HandOn {
  HIWAY_DEVICE void operator()(StencilOutlet<std::uint32_t> in, StencilInlet<std::uint32_t> out) const {
    in.for_each([&](StencilTask const& t) { out.set(t.x, t.y, in.fetch(t.x, t.y) + 1, t.frame); });
  }
};

TEST(StencilsOnSeveralDevices, AStreamOfFramesGoesThroughEach) {
  HIWAY_NEEDS_DEVICES(3);
  for (Movement const movement : {Movement::direct, Movement::dma}) {
    StencilConfig const config{.width = 21,
                               .height = 10,
                               .stencil_width = 1,
                               .stencil_height = 1,
                               .region_width = 5,
                               .region_height = 3,
                               .frames = 5,
                               .movement = movement};
    std::vector<int> const devices{1, 0, 2};
    Pipeline pipe(bounded());
    auto* in = &pipe.create_stencil_tunnel<std::uint32_t>("t0", Direction::cpu_to_gpu, config);
    pipe.add_cpu_stage("produce", Produce{config, 1}, into(*in));
    for (std::size_t i = 0; i < devices.size(); ++i) {
      Direction const direction = i + 1 == devices.size() ? Direction::gpu_to_cpu : Direction::gpu_to_gpu;
      auto* const out =
          &pipe.create_stencil_tunnel<std::uint32_t>(std::string("t").append(std::to_string(i + 1)), direction, config);
      pipe.add_gpu_stage(std::string("stage ").append(std::to_string(i)), HandOn{}, from(*in), into(*out),
                         {.blocks = 1, .threads_per_block = 32, .device = devices[i]});
      in = out;
    }
    std::uint32_t right = 0;
    pipe.add_cpu_stage(
        "sink",
        [&](StencilOutlet<std::uint32_t> last) {
          last.for_each_h([&](StencilTask const& t) {
            right += last.fetch_h(t.x, t.y) == value_at(t.x, t.y, t.frame) + 3 ? 1 : 0;
          });
        },
        from(*in));
    for (std::uint32_t run = 1; run <= 2; ++run) {
      pipe.run();
      EXPECT_EQ(right, run * 21 * 10 * 5);
    }
  }
}

TEST(StencilsOnSeveralDevices, AFrameThatIsNotCompleteIsNamed) {
  HIWAY_NEEDS_DEVICES(2);
  for (Movement const movement : {Movement::direct, Movement::dma}) {
    EXPECT_EQ(error_of(Direction::gpu_to_gpu, {.values = 23, .width = 6},
                       {.width = 6, .height = 4, .region_width = 3, .region_height = 2, .movement = movement},
                       bounded(), 1, 0),
              "stencil tunnel 'matrix': its writers have returned, but frame 0 is not complete: region (1, 1) has 5 of "
              "6 values");
  }
}
TEST(StencilsOnSeveralDevices, AStallNamesTheFrameThatIsNotComplete) {
  HIWAY_NEEDS_DEVICES(2);
  PipelineConfig config = bounded();
  config.stall_after = std::chrono::milliseconds(300);
  config.on_stall = OnStall::abort;
  std::string const text = error_of(
      Direction::gpu_to_gpu, {.values = 7, .width = 6, .stays = true},
      {.width = 6, .height = 4, .region_width = 3, .region_height = 2, .frames = 2, .buffers = 1}, config, 1, 0);
  EXPECT_NE(text.find("stencil tunnel 'matrix': frame 0 is not complete: region (0, 0) has 4 of 6 values"),
            std::string::npos)
      << text;
}
TEST(StencilsOnSeveralDevices, AValueSetTwiceIsNamed) {
  HIWAY_NEEDS_DEVICES(2);
  EXPECT_EQ(error_of(Direction::gpu_to_gpu, {.values = 24, .width = 6, .x = 4, .y = 1},
                     {.width = 6, .height = 4, .region_width = 3, .region_height = 2}, bounded(), 1, 0),
            "stage 'produce': a value was set twice in one frame: tunnel 'matrix', value (4, 1) of frame 0");
}

/// Takes a task and fails, while others wait.
struct FailAtATask {
  HIWAY_DEVICE void operator()(StencilOutlet<std::uint32_t> in) const {
    in.for_each([&](StencilTask const& t) {
      if (t.x == 5) in.fail("enough");
    });
  }
};
/// Sets whole frames, and fails in one.
struct FailInAFrame {
  std::uint32_t frame;
  HIWAY_DEVICE void operator()(StencilInlet<std::uint32_t> out) const {
    for (std::uint32_t f = 0; f < 1000; ++f) {
      if (f == frame) out.fail_d("no more");
      for (std::uint32_t i = 0; i < 64; ++i) out.set(i % 8, i / 8, i, f);
    }
  }
};
TEST(StencilsOnSeveralDevices, AStageThatFailsEndsTheRunOfAll) {
  HIWAY_NEEDS_DEVICES(2);
  for (Movement const movement : {Movement::direct, Movement::dma}) {
    for (bool const consumer : {true, false}) {
      Pipeline pipe(bounded());
      auto& matrix = pipe.create_stencil_tunnel<std::uint32_t>(
          "matrix", Direction::gpu_to_gpu, {.width = 8, .height = 8, .frames = 1000, .movement = movement});
      pipe.add_gpu_stage("produce", FailInAFrame{consumer ? 1000u : 20u}, into(matrix),
                         {.blocks = 1, .threads_per_block = 1, .device = 0});
      GpuStageOptions const consuming{.blocks = 1, .threads_per_block = 32, .device = 1};
      if (consumer) {
        pipe.add_gpu_stage("consume", FailAtATask{}, from(matrix), consuming);
      } else {
        pipe.add_gpu_stage("consume", Count{}, from(matrix), consuming);
      }
      for (int run = 0; run < 2; ++run)
        EXPECT_EQ(text_of_error<StageError>([&] { pipe.run(); }),
                  consumer ? "stage 'consume': enough" : "stage 'produce': no more");
    }
  }
}

TEST(StencilsOnSeveralDevices, ReadersOnTwoDevicesAreRefused) {
  HIWAY_NEEDS_DEVICES(2);
  Pipeline pipe(bounded());
  auto& matrix = pipe.create_stencil_tunnel<std::uint32_t>("matrix", Direction::cpu_to_gpu, {.width = 3, .height = 3});
  pipe.add_cpu_stage("produce", SetPart{.values = 9, .width = 3}, into(matrix));
  pipe.add_gpu_stage("first", Count{}, from(matrix), {.blocks = 1, .threads_per_block = 32, .device = 0});
  pipe.add_gpu_stage("second", Count{}, from(matrix), {.blocks = 1, .threads_per_block = 32, .device = 1});
  std::string const text = text_of_error<ConfigError>([&] { pipe.prepare(); });
  EXPECT_NE(text.find("tunnel 'matrix' is got on " + name_of_device(0) + " and on " + name_of_device(1) +
                      ": all its readers must be on one device"),
            std::string::npos)
      << text;
}

}  // namespace
