// What a refusal says: every one that no other test reads. Each names the thing that is wrong and what may stand there.
#include <gmock/gmock.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "hiway/error.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;

auto const nothing = [](int const&) {};
struct Ignore {
  HIWAY_DEVICE void operator()(int const&) const {}
};

std::string refused_tunnel(TunnelConfig const& config, Direction direction = Direction::cpu_to_cpu) {
  Pipeline pipe(bounded());
  return text_of_error<ConfigError>([&] { pipe.create_tunnel<int>("t", direction, config); });
}

TEST(Messages, OfATunnelsConfiguration) {
  EXPECT_EQ(refused_tunnel({.flush_after = std::chrono::microseconds(-1)}),
            "tunnel 't': flush_after is negative: -1 us");
  EXPECT_EQ(refused_tunnel({.capacity_items = 8, .batch_items = 9}),
            "tunnel 't': batch_items (9) is larger than the ring, capacity_items (8)");
  EXPECT_EQ(refused_tunnel({.spill_items = (std::size_t{1} << 30) + 1}),
            "tunnel 't': spill_items must be at most 2^30: 1073741825");
  EXPECT_EQ(refused_tunnel({.shards = 3}), "tunnel 't': shards must be a power of two up to 64: 3");
  EXPECT_EQ(refused_tunnel({.shards = 128}), "tunnel 't': shards must be a power of two up to 64: 128");
  EXPECT_EQ(refused_tunnel({.capacity_items = 7, .shards = 8}), "tunnel 't': 8 shards share a capacity_items of 7");
  EXPECT_EQ(refused_tunnel({.shards = 2}, Direction::cpu_to_gpu),
            "tunnel 't': shards are for tunnels that do not cross the bus");
  EXPECT_EQ(refused_tunnel({.low_latency = true}, Direction::cpu_to_cpu),
            "tunnel 't': low_latency is for tunnels with an end on the device");
  EXPECT_EQ(refused_tunnel({.shards = 2, .low_latency = true}, Direction::gpu_to_gpu),
            "tunnel 't': low_latency is for tunnels of one shard: 2");
  EXPECT_EQ(refused_tunnel({.movement = Movement::dma, .low_latency = true}, Direction::gpu_to_cpu),
            "tunnel 't': low_latency needs Movement::direct");
  EXPECT_EQ(text_of_error<ConfigError>([] {
              Pipeline pipe(bounded());
              pipe.create_tunnel<std::array<char, 13>>("t", Direction::gpu_to_cpu, {.low_latency = true});
            }),
            "tunnel 't': low_latency is for items of at most 12 bytes: 13");
}

TEST(Messages, OfALowLatencyTunnelThatManyWarpsRead) {
  for (GpuStageOptions const& options :
       {GpuStageOptions{.blocks = 2, .threads_per_block = 32}, GpuStageOptions{.blocks = 1, .threads_per_block = 33}}) {
    Pipeline pipe(bounded());
    auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_gpu, {.low_latency = true});
    pipe.add_cpu_stage(
        "source", [](Inlet<int>) {}, into(t));
    pipe.add_gpu_stage("sink", Ignore{}, from(t), options);
    EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.prepare(); }),
              "tunnel 't': low_latency to the GPU is for one stage of one warp (blocks = 1, threads_per_block = 32), "
              "which looks across the bus by itself");
  }
}

TEST(Messages, OfAPipelinesConfiguration) {
  auto const refusal = [](auto&& set) {
    PipelineConfig config = bounded();
    set(config);
    return text_of_error<ConfigError>([&] { Pipeline pipe(config); });
  };
  EXPECT_EQ(refusal([](PipelineConfig& c) { c.stall_after = std::chrono::milliseconds(-1); }),
            "stall_after is negative: -1 ms");
  for (std::int64_t const time : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{3'600'000'001}}) {
    EXPECT_EQ(refusal([time](PipelineConfig& c) {
                c.end_detection = EndDetection::time_out;
                c.end_time_out = std::chrono::microseconds(time);
              }),
              "end_time_out must be from 1 us to 1 h: " + std::to_string(time) + " us");
  }
}

TEST(Messages, OfAnUnknownDevice) {
  for (char const* const name : {"tpu", "cuda:", "cuda:x", "cuda:-1"}) {
    EXPECT_EQ(text_of_error<NoDevice>([&] { Pipeline pipe({.device = name}); }),
              "no device '" + std::string(name) + "': expected auto, simt or cuda:N");
  }
}

TEST(Messages, OfAPipelineThatIsNotWhole) {
  Pipeline empty(bounded());
  EXPECT_EQ(text_of_error<ConfigError>([&] { empty.prepare(); }), "the pipeline has no stage");

  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::gpu_to_cpu);
  pipe.add_cpu_stage("source", [](Inlet<int>) {}, into(t), {.threads = 0, .pin = {-1}});
  pipe.add_cpu_stage("sink", nothing, from(t));
  EXPECT_THAT(text_of_error<ConfigError>([&] { pipe.prepare(); }),
              testing::StartsWith("3 problems: stage 'source': threads must be at least 1; "
                                  "stage 'source' runs on the CPU, but tunnel 't' is put on the GPU; "
                                  "stage 'source': pin: CPU -1 does not exist: there are "));
}

TEST(Messages, OfCallsWhileThePipelineRuns) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  Inlet<int> const inlet = t.open_inlet();
  pipe.add_cpu_stage("sink", nothing, from(t));
  EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.wait(); }), "wait: the pipeline was not started");
  pipe.start();
  EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.start(); }), "start while the pipeline runs");
  EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.create_tunnel<int>("u", Direction::cpu_to_cpu); }),
            "create_tunnel while the pipeline runs");
  EXPECT_EQ(text_of_error<ConfigError>([&] { pipe.add_cpu_stage("more", nothing, from(t)); }),
            "add_cpu_stage while the pipeline runs");
  EXPECT_EQ(text_of_error<ConfigError>([&] { (void)t.open_outlet(); }), "open_outlet while the pipeline runs");
  inlet.close_h();
  pipe.wait();
}

TEST(Messages, OfABuffersRange) {
  Pipeline pipe(bounded());
  auto& buffer = pipe.create_buffer<int>(10);
  std::vector<int> three(3);
  EXPECT_EQ(text_of_error<ConfigError>([&] { buffer.copy_in(std::span<int const>(three), 8); }),
            "buffer: elements 8 to 11 do not lie in a buffer of 10");
}

TEST(Messages, OfAnExceptionThatIsNone) {
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_cpu);
  pipe.add_cpu_stage(
      "source", [](Inlet<int>) { throw 1; }, into(t));
  pipe.add_cpu_stage("sink", nothing, from(t));
  EXPECT_EQ(text_of_error<StageError>([&] { pipe.run(); }), "stage 'source': unknown exception");
}

TEST(Messages, OfAnEmulatedDevicesLimits) {
  EXPECT_EQ(
      text_of_error<ConfigError>([] {
        simt::Device device({.processors = 0, .lanes_per_processor = 31, .blocks_per_processor = 0, .stack_bytes = 1});
      }),
      "emulated device: processors is 0; blocks_per_processor is 0; lanes_per_processor is less than a warp: 31; "
      "stack_bytes is less than 16384: 1");
}

}  // namespace
