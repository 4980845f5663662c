// Copies past the caches bring the same bytes, from and to any place.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "hiway/machine/thread_machine.hpp"

namespace {

TEST(CopyPastCaches, BringsEveryByteAndNoOther) {
  constexpr std::size_t most = 400;
  std::vector<unsigned char> from(most + 200);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + 1);
  for (std::size_t bytes = 0; bytes <= most; bytes = bytes < 140 ? bytes + 1 : bytes + 37) {
    for (std::size_t offset = 0; offset < 66; offset += 11) {
      std::vector<unsigned char> to(most + 200, 0);
      hiway::copy_past_caches(to.data() + offset, from.data() + offset / 2, bytes);
      for (std::size_t i = 0; i < to.size(); ++i) {
        bool const inside = i >= offset && i < offset + bytes;
        ASSERT_EQ(to[i], inside ? from[offset / 2 + i - offset] : 0) << bytes << " bytes to " << offset << ": " << i;
      }
    }
  }
}

}  // namespace
