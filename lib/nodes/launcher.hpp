// Launch: which node of how many this process is, and where the nodes meet, as the launcher's environment says it.
//
//   launcher           number                 how many               where they meet
//   by hand            HIWAY_NODE             HIWAY_NODES            the first of HIWAY_NODES; HIWAY_MEET if that is a
//                                                                    number, as `hiway launch` sets it
//   torchrun           RANK                   WORLD_SIZE             HIWAY_MEET, or MASTER_ADDR with MASTER_PORT
//   mpirun, Open MPI   OMPI_COMM_WORLD_RANK   OMPI_COMM_WORLD_SIZE   these: HIWAY_MEET, or if all processes are on one
//   mpiexec, MPICH     PMI_RANK               PMI_SIZE               host, a name there that follows from what the
//   PMIx               PMIX_RANK              OMPI_COMM_WORLD_SIZE   launcher says of its job
//   srun               SLURM_PROCID           SLURM_NTASKS
//
// The first of these rows whose variables are set counts. An empty variable is not set.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "lib/nodes/place.hpp"

namespace hiway::detail::nodes {

/// What a process can find out about its start. Tests give their own.
struct Surroundings {
  /// The value of a variable of the environment.
  std::function<std::optional<std::string>(char const* name)> variable;
  /// The number of the process that made the other end of a socket; 0 if the descriptor is no local socket.
  std::function<long(int descriptor)> maker_of;
};

/// Those of this process.
[[nodiscard]] Surroundings real_surroundings();

struct Launch {
  int node = 0;
  int size = 1;
  Place place;                                                    ///< of more than one node
  std::chrono::milliseconds patience = std::chrono::seconds(30);  ///< how long a node waits for the others

  /// For a message that it is over.
  [[nodiscard]] std::string patience_text() const;
};

/// *Throws* ConfigError that names the variable and its value.
[[nodiscard]] Launch read_launch(Surroundings const& surroundings);

}  // namespace hiway::detail::nodes
