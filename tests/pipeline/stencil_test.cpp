// Stencil tunnels against a serial oracle, on both devices.
#include <cstdio>
#include <cstdlib>

#include "tests/pipeline/stencil_shape.hpp"

namespace {

using namespace hiway;
using namespace stencil_tests;
using hiway_tests::bounded;
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

TEST(Stencils, OfAnyShapeBringEveryPlaceItsValues) {
  HIWAY_NEEDS_DEVICE();
  char const* const asked = std::getenv("HIWAY_STENCILS");
  unsigned const shapes = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : 150;
  char const* const first = std::getenv("HIWAY_SEED");
  unsigned const begin = first != nullptr ? static_cast<unsigned>(std::atoi(first)) : 1;
  unsigned failed = 0;
  for (unsigned seed = begin; seed < begin + shapes && failed < 3; ++seed) {
    Shape const shape = random_shape(seed);
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

std::string error_of(Direction direction, SetPart const& body, StencilConfig config, PipelineConfig pipeline) {
  Pipeline pipe(std::move(pipeline));
  auto& matrix = pipe.create_stencil_tunnel<std::uint32_t>("matrix", direction, config);
  bool const from_gpu = direction == Direction::gpu_to_cpu || direction == Direction::gpu_to_gpu;
  if (from_gpu) {
    pipe.add_gpu_stage("produce", body, into(matrix), {.blocks = 1, .threads_per_block = 1});
  } else {
    pipe.add_cpu_stage("produce", body, into(matrix));
  }
  if (direction == Direction::cpu_to_gpu || direction == Direction::gpu_to_gpu) {
    pipe.add_gpu_stage("consume", Count{}, from(matrix), {.blocks = 1, .threads_per_block = 32});
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
    Shape shape{
        .config =
            {.width = 13, .height = 9, .region_width = 4, .region_height = 4, .frames = 3, .movement = way.movement},
        .direction = way.direction,
        .producers = 2,
        .consumers = 2};
    Pipeline pipe(bounded());
    RunReport report;
    EXPECT_EQ(run(shape, pipe, report), "");
    ASSERT_EQ(report.stencils.size(), 1u);
    StencilReport const& r = report.stencils[0];
    EXPECT_EQ(r.name, "matrix");
    EXPECT_EQ(r.regions, 4u * 3u * 3u);
    EXPECT_EQ(r.region_copies, way.copies ? r.regions : 0);
    EXPECT_EQ(r.values, 13u * 9u * 3u);
    bool const crosses = way.direction == Direction::cpu_to_gpu || way.direction == Direction::gpu_to_cpu;
    EXPECT_EQ(r.bytes_moved, crosses ? 4 * r.values : 0);
    EXPECT_EQ(r.tasks, 11u * 7u * 3u);
    EXPECT_TRUE(r.first_task_before_last_set);  // of two buffers, for three frames
  }
}

}  // namespace
