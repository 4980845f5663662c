#!/usr/bin/env bash
# launchers_test.sh CASE NODE_PROGRAM [HIWAY]: processes that a launcher starts find each other. Ends with 77 where the
# launcher is missing.
set -uo pipefail
case=$1 program=$(realpath "$2") hiway=${3:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
for name in $(compgen -e); do
  case $name in HIWAY_NODE* | HIWAY_MEET* | RANK | WORLD_SIZE | OMPI_* | PMI_* | PMIX_* | SLURM_*) unset "$name" ;; esac
done

# expect FILE: it has what three nodes say.
expect() {
  printf 'node %d of 3, heard 0 10 20\n' 0 1 2 | cmp -s - <(sort "$1") && return
  echo "FAILED: $case: $1 has:" >&2
  cat "$1" >&2
  exit 1
}
# both COMMAND...: two such jobs at once, each in a folder of its own: two of Open MPI fail if they make theirs together.
both() {
  mkdir -p first second
  TMPDIR=$folder/first "$@" "$program" >one & local first=$!
  TMPDIR=$folder/second "$@" "$program" >two || echo "ended with $?" >>two
  wait "$first" || echo "ended with $?" >>one
  expect one
  expect two
}
# present PROGRAM
present() {
  command -v "$1" >/dev/null && return
  echo "skipped: no $1"
  exit 77
}

case $case in
  alone)
    [[ $("$program") == "node 0 of 1, alone" ]] || exit 1
    ;;
  launch)
    both "$hiway" launch -n 3
    ;;
  by_hand)
    export HIWAY_NODES=3 HIWAY_MEET=local:by-hand-$$
    for node in 0 1 2; do HIWAY_NODE=$node "$program" >said.$node & done
    wait
    cat said.* >all
    expect all
    ;;
  killed)
    export HIWAY_NODES=3 HIWAY_MEET=local:killed-$$
    for node in 0 1 2; do HIWAY_NODE=$node "$program" --kill 1 >said.$node & done
    wait
    for node in 0 2; do
      grep -qx "nodes: node 1 is gone: .*" said.$node || { echo "FAILED: node $node says: $(cat said.$node)" >&2; exit 1; }
    done
    ;;
  open_mpi)
    present mpirun.openmpi
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # It looks for ssh, which is not everywhere, though nothing starts on another host.
    both mpirun.openmpi --mca plm_rsh_agent true --oversubscribe -n 3
    ;;
  mpich)
    present mpiexec.hydra
    both mpiexec.hydra -n 3
    ;;
  *)
    echo "no case $case" >&2
    exit 1
    ;;
esac
