#include "arrays/carrying.hpp"

#include <algorithm>
#include <hiway/cpus.hpp>
#include <string>

#include "cli/bad_input.hpp"
#include "cli/device.hpp"

namespace arrays {
namespace {

constexpr std::uint32_t most_threads = 1024;
constexpr std::uint32_t most_pieces = 4096;
constexpr std::uint32_t most_in_flight = 64;

bool is_emulated(std::string const& device) { return device == "simt"; }

Carriers carriers(Carrying const& carrying, std::string const& device, unsigned feeders, unsigned takers) {
  std::uint32_t const batch = carrying.batch != 0 ? carrying.batch : is_emulated(device) ? 4 : 128;
  std::uint32_t const least = std::min(carrying.least_batch, batch);
  return {.feeders = {.threads = carrying.feeders != 0 ? carrying.feeders : feeders},
          .takers = {.threads = carrying.takers != 0 ? carrying.takers : takers},
          .room = {.capacity_items = std::size_t{4} * batch},
          .batches = {.max_items = batch,
                      .min_items = least,
                      .max_wait = std::chrono::microseconds(20),
                      .in_flight = carrying.in_flight,
                      .device = cli::number_of(device)}};
}

/// What the batch stage and the library leave.
unsigned free_cpus(unsigned others) {
  unsigned const cpus = hiway::available_cpus();
  return cpus > others + 2 ? cpus - others - 2 : 1;
}

}  // namespace

void Carrying::add_there(cli::Options& command) {
  command.add_option("--feeders", feeders, "method hiway: threads that put pieces (by the CPUs)").type_name("N");
  command.add_option("--batch", batch, "method hiway: pieces that a kernel gets, at most (128, emulated 4)")
      .type_name("N");
  command.add_option("--least-batch", least_batch, "method hiway: fewer pieces wait for more, for 20 us (1)")
      .type_name("N");
  command.add_option("--in-flight", in_flight, "method hiway: batches under way at once (6)").type_name("N");
}

void Carrying::add_there_and_back(cli::Options& command) {
  add_there(command);
  command.add_option("--takers", takers, "method hiway: threads that put results in their place (by the CPUs)")
      .type_name("N");
}

void Carrying::check() const {
  cli::require_in_range("--feeders", feeders, 0, most_threads);
  cli::require_in_range("--takers", takers, 0, most_threads);
  cli::require_in_range("--batch", batch, 0, most_pieces);
  cli::require_in_range("--least-batch", least_batch, 1, most_pieces);
  cli::require_in_range("--in-flight", in_flight, 1, most_in_flight);
}

Carriers carriers_there(Carrying const& carrying, std::string const& device) {
  return carriers(carrying, device, free_cpus(0), 0);
}

Carriers carriers_there_and_back(Carrying const& carrying, std::string const& device, unsigned others,
                                 unsigned takers_a_feeder) {
  unsigned const feeders = std::max(1U, free_cpus(others) / (1 + takers_a_feeder));
  return carriers(carrying, device, feeders, feeders * takers_a_feeder);
}

Launch launch_for(std::uint64_t values, std::string const& device) {
  constexpr unsigned threads = 256;
  constexpr std::uint64_t of_thread = 4;       // values
  constexpr std::uint64_t most_blocks = 1056;  // 8 on each multiprocessor of an H200
  if (is_emulated(device)) return {.blocks = 2, .threads = 32};
  return {.blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(values / (threads * of_thread), 1, most_blocks)),
          .threads = threads};
}

}  // namespace arrays
