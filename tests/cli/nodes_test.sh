#!/usr/bin/env bash
# nodes_test.sh HIWAY: --nodes of the applications, over two and three processes on the emulated device. Ends with 77 if
# the program was built without hiway::nodes.
set -uo pipefail
hiway=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
for name in $(compgen -e); do
  case $name in HIWAY_* | RANK | WORLD_SIZE | OMPI_* | PMI_* | PMIX_* | SLURM_*) unset "$name" ;; esac
done
export UCX_TLS=shm,tcp,self UCX_NET_DEVICES=lo

fail() {
  echo "FAILED: $last: $*" >&2
  exit 1
}
# on NODES WORDS...: hiway run WORDS --nodes on so many nodes, which ends well and prints one JSON object, `out`.
on() {
  local nodes=$1
  shift
  last="on $nodes nodes: $*"
  timeout 120 "$hiway" launch -n "$nodes" -- "$hiway" run "$@" --nodes --device simt --json >out 2>err
  local code=$?
  if grep -q "must be linked with hiway::nodes" err; then
    echo "skipped: the program was built without hiway::nodes"
    exit 77
  fi
  [[ $code -eq 0 ]] || fail "ended with $code: $(cat err)"
  [[ ! -s err ]] || fail "stderr: $(cat err)"
  is 'document["verified"]'
}
# is EXPRESSION: true of `document`, what is printed. It is one object: the other nodes print nothing.
is() {
  python3 - "$1" <<'EOF' || fail "not so: $1: $(head -c 2000 out)"
import json, sys
document = json.load(open("out"))
result = document["result"]
items = {tunnel["name"]: tunnel["items"] for tunnel in document["tunnels"]}
sys.exit(not eval(sys.argv[1]))
EOF
}
# refused TEXT WORDS...: in one line, with 2.
refused() {
  local text=$1
  shift
  last=$*
  "$hiway" run "$@" >out 2>err
  local code=$?
  [[ $code -eq 2 && $(wc -l <err) -eq 1 ]] && grep -qF -- "$text" err || fail "ended with $code: $(cat err)"
}

for nodes in 2 3; do
  # Boards of each node, dealt out before the run or taken by demand; several GPUs of each; several runs.
  on "$nodes" nqueens --n 8 --repeat 3
  is 'result["solutions"] == 92 and sum(result["solutions_of_nodes"]) == 92'
  is "len(result['solutions_of_nodes']) == $nodes and all(result['solutions_of_nodes'])"
  on "$nodes" nqueens --n 8 --feed tunnel --repeat 2
  is 'result["solutions"] == 92'
  on "$nodes" nqueens --n 6 --gpus 2
  is 'result["solutions"] == 4'

  # Each node finds matches in its own part, and node 0 has all alignments.
  on "$nodes" gene-alignment --repeat 3
  is 'len(document["seconds"]) == 3 and 0 < result["coarse_matches"]'
  on "$nodes" gene-alignment --target-length 1024 --query-at 250 --query-length 500 --gpus 2
  is '0 < items["matches 0"] + items["matches 1"] < result["coarse_matches"]'

  # A node's stretch of regions, of ints, and none: there are fewer regions than nodes.
  on "$nodes" region-sum --ints 20000 --region uniform:300 --repeat 2
  on "$nodes" region-sum --ints 100000 --region uniform:300 --feed tunnel --repeat 2
  is '0 < items["pieces"] < 40'
  on "$nodes" region-sum --ints 100 --region 1000
  on "$nodes" region-sum --ints 0
done

# One node: what it says without --nodes.
last="one node"
"$hiway" run nqueens --n 6 --nodes --device simt >out 2>err || fail "$(cat err)"
grep -q "verified" out || fail "$(cat out)"

# Numbers and traces are node 0's, and of the run, not of what it ends with.
last="--stats"
timeout 120 "$hiway" launch -n 2 -- "$hiway" run nqueens --n 6 --nodes --feed tunnel --device simt \
  --stats stats.json --json result.json >out 2>err || fail "$(cat err)"
grep -q '"node 0: boards"' stats.json || fail "stats: $(cat stats.json)"
[[ ! -s out && ! -s err ]] || fail "printed: $(cat out err)"
grep -q '"solutions": 4' result.json || fail "$(cat result.json)"

refused "--nodes goes with --method hiway" nqueens --nodes --method hiway,reference
refused "--nodes goes with --method hiway" gene-alignment --nodes --method baseline
last="stencil --nodes"
"$hiway" run stencil --nodes >out 2>err
[[ $? -eq 2 ]] || fail "$(cat err)"

# What fails on one node ends all: one of them has no room.
last="a node that cannot begin"
# shellcheck disable=SC2016
timeout 60 "$hiway" launch -n 2 -- sh -c '[ $HIWAY_NODE = 1 ] && set -- --max-memory 100; exec "$0" run nqueens --n 8 --nodes --device simt "$@"' \
  "$hiway" >out 2>err
code=$?
[[ $code -ne 0 && $code -ne 124 && ! -s out ]] || fail "ended with $code: $(cat out err)"
grep -q "bytes for queues, 100 are given" err || fail "$(cat err)"
echo passed
