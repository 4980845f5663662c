// A batch stage's stream that does nothing, for tests to derive from.
#pragma once
#include "hiway/batch_stream.hpp"

namespace hiway_tests {

class StreamStub : public hiway::BatchStream {
 public:
  void copy_count(std::uint32_t*, std::uint32_t const*) override {}
  void follow(CUstream_st*) override {}
  void begin_body() override {}
  void end_body() override {}
  void launch(hiway::DeviceKernel, hiway::simt::Grid) override {}
  [[nodiscard]] CUstream_st* cuda() const override { return nullptr; }
  void mark_copies(std::size_t) override {}
  [[nodiscard]] bool has_copied(std::size_t) override { return true; }
  void mark(std::size_t) override {}
  [[nodiscard]] bool has_passed(std::size_t) override { return true; }
  void enter() override {}
  void leave() noexcept override {}

 private:
  void give_copy(hiway::BusDirection, void*, void const*, std::size_t) override {}
};

}  // namespace hiway_tests
