// The emulated device alone: warps, blocks, residency, errors, and what happens when lanes leave early.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hiway/error.hpp"
#include "hiway/launch/simt.hpp"
#include "hiway/machine/lane.hpp"

namespace hiway::simt {
namespace {

using std::chrono::steady_clock;
constexpr std::uint32_t full_mask = ~std::uint32_t{0};
constexpr auto deadline = std::chrono::seconds(60);

std::uint32_t ballot(std::uint32_t mask, bool predicate) {
  return static_cast<std::uint32_t>(meet(WarpOperation::ballot, mask, predicate ? 1 : 0, 0));
}
std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, unsigned source) {
  return meet(WarpOperation::shuffle, mask, value, source);
}
std::uint32_t match(std::uint32_t mask, std::uint64_t value) {
  return static_cast<std::uint32_t>(meet(WarpOperation::match, mask, value, 0));
}
void sync_warp(std::uint32_t mask) { meet(WarpOperation::sync, mask, 0, 0); }
unsigned lane_in_warp() { return lane_id().thread % 32; }

// A wait in a test has a deadline: what hangs ends the program, as nothing can stop a lane from outside.
void wait_for(Launch const& launch) {
  auto const end = steady_clock::now() + deadline;
  while (!launch.done()) {
    if (steady_clock::now() > end) {
      std::fputs("a launch did not end before the test's deadline\n", stderr);
      std::abort();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  launch.wait();
}

template <class Condition>
void spin_until(Condition condition) {
  auto const end = steady_clock::now() + deadline;
  while (!condition()) {
    if (steady_clock::now() > end) {
      std::fputs("a condition did not come true before the test's deadline\n", stderr);
      std::abort();
    }
    if (on_lane())
      yield();
    else
      std::this_thread::yield();
  }
}

void run(Device& device, Grid grid, std::function<void()> body) {
  wait_for(device.launch("test", grid, std::move(body)));
}
void run(Grid grid, std::function<void()> body) {
  Device device;
  run(device, grid, std::move(body));
}

/// The text of the first exception that left a lane; empty when none did.
template <class Exception>
std::string error_of(Grid grid, std::function<void()> body) {
  try {
    run(grid, std::move(body));
  } catch (Exception const& error) {
    return error.what();
  }
  return "";
}

void expect_contains(std::string const& text, std::vector<std::string> const& parts) {
  for (auto const& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is not in: " << text;
}

// ---- where a lane stands ----

TEST(Simt, RunsEveryLaneOfEveryBlockOnce) {
  std::vector<std::atomic<int>> runs(3 * 70);
  run({.blocks = 3, .threads_per_block = 70}, [&] {
    LaneId const id = lane_id();
    EXPECT_TRUE(on_lane());
    EXPECT_EQ(id.threads, 70u);
    EXPECT_EQ(id.blocks, 3u);
    ++runs[id.block * id.threads + id.thread];
  });
  EXPECT_FALSE(on_lane());
  for (auto const& count : runs) EXPECT_EQ(count, 1);
}

TEST(Simt, RunsAllLanesOfABlockOnOneOsThread) {
  Device device({.os_threads = 2});
  std::vector<std::thread::id> threads(8 * 64);
  run(device, {.blocks = 8, .threads_per_block = 64}, [&] {
    yield();
    threads[lane_id().block * 64 + lane_id().thread] = std::this_thread::get_id();
  });
  for (std::size_t block = 0; block < 8; ++block)
    for (std::size_t lane = 0; lane < 64; ++lane) EXPECT_EQ(threads[block * 64 + lane], threads[block * 64]);
  EXPECT_NE(threads[0], threads[64]) << "blocks that run at once spread over the OS threads";
}

TEST(Simt, GivesEachBlockItsOwnZeroedAlignedSharedMemory) {
  Device device({.processors = 1, .blocks_per_processor = 2});
  for (int round = 0; round < 3; ++round)
    run(device, {.blocks = 8, .threads_per_block = 64, .shared_bytes = 1000}, [] {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(shared_memory()) % 128, 0u);
      EXPECT_EQ(shared_memory_bytes(), 1000u);
      if (lane_id().thread == 0) {
        EXPECT_TRUE(
            std::all_of(shared_memory(), shared_memory() + 1000, [](std::byte b) { return b == std::byte{0}; }));
        std::fill_n(shared_memory(), 1000, static_cast<std::byte>(lane_id().block + 1));
      }
      sync_block();
      EXPECT_EQ(shared_memory()[lane_id().thread], static_cast<std::byte>(lane_id().block + 1));
    });
}

// ---- warps ----

TEST(Simt, BallotsOverTheNamedLanesOnly) {
  run({.threads_per_block = 64}, [] {
    unsigned const lane = lane_in_warp();
    EXPECT_EQ(ballot(full_mask, lane % 3 == 0), 0x49249249u);
    std::uint32_t const mine = lane < 12 ? 0x00000fffu : 0xfffff000u;  // two groups of one warp, at once
    EXPECT_EQ(ballot(mine, lane % 2 == 0), mine & 0x55555555u);
  });
}

TEST(Simt, BallotsInAnyOrderOfArrival) {
  run({.threads_per_block = 32}, [] {
    for (unsigned round = 0; round < 40; ++round) {
      for (unsigned pause = (lane_in_warp() * 7 + round * 5) % 11; pause > 0; --pause) yield();
      EXPECT_EQ(ballot(full_mask, (lane_in_warp() + round) % 5 == 0), [&] {
        std::uint32_t expected = 0;
        for (unsigned lane = 0; lane < 32; ++lane) expected |= (lane + round) % 5 == 0 ? 1u << lane : 0u;
        return expected;
      }());
    }
  });
}

TEST(Simt, ShufflesEachLaneFromItsOwnSource) {
  run({.threads_per_block = 32}, [] {
    unsigned const lane = lane_in_warp();
    EXPECT_EQ(shuffle(full_mask, 1000 + lane, (lane + 1) % 32), 1000 + (lane + 1) % 32);
    std::uint32_t const even = 0x55555555u;
    if (lane % 2 == 0) {
      EXPECT_EQ(shuffle(even, 0xfedcba9876540000u + lane, lane ^ 2), 0xfedcba9876540000u + (lane ^ 2));
    }
  });
}

TEST(Simt, MatchesLanesOfEqualValues) {
  run({.threads_per_block = 32}, [] {
    unsigned const lane = lane_in_warp();
    EXPECT_EQ(match(full_mask, (lane % 4) + (std::uint64_t{1} << 40)), 0x11111111u << (lane % 4));
    std::uint32_t const upper = 0xffff0000u;
    if (lane >= 16) {
      EXPECT_EQ(match(upper, lane / 24), lane < 24 ? 0x00ff0000u : 0xff000000u);
    }
  });
}

TEST(Simt, SyncsTheNamedLanesAndNoOthers) {
  std::atomic<unsigned> before{0};
  run({.threads_per_block = 32}, [&] {
    if (lane_in_warp() >= 20) return;
    for (unsigned pause = lane_in_warp(); pause > 0; --pause) yield();
    ++before;
    sync_warp(0x000fffffu);
    EXPECT_EQ(before, 20u);
  });
}

TEST(Simt, RunsGroupsOfOneWarpIndependently) {
  run({.threads_per_block = 32}, [] {
    unsigned const lane = lane_in_warp();
    std::uint32_t const pair = 3u << (lane & ~1u);
    for (unsigned round = 0; round < 10 + lane / 2; ++round)  // each pair meets another number of times
      EXPECT_EQ(shuffle(pair, lane * 100 + round, lane ^ 1), (lane ^ 1) * 100 + round);
    sync_warp(full_mask);
  });
}

TEST(Simt, HasOnlyTheLaunchedLanesInAPartialLastWarp) {
  run({.blocks = 2, .threads_per_block = 43}, [] {
    std::uint32_t const launched = lane_id().thread < 32 ? full_mask : 0x000007ffu;
    EXPECT_EQ(live_lanes(), launched);
    EXPECT_EQ(ballot(launched, true), launched);
  });
}

TEST(Simt, LetsLanesThatHaveExitedGoFromTheLiveOnes) {
  run({.threads_per_block = 32}, [] {
    if (lane_in_warp() < 5) return;
    spin_until([] { return live_lanes() == 0xffffffe0u; });
    EXPECT_EQ(ballot(live_lanes(), true), 0xffffffe0u);
  });
}

// ---- blocks ----

TEST(Simt, HoldsEveryLaneAtTheBlocksBarrier) {
  run({.blocks = 3, .threads_per_block = 96, .shared_bytes = 96 * sizeof(unsigned)}, [] {
    auto* const words = reinterpret_cast<unsigned*>(shared_memory());
    unsigned const me = lane_id().thread;
    for (unsigned round = 1; round <= 20; ++round) {
      if (me % 7 == round % 7) yield();
      words[me] = round * 1000 + me;
      sync_block();
      EXPECT_EQ(words[(me + 33) % 96], round * 1000 + (me + 33) % 96);
      sync_block();
    }
  });
}

// Two places that no compiler makes one.
[[gnu::noinline]] std::uint32_t converge_here() {
  std::uint32_t const group = converge();
  set_lane_mark(1);
  return group;
}
[[gnu::noinline]] std::uint32_t converge_there() {
  std::uint32_t const group = converge();
  set_lane_mark(2);
  return group;
}
TEST(Simt, LanesThatComeTogetherConverge) {
  std::atomic<unsigned> parts{0};
  run({.threads_per_block = 64}, [&] {
    unsigned const me = lane_id().thread % 32;
    for (unsigned round = 0; round < 200; ++round) {
      if (me % 3 == round % 5) yield();  // some come late
      std::uint32_t const group = me % 2 == 0 ? converge_here() : converge_there();
      EXPECT_EQ(group >> me & 1, 1u);
      EXPECT_EQ(group & (me % 2 == 0 ? 0xaaaaaaaau : 0x55555555u), 0u);
      EXPECT_EQ(meet(WarpOperation::ballot, group, 1, 0), group);  // all of it have the same
      if (std::popcount(group) > 1 && std::popcount(group) < 16) ++parts;
    }
  });
  EXPECT_GT(parts, 1000u);  // neither alone nor all
}
TEST(Simt, SharesTheFirstLanesValueAndKnowsALanesOwnStack) {
  run({.blocks = 2, .threads_per_block = 70, .shared_bytes = 64}, [] {
    unsigned const me = lane_id().thread;
    int own = 0;  // ASan keeps it elsewhere
    for (std::uint64_t round = 0; round < 5; ++round) {
      if (me % 5 == round) yield();
      EXPECT_EQ(share_in_block(100 * me + round), round);
    }
    auto const* const of_lane_0 = reinterpret_cast<int const*>(share_in_block(reinterpret_cast<std::uintptr_t>(&own)));
    EXPECT_TRUE(on_own_stack(&own));
    EXPECT_EQ(on_own_stack(of_lane_0), me == 0);
    EXPECT_FALSE(on_own_stack(shared_memory()));
    sync_block();
  });
}
TEST(Simt, CountsOnlyLanesThatHaveNotExitedAtTheBarrier) {
  std::atomic<unsigned> through{0};
  run({.threads_per_block = 64}, [&] {
    unsigned const me = lane_id().thread;
    if (me == 3) return;  // before any other arrives
    if (me == 40) {
      for (int pause = 0; pause < 10; ++pause) yield();
      return;  // after all others wait: its exit opens the barrier
    }
    sync_block();
    ++through;
    sync_block();
    EXPECT_EQ(through, 62u);
  });
}

// ---- residency ----

TEST(Simt, CountsResidentBlocksByLanesBlocksAndSharedMemory) {
  Device const device(
      {.processors = 2, .lanes_per_processor = 256, .blocks_per_processor = 6, .shared_bytes_per_processor = 10000});
  EXPECT_EQ(device.resident_blocks({.threads_per_block = 128}), 2u);
  EXPECT_EQ(device.resident_blocks({.threads_per_block = 33}), 4u) << "lanes are taken in whole warps";
  EXPECT_EQ(device.resident_blocks({.threads_per_block = 32}), 6u);
  EXPECT_EQ(device.resident_blocks({.threads_per_block = 1, .shared_bytes = 3000}), 3u);
  EXPECT_EQ(device.resident_blocks({.threads_per_block = 256, .shared_bytes = 10000}), 1u);
  EXPECT_EQ(device.resident_blocks({.threads_per_block = 257}), 0u);
  EXPECT_EQ(device.resident_blocks({.threads_per_block = 32, .shared_bytes = 10001}), 0u);
  EXPECT_EQ(device.resident_blocks({.threads_per_block = 0}), 0u);
}

TEST(Simt, RunsALaunchLargerThanTheDeviceInWaves) {
  Device device({.processors = 2, .lanes_per_processor = 128, .os_threads = 2});
  std::atomic<int> resident{0}, most{0}, all{0};
  run(device, {.blocks = 50, .threads_per_block = 64}, [&] {
    if (lane_id().thread != 0) return;
    int const now = ++resident;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    for (int pause = 0; pause < 20; ++pause) yield();
    ++all;
    --resident;
  });
  EXPECT_EQ(all, 50);
  EXPECT_LE(most, 4);
  EXPECT_GE(most, 2);
}

TEST(Simt, StartsALaterLaunchBesideOnesThatRunForever) {
  Device device({.processors = 2, .lanes_per_processor = 128, .os_threads = 2});  // none of them has nothing to do
  std::atomic<bool> stop{false};
  std::atomic<int> polling{0};
  auto const forever = device.launch("forever", {.blocks = 2, .threads_per_block = 64}, [&] {
    ++polling;
    spin_until([&] { return stop.load(); });
  });
  auto const too_large = device.launch("too large for now", {.blocks = 1, .threads_per_block = 128}, [] {});
  spin_until([&] { return polling == 128; });
  wait_for(device.launch("small", {.blocks = 8, .threads_per_block = 32}, [] { yield(); }));
  EXPECT_FALSE(too_large.done());
  stop = true;
  wait_for(forever);
  wait_for(too_large);
}

TEST(Simt, WakesAThreadThatSleepsForALaunch) {
  Device device({.os_threads = 1});
  for (int launches = 0; launches < 2; ++launches) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it has nothing to do
    run(device, {.blocks = 1, .threads_per_block = 1}, [] {});
  }
}

TEST(Simt, RefusesALaunchThatCannotFitOrIsEmpty) {
  Device device({.lanes_per_processor = 256, .shared_bytes_per_processor = 1000});
  auto const refusal = [&](
                           Grid grid, std::function<void()> body = [] {}) -> std::string {
    try {
      device.launch("scores", grid, std::move(body)).wait();
    } catch (ConfigError const& error) {
      return error.what();
    }
    return "";
  };
  expect_contains(refusal({.threads_per_block = 257}), {"scores", "257", "256"});
  expect_contains(refusal({.blocks = 0, .threads_per_block = 0}), {"blocks is 0", "threads_per_block is 0"});
  expect_contains(refusal({.shared_bytes = 1001}), {"1001", "1000"});
  EXPECT_NE(refusal({}, nullptr), "");
  EXPECT_EQ(refusal({.threads_per_block = 256, .shared_bytes = 1000}), "");
  EXPECT_THROW(Device({.processors = 0}), ConfigError);
  EXPECT_THROW(Device({.lanes_per_processor = 31}), ConfigError);
}

// ---- persistent launches and CPU threads ----

TEST(Simt, RunsPersistentLaunchesTogetherWithCpuThreads) {
  Device device({.os_threads = 2});
  constexpr unsigned stages = 5, rounds = 400;
  std::vector<std::atomic<unsigned>> token(stages + 1);  // token[i] goes to launch i, the last one to a CPU thread
  std::vector<Launch> launches;
  for (unsigned stage = 0; stage < stages; ++stage)
    launches.push_back(
        device.launch("stage " + std::to_string(stage), {.blocks = 2, .threads_per_block = 64}, [&, stage] {
          for (unsigned round = 1; round <= rounds; ++round) {
            spin_until([&] { return token[stage] >= round; });
            if (lane_id().thread == 0 && lane_id().block == 0) token[stage + 1] = round;
          }
        }));
  std::jthread const consumer([&] {
    for (unsigned round = 1; round <= rounds; ++round) {
      spin_until([&] { return token[stages] >= round; });
      token[0] = std::min(round + 1, rounds);
    }
  });
  token[0] = 1;
  for (auto const& launch : launches) wait_for(launch);
  EXPECT_EQ(token[stages], rounds);
}

TEST(Simt, EndsASpinThatOnlyAccessesWords) {
  std::atomic<unsigned> arrived{0};
  run({.threads_per_block = 128}, [&] {
    ++arrived;
    while (arrived < 128) schedule_point();
  });
}

// Lanes that wait for long are parked until every lane waits: this one never does, and needs what a parked one will do.
TEST(Simt, EndsASpinOnALaneThatHasWaitedForLong) {
  std::atomic<bool> asked{false}, answered{false};
  run({.threads_per_block = 2}, [&] {
    for (unsigned misses = 0; misses < 100; ++misses) wait(misses);
    if (lane_id().thread == 0) {
      for (unsigned misses = 100; !asked; ++misses) wait(misses);
      answered = true;
      return;
    }
    asked = true;
    auto const end = steady_clock::now() + deadline;
    while (!answered && steady_clock::now() < end) schedule_point();
    EXPECT_TRUE(answered);
  });
}

TEST(Simt, RunsThousandsOfLanesAtOnce) {
  Device device({.processors = 4, .lanes_per_processor = 2048});
  std::atomic<unsigned> arrived{0};
  run(device, {.blocks = 10, .threads_per_block = 512}, [&] {
    ++arrived;
    spin_until([&] { return arrived == 10 * 512; });
    EXPECT_EQ(ballot(full_mask, true), full_mask);
  });
}

TEST(Simt, RecyclesStacksOverManyLaunches) {
  Device device;
  std::atomic<std::uint64_t> sum{0};
  for (int round = 0; round < 300; ++round)
    wait_for(device.launch("many", {.blocks = 4, .threads_per_block = 48}, [&] {
      volatile char frame[2000];  // leaves red zones behind for the next lane
      std::fill(std::begin(frame), std::end(frame), static_cast<char>(lane_id().thread));
      yield();
      EXPECT_EQ(frame[1999], static_cast<char>(lane_id().thread));
      sum += 1;
    }));
  EXPECT_EQ(sum, 300u * 4 * 48);
}

TEST(Simt, KeepsALaunchAliveThatNobodyHolds) {
  Device device;
  auto const token = std::make_shared<int>(7);
  std::atomic<unsigned> ran{0};
  for (int round = 0; round < 50; ++round) {
    device.launch("dropped at once", {.blocks = 2}, [&ran, token] { ran += *token == 7 ? 1 : 0; });
    auto const polled =
        device.launch("dropped when done", {.blocks = 2}, [&ran, token] { ran += *token == 7 ? 1 : 0; });
    spin_until([&] { return polled.done(); });
  }
  spin_until([&] { return ran == 50u * 2 * 2 * 32 && token.use_count() == 1; });
}

TEST(Simt, TakesLaunchesFromManyCpuThreads) {
  Device device;
  std::atomic<unsigned> lanes{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&] {
        for (int round = 0; round < 30; ++round) run(device, {.blocks = 2}, [&] { ++lanes; });
      });
  }
  EXPECT_EQ(lanes, 4u * 30 * 2 * 32);
}

// ---- errors ----

TEST(Simt, RethrowsTheFirstExceptionThatLeftALane) {
  Device device({.os_threads = 1});  // the blocks take turns, so it is known who fails first
  auto const launch = device.launch("failing", {.blocks = 2, .threads_per_block = 64}, [] {
    if (lane_id().block == 1 && lane_id().thread == 7) throw std::runtime_error("lane 7 failed");
    for (int pause = 0; pause < 200; ++pause) yield();
    if (lane_id().thread == 9) throw std::logic_error("later");
  });
  for (int twice = 0; twice < 2; ++twice) try {
      launch.wait();
      ADD_FAILURE() << "nothing was thrown";
    } catch (std::runtime_error const& error) {
      EXPECT_STREQ(error.what(), "lane 7 failed");
    }
  run(device, {}, [] {});  // and the device goes on
}

TEST(Simt, KeepsHandledExceptionsApartBetweenLanes) {
  run({.threads_per_block = 64}, [] {
    std::string const mine = "of lane " + std::to_string(lane_id().thread);
    for (int round = 0; round < 5; ++round) try {
        yield();
        throw std::runtime_error(mine);
      } catch (std::exception const&) {
        yield();  // all lanes are in their handlers now
        try {
          throw;
        } catch (std::exception const& again) {
          EXPECT_EQ(again.what(), mine);
        }
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }
  });
}

TEST(Simt, FailsSiblingsThatWaitInAWarpForALaneThatThrew) {
  std::vector<std::string> texts(32);
  std::string const first = error_of<std::runtime_error>({.threads_per_block = 32}, [&] {
    if (lane_in_warp() == 7) {
      for (int pause = 0; pause < 3; ++pause) yield();
      throw std::runtime_error("the cause");
    }
    try {
      ballot(full_mask, true);
    } catch (MisuseError const& error) {
      texts[lane_in_warp()] = error.what();
      throw;
    }
  });
  EXPECT_EQ(first, "the cause");
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (lane == 7) continue;
    expect_contains(texts[lane],
                    {"launch \"test\"", "lane 7 of block 0 exited while lanes 0xffffff7f wait for it in ballot",
                     "(mask 0xffffffff)"});
  }
}

TEST(Simt, LetsSiblingsGoOnPastABarrierWhenALaneThrew) {
  std::atomic<unsigned> through{0};
  EXPECT_EQ(error_of<std::runtime_error>({.threads_per_block = 64},
                                         [&] {
                                           if (lane_id().thread == 50) throw std::runtime_error("the cause");
                                           sync_block();
                                           ++through;
                                         }),
            "the cause");
  EXPECT_EQ(through, 63u);
}

TEST(Simt, RefusesAMaskWithoutTheOwnLane) {
  expect_contains(error_of<MisuseError>({},
                                        [] {
                                          if (lane_in_warp() == 3) sync_warp(0x10);
                                        }),
                  {"launch \"test\"", "lane 3 of block 0", "own", "sync (mask 0x00000010)"});
}

TEST(Simt, RefusesAMaskThatNamesExitedLanes) {
  expect_contains(error_of<MisuseError>({.threads_per_block = 32},
                                        [] {
                                          if (lane_in_warp() == 1) return;
                                          spin_until([] { return (live_lanes() & 2) == 0; });
                                          if (lane_in_warp() == 0) match(0x3, 0);
                                        }),
                  {"lane 0 of block 0", "0x00000002", "exited", "match (mask 0x00000003)"});
}

TEST(Simt, RefusesAMaskThatNamesLanesThatWereNotLaunched) {
  expect_contains(error_of<MisuseError>({.threads_per_block = 40},
                                        [] {
                                          if (lane_id().thread == 32) ballot(full_mask, true);
                                        }),
                  {"warp 1", "lane 0 of block 0", "0xffffff00", "not launched", "ballot"});
}

TEST(Simt, RefusesTwoOperationsOfOneMask) {
  expect_contains(error_of<MisuseError>({.threads_per_block = 2},
                                        [] {
                                          if (lane_in_warp() == 0)
                                            ballot(0x3, true);
                                          else
                                            sync_warp(0x3);
                                        }),
                  {"lane 1 of block 0", "sync (mask 0x00000003)", "0x00000001", "ballot"});
}

TEST(Simt, RefusesMasksThatWaitForEachOther) {
  expect_contains(error_of<MisuseError>({.threads_per_block = 3},
                                        [] {
                                          if (lane_in_warp() == 0) sync_warp(0x3);
                                          if (lane_in_warp() == 1) sync_warp(0x7);
                                        }),
                  {"lane 1 of block 0", "0x00000003", "0x00000007"});
}

TEST(Simt, RefusesAShuffleFromOutsideOfTheMask) {
  for (unsigned const source : {5u, 32u})
    expect_contains(error_of<MisuseError>({.threads_per_block = 32},
                                          [&] {
                                            if (lane_in_warp() < 2) shuffle(0x3, 1, source);
                                          }),
                    {"shuffles from lane " + std::to_string(source), "(mask 0x00000003)"});
}

TEST(Simt, FailsLanesThatWaitInACircle) {
  // three masks in a circle: no two wait for each other
  expect_contains(error_of<MisuseError>({.threads_per_block = 3},
                                        [] {
                                          sync_warp(lane_in_warp() == 0 ? 0x3u : lane_in_warp() == 1 ? 0x6u : 0x5u);
                                        }),
                  {"waits in sync", "nobody can go on"});
  // a barrier on one side, a warp operation on the other
  expect_contains(error_of<MisuseError>({.threads_per_block = 2},
                                        [] {
                                          if (lane_in_warp() == 0)
                                            sync_block();
                                          else
                                            ballot(0x3, true);
                                        }),
                  {"nobody can go on"});
}

TEST(Simt, GoesOnAfterAMisuseThatTheLaneCaught) {
  run({.threads_per_block = 32}, [] {
    EXPECT_THROW(sync_warp(~(1u << lane_in_warp())), MisuseError);
    if (lane_in_warp() == 31) {
      EXPECT_THROW(shuffle(full_mask, 0, 99), MisuseError);
    }
    EXPECT_EQ(ballot(full_mask, lane_in_warp() < 8), 0xffu);
  });
}

TEST(Simt, RefusesCallsFromTheWrongSide) {
  EXPECT_THROW(yield(), WrongDevice);
  EXPECT_THROW(sync_block(), WrongDevice);
  EXPECT_THROW(meet(WarpOperation::sync, 1, 0, 0), WrongDevice);
  Device device;
  run(device, {.threads_per_block = 1}, [&] {
    EXPECT_THROW(device.launch("nested", {}, [] {}), WrongDevice);
    EXPECT_THROW(Launch().wait(), WrongDevice);
  });
}

constexpr char const* exit_report = "launch \"scores\".*lane 4 of block 1.*__device__ only; mark it HIWAY_DEVICE";

void launch_device_only_functor(Device& device) {
  device
      .launch("scores", {.blocks = 2},
              [] {
                if (lane_id().block == 1 && lane_id().thread == 4)
                  std::exit(1);  // what nvcc makes of a __device__ function
              })
      .wait();
}

TEST(SimtDeathTest, NamesTheLaunchWhoseDeviceOnlyFunctionCalledExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Device device;
        launch_device_only_functor(device);
      },
      ::testing::ExitedWithCode(2), exit_report);
}

TEST(SimtDeathTest, NamesItAlsoWhenExitDestroysTheDeviceFirst) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        {
          Device older;  // its launch installs the handler, so that exit destroys the static device before it
          older.launch("older", {}, [] {}).wait();
        }
        static Device device;
        launch_device_only_functor(device);
      },
      ::testing::ExitedWithCode(2), exit_report);
}

TEST(SimtDeathTest, FaultsWhenALaneOverrunsItsStack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Device device;
        device
            .launch("deep", {},
                    [] {
                      std::function<int(int)> const dive = [&](int depth) {
                        volatile char frame[1024] = {};
                        return depth == 0 ? 0 : dive(depth - 1) + frame[depth % 1024];
                      };
                      dive(100000);
                    })
            .wait();
      },
      "");
}

}  // namespace
}  // namespace hiway::simt
