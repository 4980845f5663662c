// Which node a process is, as each launcher says it. Nothing here touches the environment.
#include "lib/nodes/launcher.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "hiway/error.hpp"

namespace {

using hiway::ConfigError;
using hiway::detail::nodes::Launch;
using hiway::detail::nodes::read_launch;
using hiway::detail::nodes::Surroundings;
using testing::StartsWith;
using Variables = std::map<std::string, std::string>;

Surroundings with(Variables const& variables) {
  return {[variables](char const* name) -> std::optional<std::string> {
            auto const at = variables.find(name);
            if (at == variables.end()) return std::nullopt;
            return at->second;
          },
          [](int descriptor) { return descriptor == 6 ? 1234L : 0L; }};
}

Launch launch(Variables const& variables) { return read_launch(with(variables)); }

/// "node of size at place".
std::string read(Variables const& variables) {
  Launch const is = launch(variables);
  return std::to_string(is.node) + " of " + std::to_string(is.size) + " at " +
         (is.size > 1 ? is.place.text() : "no place");
}

std::string refusal(Variables const& variables) {
  try {
    return "no error: " + read(variables);
  } catch (ConfigError const& error) {
    return error.what();
  }
}

Variables plus(Variables variables, Variables const& more) {
  for (auto const& [name, value] : more) variables[name] = value;
  return variables;
}

Variables const open_mpi{
    {"OMPI_COMM_WORLD_RANK", "1"},       {"OMPI_COMM_WORLD_SIZE", "4"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"PMIX_RANK", "1"},
    {"PMIX_NAMESPACE", "1103167489"},    {"OMPI_MCA_orte_hnp_uri", "1103167488.0;tcp://192.0.2.2:38441"}};
Variables const mpich{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}, {"PMI_FD", "6"}};
Variables const slurm{{"SLURM_PROCID", "2"},
                      {"SLURM_NTASKS", "3"},
                      {"SLURM_JOB_ID", "77"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_JOB_NUM_NODES", "1"}};
std::string const nowhere = "nothing says where they meet: set HIWAY_MEET=HOST:PORT, HOST being node 0's";

TEST(Launcher, IsOneNodeWithoutAny) {
  EXPECT_EQ(read({}), "0 of 1 at no place");
  EXPECT_EQ(read({{"HIWAY_NODES", ""}, {"RANK", ""}, {"PMI_RANK", ""}}), "0 of 1 at no place");
  EXPECT_EQ(read({{"RANK", "3"}}), "0 of 1 at no place") << "too common a name to mean torchrun by itself";
  EXPECT_EQ(read({{"HIWAY_MEET", "nonsense"}}), "0 of 1 at no place");
}

TEST(Launcher, ReadsAListOfAddresses) {
  Variables const list{{"HIWAY_NODES", "a:5000,b:5001,[fe80::1]:5002"}, {"HIWAY_NODE", "2"}};
  EXPECT_EQ(read(list), "2 of 3 at a:5000");
  EXPECT_EQ(read(plus(open_mpi, list)), "2 of 3 at a:5000") << "it comes first";
  EXPECT_EQ(read({{"HIWAY_NODES", "[::1]:5002,b:1"}, {"HIWAY_NODE", "1"}}), "1 of 2 at [::1]:5002");
  EXPECT_EQ(read({{"HIWAY_NODES", "a:5000"}, {"HIWAY_NODE", "0"}}), "0 of 1 at no place");
}

TEST(Launcher, RefusesAListThatMakesNoSense) {
  EXPECT_EQ(refusal({{"HIWAY_NODE", "1"}}), "HIWAY_NODE is set, and HIWAY_NODES is not: '1'");
  EXPECT_EQ(refusal({{"HIWAY_NODES", "a:1,b:2"}}), "HIWAY_NODES is set, and HIWAY_NODE is not: 'a:1,b:2'");
  EXPECT_EQ(refusal({{"HIWAY_NODES", "a:1,b:2"}, {"HIWAY_NODE", "2"}}), "HIWAY_NODE must be 0 to 1: '2'");
  EXPECT_EQ(refusal({{"HIWAY_NODES", "a:1,b:2"}, {"HIWAY_NODE", "one"}}), "HIWAY_NODE must be 0 to 1: 'one'");
  EXPECT_EQ(refusal({{"HIWAY_NODES", "a:1,b:2"}, {"HIWAY_NODE", "-1"}}), "HIWAY_NODE must be 0 to 1: '-1'");
  for (std::string const list :
       {"a", "a:", ":1", "a:0", "a:65536", "a:1,", ",a:1", "a:1 ,b:2", "a:x", "::1:5000", "[a:1"}) {
    EXPECT_EQ(refusal({{"HIWAY_NODES", list}, {"HIWAY_NODE", "0"}}),
              "HIWAY_NODES must be HOST:PORT,HOST:PORT,... or a number: '" + list + "'");
  }
}

TEST(Launcher, ReadsANumberOfNodesThatMeetElsewhere) {
  Variables const number{{"HIWAY_NODES", "4"}, {"HIWAY_NODE", "3"}};
  EXPECT_EQ(read(plus(number, {{"HIWAY_MEET", "local:x"}})), "3 of 4 at local:x");
  EXPECT_EQ(read(plus(number, {{"HIWAY_MEET", "host:9"}})), "3 of 4 at host:9");
  EXPECT_EQ(refusal(number), "HIWAY_NODES is the number '4', and " + nowhere);
  EXPECT_EQ(refusal(plus(number, {{"HIWAY_MEET", "host"}})), "HIWAY_MEET must be HOST:PORT: 'host'");
  EXPECT_EQ(refusal(plus(number, {{"HIWAY_MEET", "local:"}})), "HIWAY_MEET must be HOST:PORT: 'local:'");
  EXPECT_EQ(refusal(plus(number, {{"HIWAY_NODES", "0"}})), "HIWAY_NODES must be 1 to 65536: '0'");
  EXPECT_EQ(refusal(plus(number, {{"HIWAY_NODES", "3"}, {"HIWAY_MEET", "a:1"}})), "HIWAY_NODE must be 0 to 2: '3'");
  EXPECT_EQ(read({{"HIWAY_NODES", "1"}, {"HIWAY_NODE", "0"}}), "0 of 1 at no place");
}

TEST(Launcher, ReadsTorchrun) {
  Variables const torchrun{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "head"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(read(torchrun), "1 of 2 at head:29500");
  EXPECT_EQ(read(plus(torchrun, {{"HIWAY_MEET", "head:29501"}})), "1 of 2 at head:29501");
  EXPECT_EQ(read(plus(torchrun, {{"MASTER_ADDR", "::1"}})), "1 of 2 at [::1]:29500");
  EXPECT_EQ(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "0 of 1 at no place");
  EXPECT_EQ(refusal(plus(torchrun, {{"RANK", "2"}})), "RANK must be 0 to 1: '2'");
  EXPECT_EQ(refusal(plus(torchrun, {{"WORLD_SIZE", "two"}})), "WORLD_SIZE must be 1 to 65536: 'two'");
  EXPECT_EQ(refusal(plus(torchrun, {{"MASTER_PORT", "70000"}})), "MASTER_PORT must be 1 to 65535: '70000'");
  EXPECT_EQ(refusal(plus(torchrun, {{"MASTER_PORT", ""}})), "MASTER_ADDR is set, and MASTER_PORT is not: 'head'");
  EXPECT_EQ(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "WORLD_SIZE is '2', and nothing says where they meet: set MASTER_ADDR and MASTER_PORT, or "
            "HIWAY_MEET=HOST:PORT");
}

TEST(Launcher, ReadsOpenMpi) {
  EXPECT_EQ(read(open_mpi), "1 of 4 at local:hiway-OMPI_COMM_WORLD_RANK-1103167489");
  EXPECT_EQ(read(plus(open_mpi, {{"HIWAY_MEET", "a:1"}})), "1 of 4 at a:1");
  EXPECT_EQ(read(plus(open_mpi, {{"PMIX_NAMESPACE", ""}})),
            "1 of 4 at local:hiway-OMPI_COMM_WORLD_RANK-1103167488.0;tcp://192.0.2.2:38441");
  EXPECT_EQ(refusal(plus(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}})),
            "OMPI_COMM_WORLD_SIZE is '4', and " + nowhere);
  EXPECT_EQ(refusal(plus(open_mpi, {{"OMPI_COMM_WORLD_RANK", "4"}})), "OMPI_COMM_WORLD_RANK must be 0 to 3: '4'");
  EXPECT_EQ(refusal({{"OMPI_COMM_WORLD_RANK", "0"}}),
            "OMPI_COMM_WORLD_RANK is set, and OMPI_COMM_WORLD_SIZE is not: '0'");
  EXPECT_EQ(
      refusal({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
      "OMPI_COMM_WORLD_SIZE is '2', and nothing tells this job from others on this host: set "
      "HIWAY_MEET=127.0.0.1:PORT");
}

TEST(Launcher, ReadsMpich) {
  EXPECT_EQ(read(mpich), "0 of 2 at local:hiway-PMI_RANK-process-1234");
  EXPECT_EQ(read(plus(mpich, {{"PMI_JOBID", "j7"}})), "0 of 2 at local:hiway-PMI_RANK-j7");
  EXPECT_EQ(refusal(plus(mpich, {{"MPI_LOCALNRANKS", "1"}})), "PMI_SIZE is '2', and " + nowhere);
  EXPECT_THAT(refusal(plus(mpich, {{"PMI_FD", "7"}})), StartsWith("PMI_SIZE is '2', and nothing tells this job"));
  EXPECT_EQ(refusal(plus(mpich, {{"PMI_RANK", "x"}})), "PMI_RANK must be 0 to 1: 'x'");
}

TEST(Launcher, ReadsPmix) {
  Variables const pmix{{"PMIX_RANK", "0"},
                       {"OMPI_COMM_WORLD_SIZE", "2"},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                       {"PMIX_NAMESPACE", "prterun-host-11@1"}};
  EXPECT_EQ(read(pmix), "0 of 2 at local:hiway-PMIX_RANK-prterun-host-11@1");
  EXPECT_EQ(read(plus(slurm, {{"PMIX_RANK", "2"}})), "2 of 3 at local:hiway-SLURM_PROCID-77.0");
  EXPECT_EQ(refusal({{"PMIX_RANK", "1"}}),
            "PMIX_RANK is '1', and nothing says how many processes there are: set "
            "HIWAY_NODES and HIWAY_NODE");
}

TEST(Launcher, ReadsSlurm) {
  EXPECT_EQ(read(slurm), "2 of 3 at local:hiway-SLURM_PROCID-77.0");
  EXPECT_EQ(read({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "3"}, {"HIWAY_MEET", "a:1"}}), "2 of 3 at a:1");
  EXPECT_EQ(read(plus(slurm, {{"SLURM_JOB_NUM_NODES", "2"}, {"SLURM_STEP_NUM_NODES", "1"}})),
            "2 of 3 at local:hiway-SLURM_PROCID-77.0");
  EXPECT_EQ(refusal(plus(slurm, {{"SLURM_JOB_NUM_NODES", "2"}})), "SLURM_NTASKS is '3', and " + nowhere);
  EXPECT_EQ(refusal(plus(slurm, {{"SLURM_PROCID", "3"}})), "SLURM_PROCID must be 0 to 2: '3'");
}

TEST(Launcher, TakesABatchScriptOfSlurmForOneProcess) {
  EXPECT_EQ(read(plus(slurm, {{"SLURM_STEP_ID", ""}})), "0 of 1 at no place");
  EXPECT_EQ(read(plus(slurm, {{"SLURM_STEP_ID", "4294967290"}})), "0 of 1 at no place") << "salloc's shell";
}

TEST(Launcher, ShortensANameThatNoSocketHolds) {
  std::string const one = read(plus(open_mpi, {{"PMIX_NAMESPACE", std::string(200, 'x')}}));
  std::string const two = read(plus(open_mpi, {{"PMIX_NAMESPACE", std::string(199, 'x') + "y"}}));
  EXPECT_EQ(one.size(), std::string("1 of 4 at local:hiway-").size() + 16);
  EXPECT_NE(one, two);
}

TEST(Launcher, ReadsHowLongToWait) {
  EXPECT_EQ(launch(open_mpi).patience, std::chrono::seconds(30));
  EXPECT_EQ(launch(plus(open_mpi, {{"HIWAY_MEET_SECONDS", "5"}})).patience, std::chrono::seconds(5));
  EXPECT_EQ(refusal(plus(open_mpi, {{"HIWAY_MEET_SECONDS", "0"}})), "HIWAY_MEET_SECONDS must be 1 to 86400: '0'");
}

}  // namespace
