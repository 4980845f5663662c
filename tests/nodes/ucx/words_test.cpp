// What is read of landing words, and what a node tells of itself. Nothing here calls UCX.
#include <cstring>

#include "lib/nodes/line/arrived_words.hpp"
#include "lib/nodes/ucx/introduction.hpp"
#include "tests/nodes/together.hpp"

namespace {

using hiway::Word;
using hiway::detail::nodes::ArrivedWords;
using hiway::detail::nodes::Bytes;
using hiway::detail::nodes::bytes_of;
using hiway::detail::nodes::Introduction;
using hiway::detail::nodes::introduction_of;
using testing::IsEmpty;

// Of each value the first bytes come alone, as a socket may bring them: the local word only grows, never tells more
// than was put, and has the value when it is all there.
TEST(NodesArrivedWords, ThatComeInPiecesOnlyGrow) {
  Word<std::uint64_t> landing{0};
  Word<std::uint64_t> local{0};
  ArrivedWords words;
  words.add(landing, local);
  EXPECT_FALSE(words.step());
  std::uint64_t before = 0;
  for (std::uint64_t const value :
       {1u, 255u, 256u, 257u, 65535u, 65536u, 0x10203u, 0x1000000u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    for (std::uint64_t const n : {value, value << 8 | 0xFF, value << 24}) {
      if (n <= before) continue;
      std::uint64_t last = before;
      for (std::size_t bytes = 1; bytes <= sizeof n; ++bytes) {
        std::memcpy(&landing.bits, &n, bytes);
        words.step();
        EXPECT_GE(local.bits, last);
        EXPECT_LE(local.bits, n);
        last = local.bits;
      }
      EXPECT_EQ(local.bits, n);
      before = n;
    }
  }
  EXPECT_FALSE(words.step());
}

TEST(NodesIntroduction, IsReadAsItWasWritten) {
  Introduction const written{Bytes(7, std::byte{1}),
                             {{0xFEDCBA9876543210u, 5, Bytes(3, std::byte{2})}, {8, 0, Bytes(1)}}};
  Introduction const read = introduction_of(bytes_of(written), 1);
  EXPECT_EQ(read.worker, written.worker);
  ASSERT_EQ(read.regions.size(), 2u);
  EXPECT_EQ(read.regions[0].address, 0xFEDCBA9876543210u);
  EXPECT_EQ(read.regions[0].bytes, 5u);
  EXPECT_EQ(read.regions[0].key, written.regions[0].key);
  EXPECT_EQ(read.regions[1].address, 8u);
}

TEST(NodesIntroduction, ThatIsCutOrLongerIsRefused) {
  auto const refused = [](Bytes const& bytes) {
    return hiway_tests::error_of([&] { (void)introduction_of(bytes, 3); });
  };
  Bytes bytes = bytes_of({Bytes(7), {{8, 5, Bytes(3)}}});
  EXPECT_THAT(refused(bytes), IsEmpty());
  char const* const why = "Error: node 3: what it tells of its memory makes no sense";
  for (std::size_t cut = 0; cut != bytes.size(); ++cut)
    EXPECT_EQ(refused(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cut))), why) << cut;
  bytes.push_back({});
  EXPECT_EQ(refused(bytes), why);
  EXPECT_EQ(refused(bytes_of({Bytes(7), {{8, 5, {}}}})), why);
  EXPECT_EQ(refused(bytes_of({{}, {{8, 5, Bytes(1)}}})), why);
}

}  // namespace
