// The serial oracle.
#include <chrono>

#include "spectrum/fft.hpp"
#include "spectrum/methods.hpp"

namespace spectrum {

std::vector<Measurement> run_reference(Problem const& problem, Job const& job) {
  return cli::repeated(job, [&] {
    Measurement run{.summary = {}, .items = problem.packets};
    auto const begin = std::chrono::steady_clock::now();
    Packet packet{};
    Spectrum spectrum{};
    for (packet.number = 0; packet.number < problem.packets; ++packet.number) {
      make_voltages(problem.seed, packet.number, packet.voltages);
      for (std::uint32_t i = 0; i < channels; ++i) spectrum.channel[i] = in_floats(packet.voltages[i]);
      transform(spectrum.channel.data());
      for (std::uint32_t c = 0; c < channels; ++c)
        if (power(spectrum.channel[c]) > threshold) run.summary.add(packet.number, c);
    }
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return run;
  });
}

}  // namespace spectrum
