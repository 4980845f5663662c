// The streams of a batch stage on a GPU.
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

// A large copy and a small one, each with its mark, as when a batch's items go in two parts. Both wait for the body,
// and then the small one would be done first, if it went by another stream.
TEST(BatchStreams, AMarkIsBehindAllThatWasGiven) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::size_t large = std::size_t{64} << 20;
  constexpr std::size_t small = 4096;
  std::unique_ptr<Backend> const gpu = make_backend(hiway_tests::device());
  auto* const from = static_cast<std::byte*>(gpu->allocate(Memory::device, large + small, "from"));
  auto* const to = static_cast<std::byte*>(gpu->allocate(Memory::pinned, large + small, "to"));
  std::vector<std::byte> const ones(large + small, std::byte{1});
  gpu->upload(from, ones.data(), ones.size());
  std::memset(to, 0, ones.size());
  {
    std::unique_ptr<BatchStream> const stream = gpu->open_batch_stream("a stage", 1);
    stream->begin_body();
    Stream(*stream).launch(Late{}, 1, 32);
    stream->end_body();
    stream->copy(BusDirection::from_device, to, from, large);
    stream->mark(0);
    stream->copy(BusDirection::from_device, to + large, from + large, small);
    stream->mark(0);
    while (!stream->has_passed(0)) std::this_thread::yield();
    EXPECT_EQ(to[large - 1], std::byte{1});
    EXPECT_EQ(to[large + small - 1], std::byte{1});
  }
  gpu->release(Memory::device, from);
  gpu->release(Memory::pinned, to);
}

}  // namespace
