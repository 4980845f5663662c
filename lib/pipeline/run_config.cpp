#include "run_config.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include "hiway/durations.hpp"
#include "hiway/error.hpp"
#include "hiway/log.hpp"
#include "lib/environment.hpp"

namespace hiway {
namespace {

std::chrono::milliseconds admit_duration(char const* what, std::chrono::milliseconds given) {
  if (given.count() < 0)
    throw ConfigError(std::string(what) + " is negative: " + std::to_string(given.count()) + " ms");
  return at_most_for_ever<std::chrono::milliseconds>(given);
}

void admit_time_out(std::chrono::microseconds end_time_out) {
  if (end_time_out.count() <= 0 || end_time_out > std::chrono::hours(1))
    throw ConfigError("end_time_out must be from 1 us to 1 h: " + std::to_string(end_time_out.count()) + " us");
  log(LogLevel::warning, "EndDetection::time_out is unsound and for comparison only: a task of more than " +
                             std::to_string(end_time_out.count()) + " us may end the run with an error");
}

/// HIWAY_STALL_AFTER; "off" is for_ever, and 0 if it is not set. *Throws* ConfigError.
std::chrono::milliseconds stall_after_of_environment() {
  char const* const asked = std::getenv("HIWAY_STALL_AFTER");
  if (asked != nullptr && std::string_view(asked) == "off") return for_ever;
  return milliseconds_of("HIWAY_STALL_AFTER", "a number of milliseconds, or off");
}

}  // namespace

std::chrono::milliseconds milliseconds_of(char const* variable, char const* what) {
  std::chrono::milliseconds const said(number_from_environment(variable, what, 0).value_or(0));
  return at_most_for_ever<std::chrono::milliseconds>(said);
}

void admit(PipelineConfig& config) {
  config.deadline = admit_duration("deadline", config.deadline);
  config.stall_after = admit_duration("stall_after", config.stall_after);
  if (config.stall_after.count() == 0) config.stall_after = stall_after_of_environment();
  config.grow_after = admit_duration("grow_after", config.grow_after);
  char const* const trace = std::getenv("HIWAY_TRACE");
  if (config.trace.empty() && trace != nullptr) config.trace = trace;
  if (config.end_detection == EndDetection::time_out) admit_time_out(config.end_time_out);
}

}  // namespace hiway
