// Kernels of a user's own, started by <<<>>>, that use tunnels by number: whether warps of their blocks share claims.
#define HIWAY_TEST_ON_GPU 1
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "hiway/log.hpp"
#include "hiway/paper.hpp"
#include "tests/device.hpp"

namespace {

using namespace HiWayLib;

constexpr int each = 200;
constexpr int threads = 256;

__global__ void put_many(int out, bool enters) {
  if (enters) enterKernel_d();
  for (int i = 0; i < each; ++i) put_d(i, out);
  __syncthreads();
  if (threadIdx.x == 0) put_d(endFlag, out);
}

/// The claims that warps of a block made together.
std::uint64_t groups_of(bool enters, std::vector<std::string>& warnings) {
  hiway::set_log_sink([&](hiway::LogLevel level, std::string_view text) {
    if (level == hiway::LogLevel::warning) warnings.emplace_back(text);
  });
  Service service(hiway_tests::bounded());
  int out = -1;
  createTunnel<int>(out, GPU_TO_CPU, false, {.capacity_items = 64, .grouping = hiway::Grouping::block});
  setupService();
  put_many<<<1, threads>>>(out, enters);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  int got = 0;
  int x = 0;
  while (!isTerminate_h()) {
    if (!get_h(&x, out)) continue;
    ++got;
    endTask_h(out);
  }
  EXPECT_EQ(got, each * threads);
  hiway::RunReport const report = service.shutdown();
  hiway::set_log_sink({});
  return report.tunnels.front().put_groups;
}

TEST(PaperKernels, ShareClaimsInBlocksOnceTheyHaveEntered) {
  HIWAY_NEEDS_DEVICE();
  std::vector<std::string> warnings;
  EXPECT_GT(groups_of(true, warnings), 0U);
  EXPECT_THAT(warnings, testing::IsEmpty());
}

TEST(PaperKernels, ThatHaveNotEnteredClaimByWarpsAndThatIsSaid) {
  HIWAY_NEEDS_DEVICE();
  std::vector<std::string> warnings;
  EXPECT_EQ(groups_of(false, warnings), 0U);
  EXPECT_THAT(warnings, testing::ElementsAre(testing::HasSubstr("a kernel has not called enterKernel_d() first")));
}

}  // namespace
