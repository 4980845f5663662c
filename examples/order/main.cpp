// Results in the order of their items. How many steps does a number take down to 1, where an even one is halved, and of
// an odd one three times as much, plus 1, comes next (Collatz)? Some take hundreds of steps, so lanes finish in any
// order. The reader writes a table, and needs them in order.
#include <cstdint>
#include <cstdio>
#include <hiway/hiway.hpp>

constexpr std::uint64_t last = 100'000;

struct Length {
  std::uint64_t number;
  std::uint32_t steps;
};

struct Measure {  // in value form: each item has one result
  HIWAY_DEVICE Length operator()(std::uint64_t const& number) const {
    std::uint32_t steps = 0;
    for (std::uint64_t at = number; at != 1; ++steps) at = at % 2 == 0 ? at / 2 : 3 * at + 1;
    return {number, steps};
  }
};

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<std::uint64_t>("numbers", hiway::Direction::cpu_to_gpu);
  // auto&: into(...) must see that this is a RestoredTunnel<Length>.
  auto& lengths =
      pipe.create_tunnel<Length>("lengths", hiway::Direction::gpu_to_cpu, {.order = hiway::Order::restored});
  std::uint64_t next = 1;
  std::uint32_t longest = 0;
  pipe.add_cpu_stage(
      "count",
      [](hiway::Inlet<std::uint64_t> out) {
        for (std::uint64_t i = 1; i <= last; ++i) out.put_h(i);
      },
      hiway::into(numbers));
  pipe.add_gpu_stage("measure", Measure{}, hiway::from(numbers), hiway::into(lengths));
  pipe.add_cpu_stage(
      "write",
      [&](Length const& l) {
        if (l.number == next) ++next;
        if (l.steps <= longest) return;
        longest = l.steps;
        std::printf("%6llu takes %u steps\n", static_cast<unsigned long long>(l.number), l.steps);
      },
      hiway::from(lengths));
  pipe.run();
  std::printf("%llu of %llu numbers came in order\n", static_cast<unsigned long long>(next - 1),
              static_cast<unsigned long long>(last));
  return next == last + 1 ? 0 : 1;
}
