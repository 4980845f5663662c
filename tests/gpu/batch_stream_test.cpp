// The streams of a batch stage on a GPU.
#define HIWAY_TEST_ON_GPU 1
#include "hiway/batch_stream.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "hiway/batch.hpp"
#include "tests/device.hpp"
#include "tests/spend.hpp"

namespace {

using namespace hiway;

struct Late {
  HIWAY_DEVICE void operator()() const { hiway_tests::spend(20'000'000); }
};

// A large copy with its mark, small ones, and again a large one: as when batches' items go in several parts. All wait
// for the body. Then the large ones would be done first if the small ones went by another stream.
TEST(BatchStreams, AMarkIsBehindAllThatWasGiven) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::size_t large = std::size_t{1} << 20;
  constexpr std::size_t small = std::size_t{16} << 10;
  constexpr std::size_t all_small = 1000 * small;
  constexpr std::size_t bytes = 2 * large + all_small;
  std::unique_ptr<Backend> const gpu = make_backend(hiway_tests::device());
  auto* const from = static_cast<std::byte*>(gpu->allocate(Memory::device, bytes, "from"));
  auto* const to = static_cast<std::byte*>(gpu->allocate(Memory::pinned, bytes, "to"));
  std::vector<std::byte> const ones(bytes, std::byte{1});
  gpu->upload(from, ones.data(), bytes);
  std::unique_ptr<BatchStream> stream = gpu->open_batch_stream("a stage", 1);
  for (int round = 0; round < 3; ++round) {
    std::memset(to, 0, bytes);
    stream->enter();
    stream->begin_body();
    Stream(*stream).launch(Late{}, 1, 32);
    stream->end_body();
    stream->copy(BusDirection::from_device, to, from, large);
    stream->mark(0);
    for (std::size_t at = large; at < large + all_small; at += small)
      stream->copy(BusDirection::from_device, to + at, from + at, small);
    stream->copy(BusDirection::from_device, to + large + all_small, from + large + all_small, large);
    stream->mark(0);
    while (!stream->has_passed(0)) std::this_thread::yield();
    for (std::size_t const end : {large, large + all_small, bytes}) EXPECT_EQ(to[end - 1], std::byte{1}) << end;
    stream->leave();
  }
  stream.reset();
  gpu->release(Memory::device, from);
  gpu->release(Memory::pinned, to);
}

}  // namespace
