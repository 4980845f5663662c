// Counts beyond 32 bits, and beyond what a double holds, are printed with every digit.
#include <gmock/gmock.h>

#include <string>

#include "hiway/report.hpp"
#include "lib/stall_report.hpp"
#include "lib/text.hpp"

namespace {

using namespace hiway;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t past_32_bits = (std::uint64_t{1} << 32) + 5;
constexpr std::uint64_t past_53_bits = (std::uint64_t{1} << 53) + 1;

RunReport report_of(std::uint64_t n) {
  RunReport r{.device = "simt", .seconds = 1, .items = n, .tunnels{}, .stencils{}, .stages{}, .latencies{}};
  r.tunnels.push_back({.name = "many", .movement = "dma", .why = "asked for", .items = n, .finished = n - 1});
  TunnelReport& t = r.tunnels.back();
  t.spilled = n - 2;
  t.throttled = n - 3;
  t.batches = n - 4;
  t.item_bytes = 4;
  t.holds = n - 5;
  t.put_groups = n - 6;
  t.get_groups = n - 7;
  t.dropped = n - 8;
  r.stages.push_back({.name = "sum", .gpu = true, .executors = 1, .items = n, .items_of{}, .room_in{}});
  return r;
}

class LargeCounts : public testing::TestWithParam<std::uint64_t> {
 protected:
  std::uint64_t const n = GetParam();
  RunReport const report = report_of(n);
  [[nodiscard]] std::string less(std::uint64_t d) const { return std::to_string(n - d); }
};
INSTANTIATE_TEST_SUITE_P(Beyond32And53Bits, LargeCounts, testing::Values(past_32_bits, past_53_bits));

TEST_P(LargeCounts, AreWholeInJson) {
  EXPECT_THAT(
      to_json(report),
      AllOf(HasSubstr("\"seconds\":1,\"items\":" + less(0) + ","),
            HasSubstr("\"name\":\"sum\",\"gpu\":true,\"executors\":1,\"launches\":0,\"items\":" + less(0) + ","),
            HasSubstr("\"capacity_items\":0,\"items\":" + less(0) + ",\"finished\":" + less(1) + ","),
            HasSubstr("\"holds\":" + less(5) + ",\"bytes\":" + std::to_string(4 * n) + ",\"batches\":" + less(4)),
            HasSubstr("\"spilled\":" + less(2) + ",\"dropped\":" + less(8) + ",\"throttled\":" + less(3)),
            HasSubstr("\"put_groups\":" + less(6) + ",\"get_groups\":" + less(7))));
}

TEST_P(LargeCounts, AreWholeInTheTable) {
  std::string const text = to_text(report);
  EXPECT_THAT(text, HasSubstr(" ms, " + less(0) + " items"));
  for (std::string const& word : {less(0), std::to_string(4 * n), less(2), less(4), less(6), less(7), less(8)})
    EXPECT_THAT(text, HasSubstr("  " + word));
}

TEST_P(LargeCounts, AreWholeInMetrics) {
  EXPECT_THAT(to_prometheus(report),
              AllOf(HasSubstr("hiway_stage_tasks_total{stage=\"sum\"} " + less(0) + "\n"),
                    HasSubstr("hiway_tunnel_items_total{tunnel=\"many\"} " + less(0) + "\n"),
                    HasSubstr("hiway_tunnel_bytes_total{tunnel=\"many\"} " + std::to_string(4 * n) + "\n"),
                    HasSubstr("hiway_tunnel_batches_total{tunnel=\"many\"} " + less(4) + "\n"),
                    HasSubstr("hiway_tunnel_spilled_total{tunnel=\"many\"} " + less(2) + "\n"),
                    HasSubstr("hiway_tunnel_dropped_total{tunnel=\"many\"} " + less(8) + "\n"),
                    HasSubstr("hiway_tunnel_contention_groups_total{tunnel=\"many\",of=\"puts\"} " + less(6) + "\n"),
                    HasSubstr("hiway_tunnel_items{tunnel=\"many\"} " + less(5) + "\n")));
}

TEST_P(LargeCounts, AreWholeInTheStallReport) {
  PipelineSnapshot p;
  StageSnapshot sum;
  sum.name = "sum";
  sum.executors = sum.started = sum.inside = 1;
  sum.from = {{0, {n, n - 3}}};
  p.stages = {sum};
  TunnelSnapshot many;
  many.name = "many";
  many.kind = "cpu_to_cpu memory";
  many.capacity = 8;
  many.claimed = n + 4;
  many.taken = many.retired = n;
  p.tunnels = {many};
  EXPECT_THAT(find_waits(p).front(), HasSubstr("stage 'sum' holds 3 items of tunnel 'many'"));
  EXPECT_THAT(describe_stall(p, "now"),
              AllOf(HasSubstr(std::to_string(n + 4)), HasSubstr(less(0)), HasSubstr(less(3))));
}

// A number that was sampled, as the most items that a ring held, has the digits that matter; a whole one has all of
// them.
TEST(Counts, SampledNumbersThatAreWholeLoseNoDigit) {
  EXPECT_EQ(json_number(4294967301.0), "4294967301");
  EXPECT_EQ(json_number(1048577), "1048577");
  EXPECT_EQ(json_number(9007199254740992.0), "9007199254740992");
  EXPECT_EQ(json_number(-12), "-12");
  EXPECT_EQ(json_number(0.25), "0.25");
  EXPECT_EQ(json_number(1e300), "1e+300");
}

}  // namespace
