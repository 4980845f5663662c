#include "lib/nodes/launcher.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "hiway/error.hpp"

namespace hiway::detail::nodes {
namespace {

constexpr std::int64_t most_nodes = 65536;
constexpr std::int64_t most_seconds = 86400;

[[noreturn]] void refuse(std::string const& variable, std::string_view what, std::string const& text) {
  throw ConfigError(variable + " must be " + std::string(what) + ": '" + text + "'");
}

std::string range(std::int64_t least, std::int64_t most) {
  return std::to_string(least).append(" to ").append(std::to_string(most));
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  auto const parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The variables, with what is asked of their values.
class Variables {
 public:
  explicit Variables(Surroundings const& surroundings) : surroundings_(surroundings) {}

  [[nodiscard]] std::optional<std::string> text(char const* name) const {
    auto value = surroundings_.variable(name);
    return value && !value->empty() ? value : std::nullopt;
  }
  [[nodiscard]] bool has(char const* name) const { return text(name).has_value(); }
  [[nodiscard]] std::optional<int> number(char const* name, std::int64_t least, std::int64_t most) const {
    auto const value = text(name);
    if (!value) return std::nullopt;
    auto const number = number_of(*value);
    if (!number || *number < least || *number > most) refuse(name, range(least, most), *value);
    return static_cast<int>(*number);
  }
  /// The number of the variable `name`, which `beside` needs.
  [[nodiscard]] int needed(char const* name, std::int64_t least, std::int64_t most, char const* beside) const {
    if (auto const value = number(name, least, most)) return *value;
    throw ConfigError(std::string(beside) + " is set, and " + name + " is not: '" + text(beside).value_or("") + "'");
  }
  [[nodiscard]] std::optional<Place> meet() const {
    auto const value = text("HIWAY_MEET");
    if (!value) return std::nullopt;
    auto place = place_of(*value);
    if (!place) refuse("HIWAY_MEET", "HOST:PORT", *value);
    return place;
  }
  /// Of the socket that the variable names.
  [[nodiscard]] std::string maker(char const* name) const {
    auto const descriptor = number(name, 0, std::numeric_limits<int>::max());
    long const process = descriptor ? surroundings_.maker_of(*descriptor) : 0;
    return process > 0 ? "process-" + std::to_string(process) : std::string{};
  }

 private:
  Surroundings const& surroundings_;
};

/// A launcher that numbers its processes and does not say where they meet.
struct Launcher {
  char const* node;
  char const* size;
  char const* on_this_host;  ///< how many of the processes are; null: it does not say
  std::vector<char const*> job;
  char const* socket;  ///< to the launcher's own process, which numbers the job if nothing else does; null: none
};

Launcher const open_mpi{"OMPI_COMM_WORLD_RANK",
                        "OMPI_COMM_WORLD_SIZE",
                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                        {"PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri"},
                        nullptr};
Launcher const mpich{"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", {"PMI_JOBID"}, "PMI_FD"};
Launcher const pmix{"PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", {"PMIX_NAMESPACE"}, nullptr};
Launcher const slurm{"SLURM_PROCID", "SLURM_NTASKS", nullptr, {}, nullptr};

/// Slurm numbers the steps of a job. Those that are no srun's have numbers from here on.
constexpr std::int64_t no_step = 0xfffffff0;

bool is_ordinary_step(Variables const& variables) {
  auto const step = number_of(variables.text("SLURM_STEP_ID").value_or(""));
  return step && *step < no_step && variables.has("SLURM_JOB_ID");
}

/// True if the variables are those of a batch script or shell of Slurm's: one process, whatever SLURM_NTASKS is.
bool is_batch_script(Variables const& variables) {
  return variables.has("SLURM_JOB_ID") && !is_ordinary_step(variables);
}

bool all_on_one_host(Variables const& variables, Launcher const& launcher, int size) {
  if (launcher.on_this_host != nullptr && variables.has(launcher.on_this_host))
    return variables.number(launcher.on_this_host, 1, most_nodes) == size;
  char const* const hosts = variables.has("SLURM_STEP_NUM_NODES") ? "SLURM_STEP_NUM_NODES" : "SLURM_JOB_NUM_NODES";
  return is_ordinary_step(variables) && variables.number(hosts, 1, most_nodes) == 1;
}

/// What tells the job from others on this host; empty if nothing does.
std::string job_of(Variables const& variables, Launcher const& launcher) {
  for (char const* const name : launcher.job) {
    if (auto const job = variables.text(name)) return *job;
  }
  if (is_ordinary_step(variables)) return *variables.text("SLURM_JOB_ID") + "." + *variables.text("SLURM_STEP_ID");
  return launcher.socket != nullptr ? variables.maker(launcher.socket) : std::string{};
}

Place place_for(Variables const& variables, Launcher const& launcher, int size) {
  if (auto const place = variables.meet()) return *place;
  std::string const start = std::string(launcher.size) + " is '" + std::to_string(size) + "', and ";
  if (!all_on_one_host(variables, launcher, size))
    throw ConfigError(start + "nothing says where they meet: set HIWAY_MEET=HOST:PORT, HOST being node 0's");
  std::string const job = job_of(variables, launcher);
  if (job.empty())
    throw ConfigError(start + "nothing tells this job from others on this host: set HIWAY_MEET=127.0.0.1:PORT");
  return local_place("hiway-" + std::string(launcher.node) + "-" + job);
}

/// Which node of how many, as these variables say it; not where they meet.
Launch numbered(Variables const& variables, char const* node, char const* size) {
  Launch launch;
  launch.size = variables.needed(size, 1, most_nodes, node);
  launch.node = variables.needed(node, 0, launch.size - 1, size);
  return launch;
}

Launch numbered_by(Variables const& variables, Launcher const& launcher) {
  Launch launch = numbered(variables, launcher.node, launcher.size);
  if (launch.size > 1) launch.place = place_for(variables, launcher, launch.size);
  return launch;
}

std::vector<std::string> parts_of(std::string const& list) {
  std::vector<std::string> parts(1);
  for (char const c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// HIWAY_NODES is a number. *Throws* ConfigError without HIWAY_MEET.
Launch counted_by_hand(Variables const& variables) {
  Launch launch = numbered(variables, "HIWAY_NODE", "HIWAY_NODES");
  if (launch.size == 1) return launch;
  auto const place = variables.meet();
  if (!place)
    throw ConfigError("HIWAY_NODES is the number '" + std::to_string(launch.size) +
                      "', and nothing says where they meet: set HIWAY_MEET=HOST:PORT, HOST being node 0's");
  launch.place = *place;
  return launch;
}

Launch by_hand(Variables const& variables) {
  auto const list = variables.text("HIWAY_NODES");
  if (!list) throw ConfigError("HIWAY_NODE is set, and HIWAY_NODES is not: '" + *variables.text("HIWAY_NODE") + "'");
  if (number_of(*list)) return counted_by_hand(variables);
  Launch launch;
  std::vector<std::string> const parts = parts_of(*list);
  for (std::string const& part : parts) {
    if (!address_of(part)) refuse("HIWAY_NODES", "HOST:PORT,HOST:PORT,... or a number", *list);
  }
  if (parts.size() > most_nodes) refuse("HIWAY_NODES", std::to_string(most_nodes) + " addresses at most", *list);
  launch.size = static_cast<int>(parts.size());
  launch.node = variables.needed("HIWAY_NODE", 0, launch.size - 1, "HIWAY_NODES");
  launch.place = *address_of(parts.front());
  return launch;
}

Launch by_torchrun(Variables const& variables) {
  Launch launch = numbered(variables, "RANK", "WORLD_SIZE");
  if (launch.size == 1) return launch;
  if (auto const place = variables.meet()) {
    launch.place = *place;
    return launch;
  }
  auto const host = variables.text("MASTER_ADDR");
  if (!host)
    throw ConfigError("WORLD_SIZE is '" + std::to_string(launch.size) +
                      "', and nothing says where they meet: set MASTER_ADDR and MASTER_PORT, or HIWAY_MEET=HOST:PORT");
  int const port = variables.needed("MASTER_PORT", 1, 65535, "MASTER_ADDR");
  launch.place = Place{*host, static_cast<std::uint16_t>(port), {}};
  return launch;
}

Launch by_launcher(Variables const& variables) {
  if (variables.has("HIWAY_NODES") || variables.has("HIWAY_NODE")) return by_hand(variables);
  if (variables.has("RANK") && variables.has("WORLD_SIZE")) return by_torchrun(variables);
  if (variables.has(open_mpi.node)) return numbered_by(variables, open_mpi);
  if (variables.has(mpich.node)) return numbered_by(variables, mpich);
  if (variables.has(pmix.node) && variables.has(pmix.size)) return numbered_by(variables, pmix);
  if (variables.has(slurm.node) && variables.has(slurm.size) && !is_batch_script(variables))
    return numbered_by(variables, slurm);
  if (variables.has(pmix.node))
    throw ConfigError("PMIX_RANK is '" + *variables.text(pmix.node) +
                      "', and nothing says how many processes there are: set HIWAY_NODES and HIWAY_NODE");
  return {};
}

long maker_of_other_end(int descriptor) {
  ucred other{};
  socklen_t length = sizeof other;
  bool const known = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0;
  return known && other.pid > 0 ? other.pid : 0;
}

}  // namespace

Surroundings real_surroundings() {
  return {[](char const* name) -> std::optional<std::string> {
            char const* const value = std::getenv(name);
            if (value == nullptr) return std::nullopt;
            return value;
          },
          &maker_of_other_end};
}

std::string Launch::patience_text() const {
  return " within " + std::to_string(std::chrono::ceil<std::chrono::seconds>(patience).count()) +
         " s (HIWAY_MEET_SECONDS)";
}

Launch read_launch(Surroundings const& surroundings) {
  Variables const variables(surroundings);
  Launch launch = by_launcher(variables);
  if (launch.size > 1) {
    if (auto const seconds = variables.number("HIWAY_MEET_SECONDS", 1, most_seconds))
      launch.patience = std::chrono::seconds(*seconds);
  }
  return launch;
}

}  // namespace hiway::detail::nodes
