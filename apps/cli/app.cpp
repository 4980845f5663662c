#include "cli/app.hpp"

#include "cli/bad_input.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cli {

void add_gpus(Options& command, unsigned& gpus) {
  command.add_option("--gpus", gpus, "that method hiway shares its work out to: numbers 0 to N - 1 (1)").type_name("N");
}
void check_gpus(unsigned gpus) {
  if (gpus == 0 || gpus > 64) throw BadInput{"--gpus must be 1 to 64: " + std::to_string(gpus)};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  std::size_t const half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

}  // namespace cli
