// A stage that feeds itself: how many fractions lie between 0 and 1 whose denominator is at most `largest`?
//
// Between two neighbours a/b and c/d the next fraction is (a+c)/(b+d). A gap between two neighbours is an item: the stage
// counts the fraction in it, and puts the two gaps beside it back into the tunnel that it reads.
//
// How many gaps there are at once nobody says beforehand. The tunnel holds 64; what finds no room is spilled into a pool
// of spill_items, for a put that waited here would wait for the stage itself. The run ends when every gap is done: no
// thread counts them.
#include <cstdio>
#include <hiway/hiway.hpp>
#include <numeric>

constexpr int largest = 200;

struct Gap {  // of two neighbours the denominators are enough
  int left, right;
};

struct Split {  // a GPU stage in item form: called with each item, then the inlets
  HIWAY_DEVICE void operator()(Gap const& gap, hiway::Inlet<Gap> gaps, hiway::Inlet<int> denominators) const {
    int const middle = gap.left + gap.right;
    if (middle > largest) return;
    denominators.put_d(middle);
    gaps.put_d({gap.left, middle});
    gaps.put_d({middle, gap.right});
  }
};

int main() {
  hiway::Pipeline pipe({.warn_of_cycles = false});  // it would say that `gaps` may spill, which is meant
  auto& first = pipe.create_tunnel<Gap>("first", hiway::Direction::cpu_to_gpu);
  auto& gaps =
      pipe.create_tunnel<Gap>("gaps", hiway::Direction::gpu_to_gpu, {.capacity_items = 64, .spill_items = 1 << 15});
  auto& denominators = pipe.create_tunnel<int>("denominators", hiway::Direction::gpu_to_cpu);
  int fractions = 0;
  pipe.add_cpu_stage(
      "begin",
      [](hiway::Inlet<Gap> out) {
        out.put_h({1, 1});
      },
      hiway::into(first));  // between 0/1 and 1/1
  pipe.add_gpu_stage("split", Split{}, hiway::from(first, gaps), hiway::into(gaps, denominators));
  pipe.add_cpu_stage(
      "count", [&](int const&) { ++fractions; }, hiway::from(denominators));
  hiway::RunReport const report = pipe.run();

  int expected = 0;
  for (int d = 2; d <= largest; ++d) {
    for (int n = 1; n < d; ++n) expected += std::gcd(n, d) == 1 ? 1 : 0;
  }
  std::printf("%d fractions, expected %d\n", fractions, expected);
  for (hiway::TunnelReport const& t : report.tunnels) {
    std::printf("tunnel %s: %llu items, %llu of them spilled\n", t.name.c_str(),
                static_cast<unsigned long long>(t.items), static_cast<unsigned long long>(t.spilled));
  }
  return fractions == expected ? 0 : 1;
}
