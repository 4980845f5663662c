// Applications as variants of a row: loaded once, run by one of their methods, every run verified.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bench/benches.hpp"
#include "cli/app.hpp"

namespace bench {

/// The paper's sizes of its applications, as arguments of `hiway run`.
namespace paper_size {
inline constexpr char const* gene_alignment = " --target-length 65536 --query-length 1024";
inline constexpr char const* evolutionary_program = " --population 2048 --generations 20";
inline constexpr char const* reyes = " --width 1280 --height 720 --pictures 30";
}  // namespace paper_size

/// The application of this name, with its input. *Throws* std::logic_error where there is none.
[[nodiscard]] std::shared_ptr<cli::App> loaded_app(AppList const& apps, std::string const& name,
                                                   std::string const& arguments);

/// How a turn runs an application.
struct AppRuns {
  std::string device;
  std::string method;
  unsigned runs = 1;  ///< of a turn
  cli::Scheme scheme{};
  bool pinned = false;
  enum class Counts : std::uint8_t { median, last } counts = Counts::median;
  std::shared_ptr<cli::MethodRun> last{};  ///< if not null: what the last turn was
};
/// Value: milliseconds of a run, copies included.
[[nodiscard]] std::function<Turn()> app_turn(std::shared_ptr<cli::App> app, AppRuns runs);

}  // namespace bench
