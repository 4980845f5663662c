// Buffers as tensors of DLPack, and tensors as buffers; where DLPack's header is.
#if __has_include(<dlpack/dlpack.h>)
#include "hiway/dlpack.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::text_of_error;

/// A tensor of 2 x 3 floats of the host's.
struct Tensor {
  std::vector<float> elements{0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<std::int64_t> shape{2, 3};
  std::vector<std::int64_t> strides{3, 1};
  DLTensor tensor{.data = elements.data(),
                  .device = {kDLCPU, 0},
                  .ndim = 2,
                  .dtype = {kDLFloat, 32, 1},
                  .shape = shape.data(),
                  .strides = strides.data(),
                  .byte_offset = 0};
};

struct Twice {
  View<float> all;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = thread_index(); i < all.size; i += thread_count()) all[i] *= 2;
  }
};

TEST(Dlpack, ABufferLiesInATensorsMemory) {
  Tensor t;
  t.tensor.byte_offset = 2 * sizeof(float);
  Pipeline pipe({.device = "simt"});
  Buffer<float>& buffer = create_buffer<float>(pipe, t.tensor);
  EXPECT_EQ(buffer.size(), 6u);
  pipe.launch("twice", Twice{buffer.view()}, {.blocks = 1, .threads_per_block = 32});
  pipe.synchronize();
  EXPECT_THAT(t.elements, testing::ElementsAre(0, 1, 4, 6, 8, 10, 12, 14));
}

TEST(Dlpack, ATensorHasABuffersElements) {
  Pipeline pipe({.device = "simt"});
  std::vector<std::int16_t> source(12);
  std::iota(source.begin(), source.end(), std::int16_t{1});
  Buffer<std::int16_t>& buffer = pipe.create_buffer<std::int16_t>(std::span<std::int16_t const>(source));
  DLManagedTensor* const given = to_dlpack(buffer, dlpack_device(pipe), {3, 4});
  DLTensor const& t = given->dl_tensor;
  EXPECT_EQ(t.ndim, 2);
  EXPECT_EQ(t.shape[0] * 10 + t.shape[1], 34);
  EXPECT_EQ(t.dtype.code, kDLInt);
  EXPECT_EQ(t.dtype.bits, 16);
  EXPECT_EQ(static_cast<std::int16_t const*>(t.data)[11], 12);
  Buffer<std::int16_t>& same = create_buffer<std::int16_t>(pipe, t);
  EXPECT_EQ(same.view().data, buffer.view().data);
  given->deleter(given);
  DLManagedTensor* const flat = to_dlpack(buffer, dlpack_device(pipe));
  EXPECT_EQ(flat->dl_tensor.ndim, 1);
  flat->deleter(flat);
  EXPECT_EQ(text_of_error<ConfigError>([&] {
              static_cast<void>(to_dlpack(buffer, {kDLCPU, 0}, {5}));
            }),
            "DLPack: a shape of 5 elements for a buffer of 12");
}

TEST(Dlpack, ATensorThatDoesNotFitIsRefused) {
  Pipeline pipe({.device = "simt"});
  Tensor t;
  auto const refusal = [&] {
    return text_of_error<ConfigError>([&] { static_cast<void>(create_buffer<float>(pipe, t.tensor)); });
  };
  EXPECT_EQ(text_of_error<ConfigError>([&] { static_cast<void>(create_buffer<double>(pipe, t.tensor)); }),
            "DLPack: a tensor of type 2 with 32 bits for a buffer of type 2 with 64");
  t.tensor.device = {kDLCUDA, 1};
  EXPECT_EQ(refusal(), "DLPack: a tensor on device 2:1 for a pipeline on 1:0");
  t.tensor.device = {kDLCPU, 0};
  t.strides = {1, 2};
  EXPECT_EQ(refusal(), "DLPack: a tensor with gaps between its elements; make it compact");
  t.shape = {1, 3};
  t.strides = {77, 1};
  EXPECT_EQ(create_buffer<float>(pipe, t.tensor).size(), 3u);
}

}  // namespace
#endif
