// Method baseline: one ordinary kernel, as one would write it without the library. A warp takes up to 32 regions in a row,
// reads their offsets together, and sums them side by side, as many lanes for each as its ints need, four ints a load. Of
// few long regions each is cut into parts, which are regions of their own until their sums are added.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "region_sum/methods.hpp"

namespace region_sum {

/// How warps share the work. All are powers of two but parts_a_region.
struct Division {
  unsigned lanes_a_part;
  unsigned parts_a_warp;         ///< taken at once; 32 where a warp sums several side by side
  std::uint64_t parts_a_region;  ///< 1 but for few long ones
};

/// What a lane loads at once.
struct alignas(16) Four {
  std::uint32_t ints[4];
};

struct SumRegions {
  std::uint32_t const* ints;
  std::uint64_t const* offsets;
  hiway::Word<std::uint64_t>* sums;  ///< 0 where a region has several parts
  std::uint64_t parts;               ///< of all regions
  Division division;

  /// From the first int to the one before `end`.
  struct Part {
    std::uint64_t first, end;
  };

  HIWAY_DEVICE void operator()() const {
    hiway::on_this_device([&](auto m) {
      std::uint64_t const step = std::uint64_t{m.thread_count() / 32} * division.parts_a_warp;
      for (std::uint64_t first = std::uint64_t{m.thread_index() / 32} * division.parts_a_warp; first < parts;
           first += step)
        sum_parts(m, first);
    });
  }

  /// By all lanes of a warp: each has a part, and teams of lanes sum them in turn.
  template <class M>
  HIWAY_DEVICE void sum_parts(M m, std::uint64_t first) const {
    std::uint64_t const number = first + m.lane();
    bool const has_part = m.lane() < division.parts_a_warp && number < parts;
    Part const own = has_part ? part_at(number) : Part{0, 0};
    unsigned const teams = 32 / division.lanes_a_part;
    unsigned const team = m.lane() / division.lanes_a_part;
    std::uint64_t own_sum = 0;
    for (unsigned round = 0; round < division.parts_a_warp; round += teams) {
      Part const part{m.shuffle(m.lanes(), own.first, round + team), m.shuffle(m.lanes(), own.end, round + team)};
      std::uint64_t sum = sum_of_lane(part, m.lane() % division.lanes_a_part);
      for (unsigned step = division.lanes_a_part / 2; step > 0; step /= 2)
        sum += m.shuffle(m.lanes(), sum, m.lane() ^ step);
      unsigned const team_of_own = (m.lane() - round) % teams;
      sum = m.shuffle(m.lanes(), sum, team_of_own * division.lanes_a_part);
      if (m.lane() / teams == round / teams) own_sum = sum;
    }
    if (!has_part) return;
    if (division.parts_a_region == 1) {
      sums[number].bits = own_sum;
    } else {
      m.fetch_add(sums[number / division.parts_a_region], own_sum, hiway::MemoryOrder::relaxed);
    }
  }

  HIWAY_DEVICE Part part_at(std::uint64_t number) const {
    if (division.parts_a_region == 1) return {offsets[number], offsets[number + 1]};
    std::uint64_t const region = number / division.parts_a_region;
    std::uint64_t const part = number % division.parts_a_region;
    std::uint64_t const first = offsets[region];
    std::uint64_t const length = offsets[region + 1] - first;
    return {first + length * part / division.parts_a_region, first + length * (part + 1) / division.parts_a_region};
  }

  /// Fours lie at multiples of four; before the first and behind the last may be up to three ints.
  HIWAY_DEVICE std::uint64_t sum_of_lane(Part const& part, unsigned lane) const {
    std::uint64_t const first_four = (part.first + 3) / 4;
    std::uint64_t const end_four = part.end / 4;
    std::uint64_t const end_before = 4 * first_four < part.end ? 4 * first_four : part.end;
    std::uint64_t const first_behind = 4 * end_four > end_before ? 4 * end_four : end_before;
    std::uint64_t sum = 0;
    unsigned const step = division.lanes_a_part;
    std::uint64_t i = first_four + lane;
    for (; i + step < end_four; i += 2 * step)
      sum += sum_of(four_at(i), four_at(i + step));  // both are on their way at once
    if (i < end_four) sum += sum_of(four_at(i), Four{});
    for (i = part.first + lane; i < end_before; i += step) sum += ints[i];
    for (i = first_behind + lane; i < part.end; i += step) sum += ints[i];
    return sum;
  }

  HIWAY_DEVICE Four four_at(std::uint64_t i) const { return reinterpret_cast<Four const*>(ints)[i]; }
  HIWAY_DEVICE static std::uint64_t sum_of(Four const& a, Four const& b) {
    std::uint64_t sum = 0;
    for (unsigned k = 0; k < 4; ++k) sum += std::uint64_t{a.ints[k]} + b.ints[k];
    return sum;
  }
};

namespace {

Division division_of(Problem const& problem) {
  constexpr std::uint64_t ints_a_warp = 4096;     // taken at once, about
  constexpr std::uint64_t least_part = 1U << 14;  // ints
  constexpr std::uint64_t enough_parts = 1U << 14;
  std::uint64_t const regions = std::max<std::uint64_t>(1, problem.regions());
  std::uint64_t const mean = std::max<std::uint64_t>(1, problem.ints.size() / regions);
  return {.lanes_a_part = static_cast<unsigned>(std::min<std::uint64_t>(32, std::bit_ceil((mean + 3) / 4))),
          .parts_a_warp = static_cast<unsigned>(
              std::clamp<std::uint64_t>(std::bit_floor(ints_a_warp / std::min(mean, ints_a_warp)), 1, 32)),
          .parts_a_region = std::max<std::uint64_t>(1, std::min(enough_parts / regions, mean / least_part))};
}

/// The device's side, made once for all runs.
class Device {
 public:
  Device(Problem const& problem, Job const& job)
      : pipe_(job.pipeline()),
        ints_(pipe_.create_buffer<std::uint32_t>(std::max<std::size_t>(1, problem.ints.size()))),
        offsets_(pipe_.create_buffer(std::span<std::uint64_t const>(problem.offsets))),
        zeros_(problem.regions()),
        sums_(pipe_.create_buffer<Sum>(std::max<std::size_t>(1, problem.regions()))),
        division_(division_of(problem)),
        parts_(problem.regions() * division_.parts_a_region) {
    ints_.copy_in(problem.ints);
    bool const emulated = job.device == "simt";
    grid_.threads_per_block = emulated ? 64 : 256;
    std::uint64_t const warps = parts_ / division_.parts_a_warp + 1;
    constexpr std::uint64_t most_blocks = 1056;  // 8 on each multiprocessor
    grid_.blocks =
        emulated ? 1 : static_cast<unsigned>(std::min(warps * 32 / grid_.threads_per_block + 1, most_blocks));
    begin();
    run();  // loads the kernel
  }
  Device(Device const&) = delete;
  Device& operator=(Device const&) = delete;

  void begin() { sums_.copy_in(zeros_); }
  void run() {
    pipe_.launch("sum", SumRegions{ints_.view().data, offsets_.view().data, sums_.view().data, parts_, division_},
                 grid_);
    pipe_.synchronize();
  }
  [[nodiscard]] Sums sums() const {
    std::vector<Sum> words(zeros_.size());
    sums_.copy_out(words);
    Sums sums(words.size());
    std::ranges::transform(words, sums.begin(), &Sum::bits);
    return sums;
  }

 private:
  using Sum = hiway::Word<std::uint64_t>;

  hiway::Pipeline pipe_;
  hiway::Buffer<std::uint32_t>& ints_;
  hiway::Buffer<std::uint64_t>& offsets_;
  std::vector<Sum> zeros_;
  hiway::Buffer<Sum>& sums_;
  Division division_;
  std::uint64_t parts_;
  hiway::GpuStageOptions grid_{};
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Sums& sums) {
  Device device{problem, job};
  return cli::repeated(job, [&] {
    device.begin();
    auto const begin = std::chrono::steady_clock::now();
    device.run();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    sums = device.sums();
    return Measurement{.summary = summarize(sums), .seconds = seconds, .items = problem.ints.size()};
  });
}

}  // namespace region_sum
