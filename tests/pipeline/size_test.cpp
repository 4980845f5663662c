// Sizes that no memory has, or that do not fit their 64 bits: refused with what they are of. A product that wrapped
// gave a buffer of 2^61 + 1 elements 8 bytes; what does not fit into memory was a std::bad_alloc that named nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "hiway/hiway.hpp"

namespace hiway {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t two_to(unsigned exponent) { return std::size_t{1} << exponent; }

template <class F>
std::string refused(F&& f) {
  try {
    f();
  } catch (ConfigError const& e) {
    return e.what();
  }
  return "not refused";
}

struct Big {
  char bytes[64];
};
struct Largest {
  char bytes[65536];
};
struct Use {
  HIWAY_DEVICE void operator()(Outlet<StencilOf<Largest>>) const {}
};
struct Nothing {
  HIWAY_DEVICE void operator()() const {}
};

TEST(Sizes, ABuffersBytesDoNotWrap) {
  Pipeline pipe({.device = "simt"});
  EXPECT_EQ(refused([&] { pipe.create_buffer<double>(two_to(61) + 1); }),
            "buffer: 2305843009213693953 x 8 bytes are more than any memory has");
  EXPECT_THAT(refused([&] { pipe.create_buffer<Big>(two_to(58) + 2); }), HasSubstr("more than any memory"));
  EXPECT_THAT(refused([&] { pipe.create_buffer<double>(~std::size_t{0}); }), HasSubstr("more than any memory"));
  EXPECT_EQ(refused([&] { pipe.create_host_buffer<std::uint32_t>(two_to(62) + 1); }),
            "buffer: 4611686018427387905 x 4 bytes are more than any memory has");
  EXPECT_EQ(pipe.create_buffer<double>(0).size(), 0u);  // nothing is a size
}

TEST(Sizes, WhatNoMemoryHoldsIsNamedWithItsBytes) {
  Pipeline pipe({.device = "simt"});
  EXPECT_EQ(refused([&] { pipe.create_buffer<char>(two_to(62)); }),
            "buffer: there is no memory for 4611686018427387904 bytes");
  EXPECT_THAT(refused([&] { static_cast<void>(pipe.create_host_buffer<Big>(two_to(54))); }),
              EndsWith("there is no memory for 1152921504606846976 bytes"));
  auto& huge = pipe.create_tunnel<Largest>("huge", Direction::cpu_to_cpu, {.capacity_items = two_to(30)});
  pipe.add_cpu_stage(
      "feed", [](Inlet<Largest>) {}, into(huge));
  pipe.add_cpu_stage(
      "eat", [](Largest const&) {}, from(huge));
  EXPECT_EQ(refused([&] { pipe.run(); }), "tunnel 'huge': there is no memory for 70368744177664 bytes");
}

TEST(Sizes, OfAStencilTunnelDoNotWrap) {
  Pipeline pipe({.device = "simt"});
  auto const refusal = [&](StencilConfig config) {
    return refused([&] { pipe.create_stencil_tunnel<char>("plane", Direction::cpu_to_gpu, config); });
  };
  std::uint32_t const most = 1u << 21;
  EXPECT_THAT(refusal({.width = most, .height = most, .region_width = 1, .region_height = 1}),
              HasSubstr("more than 2^30 references"));
  EXPECT_THAT(refusal({.width = most, .height = most}), HasSubstr("more than 2^30 references"));
  // 2^32 values of a region were 0 to the board that counts them.
  EXPECT_EQ(refusal({.width = 65536, .height = 65536, .region_width = 65536, .region_height = 65536}),
            "stencil tunnel 'plane': a region of 65536 x 65536 has more than 2^32 - 1 values");
  auto& planes = pipe.create_stencil_tunnel<Largest>(
      "planes", Direction::cpu_to_gpu,
      {.width = 32768, .height = 32768, .region_width = 32768, .region_height = 32768});
  pipe.add_cpu_stage(
      "set", [](Inlet<StencilOf<Largest>>) {}, into(planes));
  pipe.add_gpu_stage("use", Use{}, from(planes));
  EXPECT_EQ(refused([&] { pipe.prepare(); }), "stencil tunnel 'planes': there is no memory for 70368744177664 bytes");
}

TEST(Sizes, OfGridsDoNotWrap) {
  Pipeline pipe({.device = "simt"});
  EXPECT_EQ(refused([&] { pipe.launch("wide", Nothing{}, {.blocks = 0x80000000u, .threads_per_block = 1024}); }),
            "launch 'wide': 2147483648 x 1024 threads are more than thread_count() can say, 2^32 - 1");
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<int>) {}, into(in));
  // Rounded up to whole processors, so many blocks were none.
  struct Eat {
    HIWAY_DEVICE void operator()(int const&) const {}
  };
  pipe.add_gpu_stage("eat", Eat{}, from(in),
                     {.blocks = 0xffffffffu, .threads_per_block = 32, .residency = Residency::resident});
  EXPECT_THAT(refused([&] { pipe.prepare(); }), HasSubstr("do not fit the device at once"));
}

// Each new name was compared with all others, and each unit with all tunnels.
TEST(Sizes, AMillionTunnelsAreRefusedSoon) {
  Pipeline pipe({.device = "simt"});
  auto const begin = std::chrono::steady_clock::now();
  std::string const one_more = refused([&] {
    for (int i = 0; i < 1'000'000; ++i) pipe.create_tunnel<int>("tunnel " + std::to_string(i), Direction::cpu_to_cpu);
  });
  EXPECT_EQ(one_more, "tunnel 'tunnel 65536': a pipeline has at most 65536 tunnels");
  EXPECT_EQ(pipe.tunnel_count(), 65536u);
  // What is wrong with all of them is said of some.
  std::string const all = refused([&] { pipe.prepare(); });
  EXPECT_THAT(all, AllOf(StartsWith("131072 problems: tunnel 'tunnel 0' has no writer"), EndsWith("; and so on")));
  EXPECT_LT(all.size(), 10'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(Sizes, NamesOf64KiBWork) {
  std::string const tunnel_name(65536, 't');
  std::string const stage_name(65536, 's');
  Pipeline pipe({.device = "simt"});
  auto& numbers = pipe.create_tunnel<int>(tunnel_name, Direction::cpu_to_cpu);
  long sum = 0;
  pipe.add_cpu_stage(
      stage_name, [](Inlet<int> out) { out.put_h(7); }, into(numbers));
  pipe.add_cpu_stage(
      "add", [&sum](int const& n) { sum += n; }, from(numbers));
  RunReport const report = pipe.run();
  EXPECT_EQ(sum, 7);
  EXPECT_EQ(report.tunnels.at(0).name, tunnel_name);
  EXPECT_THAT(pipe.graph(), HasSubstr(stage_name));
}

}  // namespace
}  // namespace hiway
