#!/usr/bin/env bash
# cli_test.sh PROGRAM: the program hiway as a user meets it: exit codes, one line for each mistake, JSON, files written whole.
set -uo pipefail
hiway=$(realpath "${1:?the path of the program hiway}")
root=$(realpath "$(dirname "$0")/../..")
export HIWAY_RUN_ON=simt
export HIWAY_STALL_AFTER=off  # beside other work a run may stand for longer than it takes to say so
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# run ARGUMENTS...: leaves the exit code in $code, the streams in out and err.
run() {
  last="hiway $*"
  "$hiway" "$@" >out 2>err </dev/null
  code=$?
}
# good ARGUMENTS...: ends with 0 and says nothing on stderr.
good() {
  run "$@"
  [[ $code -eq 0 ]] || fail "$last: ended with $code: $(cat err)"
  [[ ! -s err ]] || fail "$last: stderr: $(cat err)"
}
# says TEXT: the last run's stdout has TEXT.
says() { grep -qF -- "$1" out || fail "$last: no '$1' in: $(cat out)"; }
# bad TEXT ARGUMENTS...: ends with 2; stderr is one line and has TEXT; stdout is empty; no file came or went.
bad() {
  local text=$1 before
  shift
  rm -f out err
  before=$(ls -A)
  run "$@"
  [[ $code -eq 2 ]] || fail "$last: ended with $code, not 2"
  [[ ! -s out ]] || fail "$last: stdout: $(cat out)"
  [[ $(wc -l <err) -eq 1 ]] || fail "$last: not one line on stderr: $(cat err)"
  grep -qF -- "$text" err || fail "$last: no '$text' in: $(cat err)"
  rm -f out err
  [[ $(ls -A) == "$before" ]] || fail "$last: left something behind: $(ls -A)"
}
# key NAME: the value of a key of the last run's JSON, as one line without blanks.
key() { tr -d ' \n' <out | grep -oE "\"$1\":(\[[^]]*\]|\{[^}]*\}|[^,}]*)" | head -n 1 | cut -d: -f2-; }
# is NAME VALUE
is() { [[ $(key "$1") == "$2" ]] || fail "$last: $1 is $(key "$1"), not $2"; }

# ---- help and lists
for level in "" run "run gene-alignment" "run stencil" "run face-detection" "run evolutionary-program" "run reyes" "run rasterization" "run background-extraction" "run nqueens" "run black-scholes" "run blast" "run region-sum" "run taxi" "run spectrum" "run fir" "run hist" "run aes" "run bs" "run kmeans" "run knn" "run bfs" "run pagerank" "run bst" launch graph "graph gene-alignment" devices list plan report bench; do
  # shellcheck disable=SC2086
  good $level --help
  says "Usage: hiway${level:+ $level}"
done
good run gene-alignment --help
for option in --device --method --repeat --verify --json --seed --target --query --pair --target-length --query-length --query-at --mutate; do
  says "$option"
done
good --version
says "hiway "
good devices
says simt
good list
says gene-alignment
says "hiway, baseline, reference"
good graph gene-alignment
says digraph
says '"coarse" -> "fine"'

# ---- launch
# its CODE TEXT ARGUMENTS...: ends with that code; stderr is one line and has TEXT.
its() {
  local expected=$1 text=$2
  shift 2
  run "$@"
  [[ $code -eq $expected ]] || fail "$last: ended with $code, not $expected"
  [[ $(wc -l <err) -eq 1 ]] && grep -qF -- "$text" err || fail "$last: stderr: $(cat err)"
}
# shellcheck disable=SC2016
good launch -n 3 sh -c 'echo $HIWAY_NODE of $HIWAY_NODES'
[[ $(sort out) == $'0 of 3\n1 of 3\n2 of 3' ]] || fail "$last: $(cat out)"
# What follows the program's name is the program's; -- may stand before it.
for words in "-n 1" "-n1 --" "--nodes=1"; do
  # shellcheck disable=SC2086
  good launch $words echo --help -n 2 -- graph
  [[ $(cat out) == "--help -n 2 -- graph" ]] || fail "$last: $(cat out)"
done
# shellcheck disable=SC2016
echo typed | "$hiway" launch -n 2 sh -c '[ $HIWAY_NODE = 0 ] && sleep 0.3; sed "s/^/$HIWAY_NODE /"' >out 2>err
[[ $(cat out) == "0 typed" ]] || fail "launch cat: node 0 alone reads stdin: $(cat out err)"
its 127 "cannot start 'no-such-program': No such file or directory" launch -n 2 no-such-program
its 127 "cannot start '/': Permission denied" launch -n 2 /
# The first status counts, and ends the others: those that take no notice of SIGTERM two seconds later.
# shellcheck disable=SC2016
its 7 "node 1 ended with 7" launch -n 3 sh -c '[ $HIWAY_NODE = 1 ] && exit 7; exec sleep 1000'
# shellcheck disable=SC2016
its 9 "node 0 ended with 9" launch -n 2 sh -c '[ $HIWAY_NODE = 0 ] && sleep 0.2 && exit 9; trap "" TERM; exec sleep 1000'
# shellcheck disable=SC2016
its 137 "node 0 was ended by signal 9 (Killed)" launch -n 1 sh -c 'kill -KILL $$'
bad "launch needs -n N" launch
bad "launch needs a program" launch -n 2
bad "launch needs a program" launch -n 2 --
bad "-n must be 1 to 1024: 0" launch -n 0 true
bad "-n must be 1 to 1024: -1" launch -n -1 true
bad "--x" launch --x -n 2 true
# A signal reaches the programs. If the launcher is killed, they are gone, too.
for signal in TERM INT KILL; do
  env --default-signal=INT "$hiway" launch -n 2 sh -c 'echo $$ >>pids; trap "exit 3" INT; while :; do sleep 0.05; done' 2>err &
  launcher=$!
  for _ in {1..200}; do [[ $(wc -l 2>/dev/null <pids) -eq 2 ]] && break; sleep 0.05; done
  [[ $signal == INT ]] && sleep 0.2  # its trap is set
  kill -$signal $launcher
  for _ in {1..200}; do kill -0 $launcher 2>/dev/null || break; sleep 0.05; done
  kill -KILL $launcher 2>/dev/null && fail "launch: does not end after SIG$signal"
  wait $launcher 2>/dev/null
  code=$?
  case $signal in TERM) expected=143 ;; INT) expected=3 ;; KILL) expected=137 ;; esac
  [[ $code -eq $expected ]] || fail "launch: ended with $code at SIG$signal, not $expected"
  for _ in {1..100}; do
    alive=0
    while read -r pid; do kill -0 "$pid" 2>/dev/null && alive=1; done <pids
    [[ $alive -eq 0 ]] && break
    sleep 0.05
  done
  if [[ $alive -ne 0 ]]; then
    fail "launch: programs are alive after SIG$signal"
    xargs kill -KILL <pids
  fi
  rm -f pids
done

# ---- runs
good run gene-alignment
says "method hiway, device simt: verified"
for method in hiway paper baseline reference; do
  good run gene-alignment --method $method --json --repeat 2
  is app '"gene-alignment"'
  is method "\"$method\""
  is verified true
  [[ $(key seconds) =~ ^\[[0-9.e-]+,[0-9.e-]+\]$ ]] || fail "$last: seconds is $(key seconds)"
  for name in device items end_detection_us tunnels result machine coarse_matches similarity_sum first matches_checksum; do
    [[ -n $(key $name) ]] || fail "$last: no key $name"
  done
  key result >result.$method
done
[[ $(cat result.hiway) == $(cat result.baseline) && $(cat result.hiway) == $(cat result.reference) ]] || fail "the methods' results differ"
[[ $(cat result.hiway) == $(cat result.paper) ]] || fail "method paper's result differs"
rm -f result.*
good run gene-alignment --method paper --cross all --json
is items 16373
bad "--cross must be matches or all: none" run gene-alignment --cross none

good run gene-alignment --json --method baseline,hiway --device simt
[[ $(head -c 1 out) == "[" && $(grep -c '"method"' out) -eq 2 ]] || fail "$last: not an array of two objects: $(cat out)"
good run gene-alignment --json - --verify off
is verified false
good run gene-alignment --verify off
says "not compared"
good run gene-alignment --json --seed 7
one=$(key matches_checksum)
good run gene-alignment --json --seed 7
is matches_checksum "$one"
good run gene-alignment --json --seed 8
[[ $(key matches_checksum) != "$one" ]] || fail "the seed changes nothing"

# The stencil: every method the same values; each region crosses once.
for method in hiway baseline reference; do
  good run stencil --method $method --json --width 100 --height 60 --region 16 --frames 4
  is verified true
  key checksum >result.$method
done
cmp -s result.hiway result.reference && cmp -s result.baseline result.reference || fail "the stencil's methods differ"
rm -f result.*
good run stencil --json --width 100 --height 60 --region 16 --frames 4 --iterations 2
is copies_per_value 1.0
is region_copies 112
is first_task_before_last_set true
good run stencil
says "method hiway, device simt: verified"
# Passes dealt out over emulated devices: more passes than devices, and fewer.
good run stencil --device simt --gpus 2 --json --width 100 --height 60 --region 16 --frames 4 --iterations 5
is verified true
is bytes_between_gpus 96000
run run stencil --device simt --gpus 3 --width 40 --height 30
says "method hiway, device simt: verified"
grep -qF "note: --gpus 3: each pass runs on one, so 1 will do" err || fail "$last: no note: $(cat err)"
bad "--gpus must be 1 to 64: 0" run stencil --gpus 0
bad "--region must not be larger than the matrix: 9,3" run stencil --width 8 --height 8 --region 9,3
bad "--iterations must be 1 to 32: 33" run stencil --iterations 33
bad "--width must be 1 to 1048576: 0" run stencil --width 0

# Faces: a picture of one bright window in the dark, and a cascade that takes any window whose first cell is not brighter than
# its middle.
printf 'P5 6 6 255\n' >dark.pgm
head -c 36 /dev/zero >>dark.pgm
cat >any.xml <<'XML'
<?xml version="1.0"?>
<opencv_storage><cascade type_id="opencv-cascade-classifier"><stageType>BOOST</stageType><featureType>LBP</featureType>
<height>3</height><width>3</width><stageParams><maxDepth>1</maxDepth></stageParams>
<featureParams><maxCatCount>256</maxCatCount></featureParams><stageNum>1</stageNum>
<stages><_><maxWeakCount>1</maxWeakCount><stageThreshold>0.5</stageThreshold><weakClassifiers><_>
<internalNodes>0 -1 0 -1 -1 -1 -1 -1 -1 -1 -1</internalNodes><leafValues>1. 0.</leafValues></_></weakClassifiers></_></stages>
<features><_><rect>0 0 1 1</rect></_></features></cascade></opencv_storage>
XML
for method in hiway baseline reference; do
  good run face-detection --method $method --image dark.pgm --cascade any.xml --scale-factor 1.5 --min-neighbours 1 --json
  is verified true
  key raw_rectangles >result.$method
  key rectangles >>result.$method
done
cmp -s result.hiway result.reference && cmp -s result.baseline result.reference || fail "face detection's methods differ"
rm -f result.*
good run face-detection --image dark.pgm --cascade any.xml --placement cpu --out faces.png
says "method hiway, device cpu: verified"
[[ $(head -c 4 faces.png | tail -c 3) == PNG ]] || fail "no picture"
rm -f faces.png
good run face-detection --image dark.pgm --cascade any.xml --placement lbp-on-cpu --method hiway,baseline
good run face-detection --image dark.pgm --cascade any.xml --placement lbp-on-cpu --stop-after lbp --json
is verified true
tr -d ' \n' <out | grep -qE '"tunnel_items":{[^}]*"candidates":0[,}]' || fail "$last: candidates went on: $(cat out)"
good run face-detection --image dark.pgm --cascade any.xml
for tunnel in pieces levels tiles matrix areas tested; do
  grep -qE "tunnel_items.*\"$tunnel\":[1-9]" out || fail "$last: no items of tunnel $tunnel: $(cat out)"
done
if ldd "$hiway" | grep -qi opencv; then fail "the program links OpenCV"; fi
good run face-detection --json
is verified true
tr -d ' \n' <out | grep -qF '"rectangles":[[45,41,99,99]]' || fail "$last: not the face that is there: $(cat out)"
good run face-detection --image dark.pgm --scale-factor 1.5 --method reference --cascade any.xml
bad "dark.pgm: smaller than the cascade's window: 6 x 6, 24 x 24" run face-detection --image dark.pgm
bad "--stop-after: lbp, not grouping" run face-detection --image dark.pgm --cascade any.xml --stop-after grouping
bad "--stop-after lbp: of --placement lbp-on-cpu or cpu" run face-detection --image dark.pgm --cascade any.xml --stop-after lbp
bad "--blocks must be 0 to 65536: -1" run face-detection --blocks -1
bad "--placement: paper, lbp-on-cpu or cpu, not gpu" run face-detection --image dark.pgm --cascade any.xml --placement gpu
bad "any.xml: neither a binary PGM" run face-detection --image any.xml --cascade any.xml
bad "dark.pgm: line 1: not XML" run face-detection --image dark.pgm --cascade dark.pgm
head -c 30 dark.pgm >cut.pgm
bad "cut.pgm: " run face-detection --image cut.pgm --cascade any.xml
printf 'P5 2 2 255\nabcd' >small.pgm
bad "small.pgm: smaller than the cascade's window: 2 x 2, 3 x 3" run face-detection --image small.pgm --cascade any.xml
sed 's/LBP/HAAR/' any.xml >haar.xml
bad "haar.xml: " run face-detection --image dark.pgm --cascade haar.xml
rm -f dark.pgm any.xml cut.pgm small.pgm haar.xml

# Creatures: every method the same.
for method in hiway baseline reference; do
  good run evolutionary-program --method $method --json --population 40 --generations 2
  is verified true
  key island_hash >result.$method
done
cmp -s result.hiway result.reference && cmp -s result.baseline result.reference || fail "the evolutionary program's methods differ"
rm -f result.*
good run evolutionary-program
says "method hiway, device simt: verified"
bad "--population must be even, 20 to 65536: 21" run evolutionary-program --population 21
bad "--population must be even, 20 to 65536: 18" run evolutionary-program --population 18
bad "--generations must be 1 to 1048576: 0" run evolutionary-program --generations 0
good run evolutionary-program --compute off --method hiway,baseline
good run reyes --method baseline --pinned
good run reyes --method baseline --split cpu --pinned
bad "--compute: on or off, not maybe" run evolutionary-program --compute maybe

# Pictures: every method the same, of a cube and of a model from a file.
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 2 3 4\n' >corner.obj
for model in "" "--obj corner.obj"; do
  for method in hiway baseline kernels reference; do
    # shellcheck disable=SC2086
    good run rasterization --method $method --json --pictures 3 --width 70 --height 50 $model
    is verified true
    is pictures 3
    [[ $method == reference || $(key tiles) -gt 0 ]] || fail "$last: no tiles: $(cat out)"
    [[ $(key triangles) -gt 8 && $(key covered_pixels) -gt 100 ]] || fail "$last: nothing is drawn: $(cat out)"
    { key triangles && key covered_pixels && key image_checksum; } >result.$method
  done
  for method in hiway baseline kernels; do
    cmp -s result.$method result.reference || fail "rasterization by $method differs, model '$model'"
  done
done
rm -f result.*
good run rasterization --out cube.png
says "method hiway, device simt: verified"
[[ $(head -c 4 cube.png | tail -c 3) == PNG ]] || fail "no picture"
good run rasterization --method kernels,baseline --kernels-only --pictures 2 --width 9 --height 3 --out cube.ppm
[[ $(head -c 2 cube.ppm) == P6 ]] || fail "no picture"
rm -f cube.png cube.ppm
bad "--kernels-only: --method baseline, kernels, not hiway" run rasterization --kernels-only
bad "--width must be 1 to 16384: 0" run rasterization --width 0
bad "--height must be 1 to 16384: 16385" run rasterization --height 16385
bad "--pictures must be 1 to 65536: 0" run rasterization --pictures 0
bad "--pictures: depth buffers of 5.9 GiB, 8 bytes a pixel; at most 4.0 GiB" run rasterization --pictures 1000 --width 1024 --height 768
bad "--out: a name that ends in .png or .ppm, not cube.jpg" run rasterization --out cube.jpg
bad "nowhere/cube.png: " run rasterization --out nowhere/cube.png
bad "none.obj: cannot be opened: No such file or directory" run rasterization --obj none.obj
echo 'f 1 2 3' >>corner.obj
echo 'f 1 2 5' >>corner.obj
bad "corner.obj: line 9: point 5 of 4 so far" run rasterization --obj corner.obj
rm -f corner.obj
# Curved surfaces: every method the same pictures, of the teapot and of a patch from a file, in either form.
{ echo BBP; for i in {0..15}; do echo "$((i % 4)) $((i * i % 3)) $((i / 4))"; done; } >sheet.bez
for patches in "" "--patches sheet.bez"; do
  for method in hiway "hiway --form stages" "hiway --split cpu" "hiway --split cpu --form stages" baseline "baseline --canvases 1" "baseline --kernels-only" "baseline --split cpu" reference; do
    # shellcheck disable=SC2086
    good run reyes --method $method --json --pictures 2 --width 70 --height 50 $patches
    is verified true
    is pictures 2
    [[ $(key split) -gt 50 && $(key dice) -gt 20 && $(key shade) -gt 200 ]] || fail "$last: nothing is drawn: $(cat out)"
    { key split && key dice && key shade && key image_checksum; } >result
    [[ $method != hiway ]] || cp result result.first
    cmp -s result result.first || fail "$last: not as by hiway: $(cat result)"
  done
done
rm -f result result.first
good run reyes --out teapot.png
says "method hiway, device simt: verified"
[[ $(head -c 4 teapot.png | tail -c 3) == PNG ]] || fail "no picture"
good run reyes --method baseline --width 9 --height 3 --out teapot.ppm
[[ $(head -c 2 teapot.ppm) == P6 ]] || fail "no picture"
rm -f teapot.png teapot.ppm
good graph reyes
says '"shade" -> "resolve"'
bad "--kernels-only: of method baseline, not hiway" run reyes --kernels-only
bad "--kernels-only: with --split gpu, not cpu" run reyes --method baseline --split cpu --kernels-only
bad "--canvases must be 1 to 16: 0" run reyes --canvases 0
bad "--canvases must be 1 to 16: 17" run reyes --canvases 17
bad "--form: group or stages, not both" run reyes --form both
bad "--split: gpu or cpu, not both" run reyes --split both
bad "--blocks must be 0 to 65536: 65537" run reyes --blocks 65537
bad "--collectors must be 0 to 64: -1" run reyes --collectors -1
bad "--collectors must be 0 to 64: 65" run reyes --collectors 65
bad "--width must be 1 to 16384: 0" run reyes --width 0
bad "--width must be 1 to 16384: 16385" run reyes --width 16385
bad "--height must be 1 to 16384: 0" run reyes --height 0
bad "--height must be 1 to 16384: 16385" run reyes --height 16385
bad "--pictures must be 1 to 100000: 0" run reyes --pictures 0
bad "--pictures: depth buffers of 18432 MiB on the device, at most 4096 MiB; the CPU needs as much for pictures" run reyes --pictures 9 --width 16384 --height 16384
bad "--out: a name that ends in .png or .ppm, not teapot.jpg" run reyes --out teapot.jpg
bad "nowhere/teapot.png: " run reyes --out nowhere/teapot.png
bad "none.bez: cannot be opened: No such file or directory" run reyes --patches none.bez
{ echo BBP; for i in {1..168}; do echo "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"; done; } >dots.bez
bad "--pictures: 100000 pictures of 168 patches, at most 16777216 patches in all" run reyes --pictures 100000 --width 1 --height 1 --patches dots.bez
echo "1 2 x" >>sheet.bez
bad "sheet.bez: line 18: not a number: 'x'" run reyes --patches sheet.bez
rm -f sheet.bez dots.bez
# BLAST: every method the same hits, also of files; as TSV, in order.
printf '>d\nACGTTCGGTCAGG\nACGTTCGGTCAA\n' >database.fa
printf '>q\nACGTTCGGTCA\n' >query.fa
for input in "" "--bases 300000 --query-bases 3000 --stride 1" "--database database.fa --query query.fa --stride 1"; do
  for method in hiway baseline reference "hiway --merged --counters" "hiway --feed tunnel" "hiway --replicas block"; do
    # shellcheck disable=SC2086
    good run blast --method $method --json $input
    is verified true
    [[ $(key hits) -gt 7 && $(key hits) == $(key kept_exact) && $(key positions) -ge $(key seeds_found) ]] || fail "$last: $(key result)"
    { key hits && key hits_checksum; } >result
    [[ -e result.first ]] || cp result result.first
    cmp -s result result.first || fail "$last: the methods differ: $(cat result result.first)"
  done
  rm -f result.first
done
rm -f result.*
good run blast --database database.fa --query query.fa --tsv hits.tsv --json
is hits 2
good run blast --database database.fa --query query.fa --tsv - --json hits.json
cmp -s out hits.tsv || fail "$last: the hits differ: $(cat out hits.tsv)"
[[ $(cat out) == $'database_position\tquery_position\tscore\n0\t0\t3\n16\t3\t3' ]] || fail "$last: $(cat out)"
good run blast --verify off --json
[[ -z $(key seeds_found) ]] || fail "$last: counts that nobody made"
rm -f hits.tsv hits.json
bad "--stride must be 1 or 4: 2" run blast --stride 2
bad "--bases must be 1 to 2000000000: 0" run blast --bases 0
bad "--query-bases must be 1 to 1000000: -1" run blast --query-bases -1
bad "--database needs --query" run blast --database database.fa
bad "--database and --bases exclude each other" run blast --database database.fa --query query.fa --bases 9
bad "--feed: buffer or tunnel, not file" run blast --feed file
for option in --merged --ensembles --counters "--feed tunnel"; do
  # shellcheck disable=SC2086
  bad "--merged, --ensembles, --counters, --feed tunnel: of method hiway, not baseline" run blast --method baseline $option
done
bad "--merged, --ensembles, --counters and --replicas go with --feed buffer" run blast --feed tunnel --merged
bad "--ensembles goes with replicas of a warp, without --counters" run blast --ensembles --counters
bad "--replicas: warp or block, not grid" run blast --replicas grid
good graph blast
says "digraph pipeline"
bad "nowhere/hits.tsv: " run blast --tsv nowhere/hits.tsv
bad "none.fa: cannot be opened: No such file or directory" run blast --query none.fa
printf '>q\nAAAAAAAAAAAAAAAAAAAAAAAA\n' >query.fa
bad "the query has the word AAAAAAAA 17 times; at most 16" run blast --query query.fa
rm -f database.fa query.fa
# Region sums: every method the same ones.
for input in "" "--ints 0" "--ints 70001 --region 1" "--region uniform:77" "--region 100000"; do
  for method in hiway "hiway --context dense --replicas block" "hiway --counters" baseline reference; do
    # shellcheck disable=SC2086
    good run region-sum --method $method --json $input
    is verified true
    { key regions && key total && key sums_checksum; } >result
    [[ $method != hiway ]] || cp result result.first
    cmp -s result result.first || fail "$last: the methods differ: $(cat result result.first)"
  done
done
rm -f result result.first
good run region-sum --ints 300 --region 128 --json
is regions 3
is items 300
good run region-sum --seed 2 --ints 300 --json
[[ $(key total) != "$(good run region-sum --ints 300 --json && key total)" ]] || fail "the seed changes nothing"
good run region-sum
says "method hiway, device simt: verified"
bad "--ints must be 0 to 2147483648: 2147483649" run region-sum --ints 2147483649
bad "--ints must be 0 to 2147483648: -1" run region-sum --ints -1
bad "--region must be K or uniform:MAX, of 1 to 2147483648 ints: uniform:0" run region-sum --region uniform:0
good run region-sum --ints 300 --context lane --json
is contexts '{"sum":"lane"}'
good run region-sum --ints 300 --counters --replicas block
says "  lanes               128"
bad "--context: sparse, dense, lane or automatic, not wide" run region-sum --context wide
bad "--replicas: warp or block, not grid" run region-sum --replicas grid
good run region-sum --ints 300 --region 128 --feed tunnel --json
is verified true
is contexts '{"open":"sparse","sum":"lane"}'
bad "--feed: buffer or tunnel, not file" run region-sum --feed file
bad "--counters and --replicas block go with --feed buffer" run region-sum --feed tunnel --counters
bad "--method cub: for a GPU, by a program that was built with CUDA; the device is simt" run region-sum --method cub --device simt
bad "--counters, --feed tunnel: of method hiway, not baseline" run region-sum --counters --method baseline
bad "--counters, --feed tunnel: of method hiway, not reference" run region-sum --feed tunnel --method reference
good graph region-sum
says "digraph pipeline"
# Taxi: every method the same pairs, also of a file with broken lines, returns and no newline at its end.
printf 'a,b,c,d,e,f,g,h,POLYLINE\r\n1,2,3,4,5,6,7,8,"[[-8.60,41.1],[-0.5,7]]"\r\n\r\n1,2,3,4,5,6,7,8,[]\r\n1,2,3,4,5,6,7,8,"[[1,2],[x,3]]"\r\n,,,,,,,,"[[3,4]]"' >trips.csv
for input in "" "--lines 0" "--lines 50 --seed 2" "--input trips.csv"; do
  for method in hiway "hiway --context dense --replicas block" "hiway --counters" "hiway --feed tunnel" baseline reference; do
    # shellcheck disable=SC2086
    good run taxi --method $method --json $input
    is verified true
    { key lines && key pairs && key broken_lines && key pairs_checksum; } >result
    [[ $method != hiway ]] || cp result result.first
    cmp -s result result.first || fail "$last: the methods differ: $(cat result result.first)"
  done
done
rm -f result result.first
is lines 5
is pairs 3
is items 3
is broken_lines 2
is broken '[{"line":3,"reason":"fieldsmustbe9:1"},{"line":5,"reason":"pair2:thelongitudeisnocoordinate"}]'
good run taxi --input trips.csv --output places.csv
says "pair 2: the longitude is no coordinate"
good run taxi --input trips.csv --output - --json places.json
cmp -s out places.csv || fail "$last: the pairs differ: $(cat out places.csv)"
[[ $(cat out) == $'2,41.1,-8.60\n2,7,-0.5\n6,4,3' ]] || fail "$last: $(cat out)"
rm -f places.csv places.json
good run taxi --lines 5 --json --seed 2
[[ $(key pairs_checksum) != "$(good run taxi --lines 5 --json && key pairs_checksum)" ]] || fail "$last: the seed changes nothing"
good run taxi
says "method hiway, device simt: verified"
bad "--lines must be 0 to 3000000: -1" run taxi --lines -1
bad "--input and --lines exclude each other" run taxi --lines 5 --input trips.csv
bad "none.csv: cannot be opened: No such file or directory" run taxi --input none.csv
bad "nowhere/places.csv: " run taxi --output nowhere/places.csv
echo "1,2" >trips.csv
bad "trips.csv: line 1: not a header of 9 fields, the last of them POLYLINE" run taxi --input trips.csv
rm -f trips.csv
good run taxi --lines 5 --context lane --json
is contexts '{"read":"lane"}'
good run taxi --lines 5 --counters --replicas block
says "  lanes               128"
bad "--context: sparse, dense, lane or automatic, not wide" run taxi --context wide
bad "--replicas: warp or block, not grid" run taxi --replicas grid
bad "--feed: buffer or tunnel, not file" run taxi --feed file
bad "--counters and --replicas block go with --feed buffer" run taxi --feed tunnel --replicas block
bad "--method cub: for a GPU, by a program that was built with CUDA; the device is simt" run region-sum --method cub --device simt
bad "--counters, --feed tunnel: of method hiway, not baseline" run taxi --counters --method baseline
bad "--counters, --feed tunnel: of method hiway, not reference" run taxi --feed tunnel --method reference
good graph taxi
says "digraph pipeline"
# Background: every method the same foregrounds; of a folder the one that can be seen, two bytes of three.
for method in hiway baseline reference; do
  good run background-extraction --method $method --json --width 101 --height 67 --frames 5
  is verified true
  is frames 5
  key foreground_bytes >result.$method
  key foreground_hash >>result.$method
done
cmp -s result.hiway result.reference && cmp -s result.baseline result.reference || fail "background extraction's methods differ"
[[ $(head -n 1 result.hiway) -gt 0 ]] || fail "nothing moves"
rm -f result.*
good run background-extraction
says "method hiway, device simt: verified"
good graph background-extraction
says '"feed" -> "extract"'
mkdir frames
printf 'P6 1 1 255\nAAA' >frames/1.ppm
printf 'P6 1 1 255\nzAz' >frames/2.ppm
good run background-extraction --frames-from frames --out moved.ppm --json
is verified true
is foreground_bytes 2
[[ $(tail -c 3 moved.ppm | od -An -tx1 | tr -d ' ') == 7a007a ]] || fail "$last: $(od -c moved.ppm)"
rm -f moved.ppm
bad "--frames-from and --width exclude each other" run background-extraction --frames-from frames --width 4
bad "nowhere/moved.ppm: cannot be written: No such file or directory" run background-extraction --out nowhere/moved.ppm
bad "--out: one frame alone has no foreground" run background-extraction --frames 1 --out moved.ppm
printf 'P5 1 1 255\nz' >frames/3.pgm
bad "frames/3.pgm: 1 x 1, grey, not 1 x 1, in colours like 1.ppm" run background-extraction --frames-from frames
printf 'P6 1 1 255\nz' >frames/2.ppm
bad "frames/2.ppm: cut short: 1 bytes of pixels, not 3" run background-extraction --frames-from frames
rm -rf frames
bad "frames: cannot be read: No such file or directory" run background-extraction --frames-from frames
bad "--frames-from: the folder's name is empty" run background-extraction --frames-from ""
bad "--width must be 1 to 65536: 0" run background-extraction --width 0
bad "--height" run background-extraction --height -1
bad "would need 4920.0 GiB of memory" run background-extraction --width 65536 --height 65536 --frames 205

# Breadth-first search: every method the same levels, of made graphs and of a file.
printf 'c\np sp 4 4\na 1 2 7\na 2 3 7\na 1 3 7\na 3 1 7\n' >streets.gr
for input in "" "--graph road --width 31 --height 9 --source 5" "--graph power-law --scale 7 --edge-factor 4" "--graph streets.gr --source 1"; do
  for method in hiway "hiway --grouping none" "hiway --grouping block --piece 2 --blocks 1 --threads 96 --capacity 8" baseline reference; do
    # shellcheck disable=SC2086
    good run bfs --method $method --json $input
    is verified true
    [[ $(key followed_edges) -ge $(key reached_edges) && $(key puts) -gt 0 ]] || fail "$last: $(key result)"
    { key reached && key reached_edges && key depth && key levels_hash; } >result
    [[ $method != hiway ]] || cp result result.first
    cmp -s result result.first || fail "$last: the methods differ: $(cat result result.first)"
  done
done
rm -f result result.first
is vertices 4
is reached 3
is depth 2
good run bfs
says "method hiway, device simt: verified"
good graph bfs
says '"relax" -> "relax"'
bad "none.gr: cannot be opened: No such file or directory" run bfs --graph none.gr
bad "--source must be 0 to 3: 4" run bfs --graph streets.gr --source 4
echo "a 1 5 7" >>streets.gr
bad "streets.gr: line 7: more than 4 edges" run bfs --graph streets.gr
rm -f streets.gr
bad "--width must be 1 to 16384: 0" run bfs --width 0
bad "--height must be 1 to 16384: 16385" run bfs --height 16385
bad "--scale must be 1 to 25: 26" run bfs --scale 26
bad "--edge-factor must be 1 to 64: 0" run bfs --edge-factor 0
bad "--edge-factor: 2^25 vertices have at most 32 edges each, not 33" run bfs --scale 25 --edge-factor 33
bad "--piece must be 1 to 1048576: 0" run bfs --piece 0
bad "--blocks must be 0 to 65536: 65537" run bfs --blocks 65537
bad "--threads must be a multiple of 32: 33" run bfs --threads 33
bad "--threads must be 0 to 1024: 1056" run bfs --threads 1056
bad "--capacity must be 0 to 16777216: 16777217" run bfs --capacity 16777217
bad "--grouping: automatic, none, warp, block or block_scan, not grid" run bfs --grouping grid

# PageRank: every method the same ranks, of matrices that are made and of a file.
printf '4 3\n0 2 3 4\n1 2 2 0\n1 0.5 0.5 1\n' >three.data
for input in "" "--nodes 50 --connections 30 --rounds 9" "--nodes 1 --connections 1 --rounds 1" "--input three.data --rounds 2"; do
  for method in hiway "hiway --blocks 3 --threads 32 --lanes 4" "baseline --lanes 32" "baseline --pinned" reference; do
    # shellcheck disable=SC2086
    good run pagerank --method $method --json $input
    is verified true
    { key nodes && key connections && key rounds && key highest_node; } >result
    [[ $method != hiway ]] || cp result result.first
    cmp -s result result.first || fail "$last: the methods differ: $(cat result result.first)"
  done
done
rm -f result result.first
is nodes 3
is highest_node 2
is highest_rank 0.5
good run pagerank
says "method hiway, device simt: verified"
good graph pagerank
says '"iterate" -> "collect"'
bad "none.data: cannot be opened: No such file or directory" run pagerank --input none.data
bad "--input excludes --nodes and --connections" run pagerank --input three.data --nodes 3
echo "4 3 0 2 3" >three.data
bad "three.data: number 6, the first entry of a node: cut short" run pagerank --input three.data
rm -f three.data
bad "--nodes must be 1 to 1048576: 0" run pagerank --nodes 0
bad "--connections must be 1 to 268435: 268436" run pagerank --nodes 1000 --connections 268436
bad "--rounds must be 1 to 100000: 0" run pagerank --rounds 0
bad "--lanes must be 1, 2, 4, 8, 16 or 32: 3" run pagerank --lanes 3
bad "--lanes must be 1, 2, 4, 8, 16 or 32: 64" run pagerank --lanes 64
bad "--blocks must be 0 to 1024: 1025" run pagerank --blocks 1025
bad "--threads must be a multiple of 32: 33" run pagerank --threads 33
bad "--threads must be 0 to 1024: 1056" run pagerank --threads 1056

# Search trees: every method the same keys in order.
for input in "" "--keys 777 --initial 1 --cpu-percent 0" "--keys 500 --cpu-percent 100 --seed 3" "--keys 0 --initial 5"; do
  for method in hiway "hiway --blocks 1 --threads 96 --pinned" baseline "baseline --pinned" reference; do
    # shellcheck disable=SC2086
    good run bst --method $method --json $input
    is verified true
    is is_search_tree true
    { key nodes && key by_cpu && key by_gpu && key keys_hash; } >result
    [[ $method != hiway ]] || cp result result.first
    cmp -s result result.first || fail "$last: the methods differ: $(cat result result.first)"
  done
done
rm -f result result.first
is nodes 5
is by_gpu 0
good run bst
says "method hiway, device simt: verified"
good graph bst
says '"send" -> "insert"'
bad "--method managed: for a GPU, by a program that was built with CUDA; the device is simt" run bst --method managed
bad "--keys must be 0 to 33554432: 33554433" run bst --keys 33554433
bad "--initial must be 1 to 33554432: 0" run bst --initial 0
bad "--cpu-percent must be 0 to 100: 101" run bst --cpu-percent 101
bad "--blocks must be 0 to 65536: 65537" run bst --blocks 65537
bad "--threads must be a multiple of 32: 33" run bst --threads 33
bad "--threads must be 0 to 1024: 1056" run bst --threads 1056

# Queens: every method the known number, and what the reference counts in each row.
for method in hiway baseline reference; do
  good run nqueens --method $method --json --n 6 --cpu-rows 2
  is verified true
  is solutions 4
done
is boards '[1,6,20,36,46,40,4]'
good run nqueens
says "method hiway, device simt: verified"
good run nqueens --n 4 --cpu-rows 3 --json
is solutions 2
good run nqueens --n 8 --interruptible 4 --queue-memory 1MiB --max-memory 1MiB --replicas warp --replica-count 1 --counters
says "row 4 "
# About one board comes of one, though many may. What is advised follows from the numbers of boards, which are known.
few="--n 8 --interruptible none --queue-memory 16KiB --replica-count 1 --counters"
# shellcheck disable=SC2086
good run nqueens $few
says "  advice              for queues of 16384 bytes"
says "row 5: most of its queue is for items that seldom come"
says "make row 6 interruptible: frees "
if grep -q "merge\|stays" out; then fail "$last: $(cat out)"; fi
# shellcheck disable=SC2086
good run nqueens $few --json
is budget_bytes 16384
is pessimistic '["row5","row6","row7"]'
is node '"row6"'
[[ $(key freed_bytes) -ge 10000 && $(key freed_bytes) -le 16384 ]] || fail "$last: $(key freed_bytes)"
is merge '[]'
is bloat_bytes_left 0
good run nqueens --n 8 --queue-memory 1KiB --max-memory 1MiB --replica-count 1 --counters
says "for queues of 1024 bytes"
says "bloat that stays: "
good run nqueens --n 8 --max-memory 1MiB --replica-count 1 --counters
says "for queues of 1048576 bytes: none"
good run nqueens --n 8 --feed tunnel --replicas block
says "  lanes               128"
bad "--counters and --refill go with --feed buffer" run nqueens --counters --feed tunnel
bad "--refill: lanes, ensembles or by-hand, not threads" run nqueens --refill threads
bad "bytes for queues, 100 are given" run nqueens --max-memory 100
bad "--n must be 4 to 20: 3" run nqueens --n 3
bad "--n must be 4 to 20: 21" run nqueens --n 21
bad "--cpu-rows must be 0 to 3 with 4 queens: 4" run nqueens --n 4 --cpu-rows 4
bad "--cpu-rows must be 0 to 6 with 20 queens: 7" run nqueens --n 20 --cpu-rows 7
bad "--cpu-rows" run nqueens --cpu-rows -1
bad "--interruptible must be none, all, or 0 to 4, a node for each row on the GPU: 5" run nqueens --n 8 --interruptible 5
bad "--interruptible must be none, all, or 0 to 4, a node for each row on the GPU: 4x" run nqueens --n 8 --interruptible 4x
bad "--queue-memory must be bytes, or a number with" run nqueens --queue-memory 1.5
bad "--max-memory must be more than nothing: 0" run nqueens --max-memory 0
bad "--queue-memory is more than --max-memory: 2KiB, 2kB" run nqueens --queue-memory 2KiB --max-memory 2kB
bad "--replicas: warp or block, not grid" run nqueens --replicas grid
bad "--replica-count must be 0 to 65536: 65537" run nqueens --replica-count 65537
bad "--feed: buffer or tunnel, not pipe" run nqueens --feed pipe
good graph nqueens
says "digraph pipeline"

# Options: every method lets the same ones pass; so do all topologies of a kind.
for kind in "DiffType SameType SelfLoop Merged" "4-way-Same 4-way-Diff 4-way-Staged"; do
  for topology in $kind; do
    for method in hiway "hiway --replicas block" "hiway --counters" baseline reference; do
      # shellcheck disable=SC2086
      good run black-scholes --method $method --json --items 1009 --iterations 3 --topology $topology
      is verified true
      is topology "\"$topology\""
      { key count && key checksum; } >result
      [[ -e result.first ]] || cp result result.first
      cmp -s result result.first || fail "$last: not as the others: $(cat result)"
    done
  done
  [[ $(head -n 1 result) -gt 0 && $(head -n 1 result) -lt 1009 ]] || fail "$last: $(cat result)"
  rm -f result result.first
done
good run black-scholes
says "method hiway, device simt: verified"
good run black-scholes --rate 0 --items 1024 --counters
says "merge stage 1 into stage 0: saves 2 ns for each item of the root"
says "merge stage 4 into stage 3: "
good run black-scholes --topology 4-way-Staged --rate 0 --items 1024 --counters
if grep -q "merge" out; then fail "$last: each way takes half, so merged lanes would be idle: $(cat out)"; fi
good run black-scholes --rate 0 --items 1024 --counters --json
is lanes_of_replicas '[1.0,1.0,1.0,1.0,1.0]'
mv out full.json
good run black-scholes --items 1024 --counters
if grep -q "merge" out; then fail "$last: half of the options are dropped, so merged lanes would be idle: $(cat out)"; fi

# Charts: for each node how full its lanes were; and the one that the documents show is drawn again.
python3 "$root/scripts/chart" full.json full.svg || fail "chart: $(cat full.json)"
for stage in 0 1 2 3 4; do
  for bar in "lanes that put" "full ensembles"; do
    grep -qF "<title>stage $stage, $bar: 100.0%</title>" full.svg || fail "chart: stage $stage, $bar: $(cat full.svg)"
  done
done
good run black-scholes --items 1024 --method reference,hiway --counters --json
mv out half.json
python3 "$root/scripts/chart" half.json half.svg || fail "chart: $(cat half.json)"
grep -qE "<title>stage 4, lanes that put: [1-9][0-9]?\.[0-9]%" half.svg || fail "chart: $(cat half.svg)"
good run nqueens --json
if python3 "$root/scripts/chart" out none.svg 2>err; then fail "chart: drew what was not counted"; fi
grep -q "what a segment's nodes did" err || fail "chart: $(cat err)"
python3 "$root/scripts/chart" "$root/bench/results/paper_h200.json" paper.svg
cmp -s paper.svg "$root/docs/images/paper.svg" || fail "chart: the breakdown is not as docs/images/paper.svg"
rm -f full.json full.svg half.json half.svg paper.svg

good run black-scholes --feed tunnel
says "method hiway, device simt: verified"
bad "--feed tunnel goes with DiffType" run black-scholes --feed tunnel --topology Merged
bad "--replicas: warp or block, not grid" run black-scholes --replicas grid
good run black-scholes --rate 0 --items 33 --json --repeat 2
is count 33
good run black-scholes --rate 1 --items 33 --json
is count 0
good run black-scholes --items 0 --json
is count 0
good run black-scholes --items 33 --json --seed 7
is verified true
bad "--items must be 0 to 16777216: 16777217" run black-scholes --items 16777217
bad "--iterations must be 1 to 1000000: 0" run black-scholes --iterations 0
bad "--rate must be 0 to 1: 1.5" run black-scholes --rate 1.5
bad "--rate must be 0 to 1: nan" run black-scholes --rate nan
bad "--topology: one of DiffType, SameType, SelfLoop, Merged, 4-way-Same, 4-way-Diff, 4-way-Staged, not Ring" run black-scholes --topology Ring
good graph black-scholes

# Tones in spectra.
for method in hiway reference; do
  good run spectrum --method $method --packets 100 --json
  is hits 9
done
good run spectrum --packets 0 --json
is hits 0
bad "--packets must be 0 to 4294967296: 4294967297" run spectrum --packets 4294967297
bad "--threads must be 0 to 1024: 1025" run spectrum --threads 1025
bad "--method baseline: for a GPU, by a program that was built with CUDA and cuFFT; the device is simt" run spectrum --method baseline --device simt
good graph spectrum
says "digraph pipeline"

# Arrays that travel. An image of three pixels, two of which have colour 2.
printf '\2\0\0\0\0\0\0\0\2\0\0\0' >image
for method in hiway baseline reference; do
  good run hist --method $method --input image --colours 3 --json
  is verified true
  is most_frequent '{"colour":2,"pixels":2}'
done
bad "image: pixel 0 is 2, and there are 2 colours" run hist --input image --colours 2
bad "--input and --pixels exclude each other" run hist --input image --pixels 3
printf '\2\0\0\0\0' >image
bad "image: its last pixel is cut short: 5 bytes, 4 a pixel" run hist --input image
: >image
bad "image: empty" run hist --input image
rm -f image
bad "image: cannot be opened: No such file or directory" run hist --input image
bad "--input: the file's name is empty" run hist --input ""
bad "--pixels must be 1 to 1073741824: 0" run hist --pixels 0
bad "--colours must be 1 to 256: 257" run hist --colours 257
bad "--feeders must be 0 to 1024: 1025" run hist --feeders 1025
bad "--batch must be 0 to 4096: 4097" run hist --batch 4097
bad "--least-batch must be 1 to 4096: 0" run hist --least-batch 0
bad "--in-flight must be 1 to 64: 65" run hist --in-flight 65
good run hist
says "method hiway, device simt: verified"
good graph hist
says '"feed" -> "count"'
for method in hiway baseline reference; do
  good run fir --method $method --blocks 3 --block-samples 1000 --taps 5 --seed 2 --json
  is verified true
  is samples 3000
  [[ $method == hiway ]] && hash=$(key filtered_hash)
  is filtered_hash "$hash"
done
good run fir --pinned --method baseline --takers 3 --least-batch 2
says "method baseline, device simt: verified"
bad "--method cuda: for a GPU, by a program that was built with CUDA; the device is simt" run fir --method cuda
bad "--blocks must be 1 to 1048576: 0" run fir --blocks 0
bad "--block-samples must be 1 to 1048576: 0" run fir --block-samples 0
bad "--taps must be 1 to 64: 65" run fir --taps 65
bad "--blocks and --block-samples: at most 268435456 samples together, not 1073741824" run fir --blocks 1048576
bad "--takers must be 0 to 1024: 1025" run fir --takers 1025
good graph fir
says '"feed" -> "filter"'
# Points in clusters: two, of four points.
printf '0 0\n1 10\n2 1\n3 9\n' >points
for method in hiway baseline reference; do
  good run kmeans --method $method --input points --clusters 2 --json
  is iterations 2
  is rmse 0.5
  is verified true
done
good run kmeans --repeat 2
printf '0 0\n1 x\n' >points
bad "points: line 2: not a number: 'x'" run kmeans --input points
printf '0 0 1\n1 2\n' >points
bad "points: line 2: 1 features, and the first line has 2" run kmeans --input points
: >points
bad "points: empty" run kmeans --input points
bad "--input and --points exclude each other" run kmeans --input points --points 7
rm -f points
bad "points: cannot be opened" run kmeans --input points
bad "--points must be 1 to 67108864: 0" run kmeans --points 0
bad "--features must be 1 to 1024: 1025" run kmeans --features 1025
bad "--clusters must be 1 to 1024: 0" run kmeans --clusters 0
bad "--clusters: 5 are more than the points, 4" run kmeans --points 4
bad "--iterations must be 1 to 1048576: 0" run kmeans --iterations 0
bad "--threads must be 0 to 1024: 1025" run kmeans --threads 1025
bad "--at-once must be 1 to 65536: 0" run kmeans --at-once 0
good run kmeans --kernel launched --points 100 --json
is verified true
bad "--kernel: stays or launched, not away" run kmeans --kernel away
bad "--parts must be 1 to 4096: 0" run kmeans --parts 0
bad "--block-threads must be a multiple of 32, at most 1024: 33" run kmeans --block-threads 33
bad "--clusters times features must be at most 8192: 8225" run kmeans --clusters 235 --features 35
good graph kmeans
says '"assign" -> "correct"'
# The example of FIPS 197.
echo 00112233445566778899AABBCCDDEEFF >text
echo "00 01 02 03 04 05 06 07 08090a0b0c0d0e0f 101112131415161718191a1b1c1d1e1f" >key
for method in hiway baseline reference; do
  good run aes --method $method --input text --key key --out secret --json
  is verified true
  is bytes 16
  [[ $(cat secret) == 8ea2b7ca516745bfeafc49904b496089 ]] || fail "$last: $(cat secret)"
done
rm -f secret
bad "--input and --bytes exclude each other" run aes --input text --bytes 16
bad "--out" run aes --out no/such/folder
echo 0011223344 >text
bad "text: 5 bytes, which are not whole blocks of 16: nothing is padded" run aes --input text
echo 00112g >text
bad "text: byte 2 is not two hexadecimal digits: there is 'g'" run aes --input text
echo 001 >text
bad "text: byte 1 has one hexadecimal digit" run aes --input text
: >text
bad "text: empty" run aes --input text
echo 00 >short
bad "short: a key has 32 bytes, not 1" run aes --key short
rm -f short
bad "none: cannot be opened: No such file or directory" run aes --key none
bad "--key: the file's name is empty" run aes --key ""
rm -f text key
bad "--bytes must be 16 to 1073741824, and a multiple of 16: 20" run aes --bytes 20
bad "--bytes must be bytes, or a number with B" run aes --bytes many
good run aes --bytes 1KiB
says "method hiway, device simt: verified"
good graph aes
says '"feed" -> "encrypt"'
for method in hiway baseline reference; do
  for threads in 0 2; do
    good run bs --method $method --options 10000 --cpu-threads $threads --chunk 1 --json
    is verified true
    is options 10000
    [[ $threads -ne 0 ]] || is cpu_tiles 0
  done
done
bad "--options must be 1 to 268435456: 0" run bs --options 0
bad "--cpu-threads must be 0 to 1024: 1025" run bs --cpu-threads 1025
bad "--chunk must be 1 to 65536: 0" run bs --chunk 0
good run bs --options 1
says "method hiway, device simt: verified"
good graph bs
says '"feed" -> "price"'

# The nearest of three places.
places() { printf '%28s%s%10s\n' "" " 30.5-12.3" "" "" "  6.0  8.0" "" "" " -3.0  4.0" ""; }
places >records
echo records >list
for method in hiway baseline reference; do
  good run knn --method $method --input list --k 2 --json
  is nearest '[{"place":2,"distance":5.0},{"place":1,"distance":10.0}]'
  is verified true
done
good run knn --repeat 2
good run knn --searchers 0 --places 3000 --lat 10 --lng -20.5 --json
is verified true
sed -i 's/.$//' records
bad "records: line 1: a record has 48 characters, not 47" run knn --input list
places | sed 's/ 30.5/north/' >records
bad "records: line 1: latitude is not a number: 'north'" run knn --input list
: >records
bad "records: empty" run knn --input list
rm -f records
bad "records: cannot be opened" run knn --input list
bad "--input and --places exclude each other" run knn --input list --places 7
rm -f list
bad "list: cannot be opened" run knn --input list
bad "--places must be 1 to 268435456: 0" run knn --places 0
bad "--k must be 1 to 256: 257" run knn --k 257
bad "--lat must be -360 to 360: 361" run knn --lat 361
bad "--lng must be -360 to 360: nan" run knn --lng nan
bad "--feeders must be 1 to 1024: 0" run knn --feeders 0
bad "--searchers must be 0 to 1024: 1025" run knn --searchers 1025
bad "--at-once must be 1 to 1048576: 0" run knn --at-once 0
bad "--blocks must be 1 to 1024: 0" run knn --blocks 0
good run knn --places 1000 --movement dma --json
is verified true
bad "--movement: direct or dma, not away" run knn --movement away
good graph knn
says '"feed" -> "search"'

# A pair whose answer is known by hand: ACGTACGGTCA occurs at 2, and the diagonal of 11 matches is 44.
printf 'ACGTACGGTCA\nttacgtacggtcattt\n' >pair
good run gene-alignment --pair pair --json
is coarse_matches 1
is similarity_sum 44
is first '{"position":2,"similarity":44,"target_index":2}'
# Nothing is found: no first match.
printf 'NNNNNNNNNNNN\nNNNNNNNNNNNNNNN\n' >pair
good run gene-alignment --pair pair --json
is coarse_matches 0
is first null
rm -f pair

# FASTA, plain and zipped; of several records the first, and a note.
printf '>t\nTTACGTACGG\nTCATTT\n>u\nACGT\n' >target.fa
printf '>q\nACGTACGGTCA\n' | gzip >query.fa.gz
run run gene-alignment --target target.fa --query query.fa.gz --json
[[ $code -eq 0 ]] || fail "$last: ended with $code: $(cat err)"
is similarity_sum 44
grep -qF "note: target.fa: 2 records, only the first ('t') is used" err || fail "$last: no note: $(cat err)"
good run gene-alignment --target-length 3000 --query-at 100 --query-length 50 --mutate 0 --json
[[ $(key coarse_matches) -ge 40 ]] || fail "$last: $(key coarse_matches) matches"
rm -f target.fa query.fa.gz

# What Movement::automatic takes: the built-in table's choice, and that of a table with dma and direct swapped.
good run gene-alignment --json
is movement '"direct"'
says '"why": "built-in table: up to 65536 B from the device, bus used one way: direct '
good run gene-alignment
says "direct (built-in table: "
rows=
for direction in cpu_to_gpu gpu_to_cpu; do
  for use in "one_way 65536 dma" "both_ways 512 dma" "both_ways 65536 direct"; do
    read -r bus bytes movement <<<"$use"
    rows+="${rows:+, }{\"direction\": \"$direction\", \"bus\": \"$bus\", \"up_to_bytes\": $bytes, \"movement\": \"$movement\", \"because\": \"swapped\"}"
  done
done
echo "{\"rows\": [$rows]}" >swapped.json
export HIWAY_MOVEMENT_TABLE=swapped.json
good run gene-alignment --json
is movement '"dma"'
is verified true
says '"why": "table swapped.json: up to 65536 B from the device, bus used one way: swapped"'
echo '{"rows": []}' >swapped.json
bad "HIWAY_MOVEMENT_TABLE: swapped.json: line 1, column 10: /rows: no row up to 65536 bytes for cpu_to_gpu, one_way" run gene-alignment
rm -f swapped.json
bad "HIWAY_MOVEMENT_TABLE: swapped.json: cannot be opened: No such file or directory" run gene-alignment
unset HIWAY_MOVEMENT_TABLE

# The automatic choice is told on stderr, stdout is the object alone.
env -u HIWAY_RUN_ON "$hiway" run gene-alignment --json >out 2>err || fail "device auto: $(cat err)"
grep -qF "hiway: running on" err || fail "device auto does not say which: $(cat err)"
[[ $(head -c 1 out) == "{" ]] || fail "device auto: stdout: $(cat out)"

# ---- files are written whole
rm -f out err
good run gene-alignment --json result.json
[[ ! -s out ]] || fail "$last: stdout: $(cat out)"
mv result.json out
is verified true
rm -f out err
[[ -z $(ls -A) ]] || fail "something was left beside the file: $(ls -A)"
echo old >result.json
bad "--repeat" run gene-alignment --repeat 0 --json result.json
[[ $(cat result.json) == old ]] || fail "a run that failed changed the file"
good run gene-alignment --json=result.json
grep -q '"verified": true' result.json || fail "$last: the old file was not replaced"
rm -f result.json
ln -s real.json link.json
good run gene-alignment --json link.json
[[ -L link.json && -s real.json ]] || fail "$last: the link was replaced"
rm -f link.json real.json
good run gene-alignment --json /dev/null
[[ -c /dev/null ]] || fail "$last: /dev/null was replaced"
# A file that cannot be written after the work costs nothing else. The folder of the file, gone/, goes away while the program
# waits for its input, which is a FIFO. without_folder INPUT ARGUMENTS...: ends with 1 and one line on stderr.
without_folder() {
  local input=$1
  shift
  last="hiway $*"
  mkfifo input
  mkdir gone
  "$hiway" "$@" >out 2>err &
  exec 3>input  # waits for the program, which has looked at its files
  rmdir gone
  printf '%b' "$input" >&3
  exec 3>&-
  wait $!
  code=$?
  [[ $code -eq 1 ]] || fail "$last: ended with $code, not 1"
  [[ $(wc -l <err) -eq 1 ]] || fail "$last: not one line on stderr: $(cat err)"
  rm -f input
}
without_folder '>one\nACGTACGT\n' run gene-alignment --target input --query-at 0 --query-length 4 --json gone/result.json
is verified true
grep -qx "hiway: gone/result.json: cannot be written: No such file or directory; the result is on stdout" err || fail "$last: $(cat err)"
without_folder 'a,b,c,d,e,f,g,h,POLYLINE\n1,b,c,d,e,f,g,h,"[[1.5,2.5]]"\n' run taxi --input input --output gone/places.csv --json
is verified true
grep -qx "hiway: gone/places.csv: cannot be written: No such file or directory" err || fail "$last: $(cat err)"
# Devices and FIFOs are written through: of the library's files, too.
mkfifo fifo
cat fifo >copy &
good run gene-alignment --json fifo
wait
[[ -p fifo ]] && grep -q '"verified": true' copy || fail "$last: the FIFO was replaced, or got nothing"
cat fifo >copy &
good run gene-alignment --trace fifo
wait
[[ -p fifo ]] && grep -q traceEvents copy || fail "$last: the FIFO was replaced, or got nothing"
run run gene-alignment --json fifo
[[ $code -eq 1 ]] || fail "$last: ended with $code, not 1"
says '"verified": true'
grep -qx "hiway: fifo: cannot be written: is a FIFO that nobody reads; the result is on stdout" err || fail "$last: $(cat err)"
rm -f fifo copy
ln -s /dev/null nothing
good run gene-alignment --trace nothing --stats nothing
[[ -L nothing && -c /dev/null ]] || fail "$last: a link or a device was replaced"
rm -f nothing out err
(ulimit -f 1; run run gene-alignment --trace trace.json; exit $code) || fail "a trace that is too large ended the program with $?"
grep -qx "hiway: trace: 'trace.json' cannot be written: File too large" err || fail "of a trace that is too large: $(cat err)"
rm -f out err
[[ -z $(ls -A) ]] || fail "something was left beside the files: $(ls -A)"
bad "nowhere/result.json: cannot be written: No such file or directory" run gene-alignment --json nowhere/result.json
mkdir folder
bad "folder: cannot be written: Is a directory" run gene-alignment --json folder
rmdir folder
if [[ -c /dev/full ]]; then
  for arguments in "run gene-alignment" "run gene-alignment --json" list; do
    # shellcheck disable=SC2086
    "$hiway" $arguments >/dev/full 2>err && fail "hiway $arguments into a full disk ended with 0"
  done
fi
rm -f out err

# ---- plans
# planning CODE VERDICT ARGUMENTS...: hiway plan ARGUMENTS --json ends so, with nothing on stderr.
planning() {
  local expected=$1 verdict=$2
  shift 2
  run plan "$@" --json
  [[ $code -eq $expected ]] || fail "$last: ended with $code, not $expected: $(cat err)"
  [[ ! -s err ]] || fail "$last: stderr: $(cat err)"
  is verdict "\"$verdict\""
}
surface='{"streams": [{"name": "s1", "elem_bytes": 8}, {"name": "s2", "elem_bytes": 8}], "body": [
  {"task": "tw1", "ops": [{"stream": "s1", "write": 2}]}, {"task": "tw2", "ops": [{"stream": "s2", "write": 3}]},
  {"task": "ta", "ops": [{"stream": "s2", "write": 2}, {"stream": "s1", "read": 2}]},
  {"task": "tb", "ops": [{"stream": "s1", "write": 1}, {"stream": "s2", "read": 3}]},
  {"task": "tc1", "ops": [{"stream": "s1", "read": 1}]}, {"task": "tc2", "ops": [{"stream": "s2", "read": 2}]}]}'
sink='{"params": {"N": 6}, "streams": [{"name": "s", "elem_bytes": 4}], "semantics": {"discipline": "DISCIPLINE"}, "body": [
  {"task": "sink", "ops": [{"stream": "s", "read": 1}]},
  {"for": "k", "from": 1, "to": "N", "body": [{"task": "t", "ops": [{"stream": "s", "read": 1}, {"stream": "s", "write": 1}]}]},
  {"task": "source", "ops": [{"stream": "s", "write": 1}]}]}'
echo "$surface" >surface.json
echo "${sink/DISCIPLINE/indexed}" >sink.json
echo "${sink/DISCIPLINE/fifo}" >fifo.json
writer='{"for": "i", "from": 0, "to": "N", "body": [{"task": "w", "ops": [{"stream": "s", "write": "AMOUNT"}]}]}'
reader='{"task": "r", "ops": [{"stream": "s", "read": "AMOUNT"}]}'
# symbolic BODY: a program of one stream with the parameter N.
symbolic() { echo "{\"params\": {\"N\": 3}, \"streams\": [{\"name\": \"s\", \"elem_bytes\": 1}], \"body\": [$1]}"; }
symbolic "${writer/AMOUNT/1},${reader/AMOUNT/N + N % 2}" >starved_for_odd.json
symbolic "${writer/AMOUNT/1 + i % 2}" >parity.json
symbolic "${writer/AMOUNT/i + 1},${reader/AMOUNT/N * (N + 1) \/ 2}" >square.json
planning 0 fits surface.json
is feasible true
is tasks 6
is min '{"s1":2,"s2":3}'
[[ $(tr -d ' \n' <out) == *'"pareto":[{"s1":3,"s2":3},{"s1":2,"s2":5}],"pareto_bytes":[48,56],"min_bytes":48,"best":{"s1":3,"s2":3},"critical_path":{"unbounded":3,"at_pareto":[4,4]},"why":'* ]] ||
  fail "$last: $(cat out)"
is exhausted true
[[ $(key proven_for) == '""' && $(key states) -gt 0 ]] || fail "$last: $(cat out)"
planning 0 fits surface.json --front
[[ $(tr -d ' \n' <out) == *'"memory_vs_makespan":[[48,4],[64,3]],"memory_vs_makespan_exhausted":true'* ]] || fail "$last: $(cat out)"
planning 0 fits surface.json --memory 48
planning 1 needs_more surface.json --memory 47B
is feasible true
[[ $(key pareto_bytes) == "[48,56]" ]] || fail "$last: the corners are not given: $(cat out)"
grep -qF "'ta' waits for room in 's2' for elements 3 to 4, held for 'tb'" out || fail "$last: $(cat out)"
planning 0 fits surface.json --memory 1KiB
planning 0 fits sink.json
is best '{"s":6}'
is proven_for '"N=6"'
planning 0 fits sink.json --param N=1000
is best '{"s":1000}'
planning 1 deadlock fifo.json
is feasible false
is pareto '[]'
is best null
is min_bytes null
echo '{"streams": [{"name": "s", "elem_bytes": 4}], "body": [{"task": "r", "ops": [{"stream": "s", "read": 1}]}]}' >starved.json
planning 1 starved starved.json
is feasible false
# Twelve pairs, of each of which one stream must hold four elements: 4,096 least vectors, too many to find the first.
streams="" body=""
for pair in a b c d e f g h i j k l; do
  loop() { echo "{\"for\": \"i\", \"from\": 0, \"to\": 4, \"body\": [{\"task\": \"t\", \"process\": \"$1$pair\", \"ops\": [{\"stream\": \"$2$pair\", \"$3\": 1}]}]}"; }
  streams+=",{\"name\": \"x$pair\", \"elem_bytes\": 1},{\"name\": \"y$pair\", \"elem_bytes\": 1}"
  body+=",$(loop p x write),$(loop q y write),$(loop p y read),$(loop q x read)"
done
echo "{\"streams\": [${streams#,}], \"body\": [${body#,}]}" >pairs.json
planning 3 unknown pairs.json --memory 58
is exhausted false
is min_bytes null
grep -qF "not exhausted after" out || fail "$last: $(cat out)"
planning 1 needs_more pairs.json --memory 24
grep -qF "24 bytes are given, at least " out || fail "$last: $(cat out)"
planning 0 fits pairs.json --memory 60
good plan surface.json
says "surface.json: fits"
says "s1 2, s2 5: 56 bytes"
says "states expanded"
good plan surface.json --dot
says "digraph plan"
good plan surface.json --json result.json --dot
says "digraph plan"
grep -q '"verdict": "fits"' result.json || fail "$last: $(cat result.json)"
rm -f result.json
bad "plan needs a file" plan
bad "absent.json: cannot be opened: No such file or directory" plan absent.json
bad ".: cannot be read: Is a directory" plan .
bad "/dev/zero: line 1: byte 0x00 in column 1: this is no text" plan /dev/zero
bad "--memory must be bytes" plan surface.json --memory 64miles
bad "--memory must be bytes" plan surface.json --memory -1
bad "--memory must be bytes" plan surface.json --memory 99999999999GiB
bad "--param must be NAME=INTEGER: N" plan sink.json --param N
bad "--param must be NAME=INTEGER: N=4x" plan sink.json --param N=4x
bad "--param: N is given twice" plan sink.json --param N=4 --param N=5
bad "sink.json: no parameter 'M' in the program" plan sink.json --param M=4
bad "--dot and --json both print" plan sink.json --dot --json
# symbols
planning 0 fits sink.json --symbolic N
is proof '"proven"'
is proven_for '"N>=1"'
is bound '{"s":"N"}'
is best '{"s":6}'
planning 1 deadlock fifo.json --symbolic N
is proof '"disproven"'
is bound null
is feasible false
planning 1 starved starved_for_odd.json --symbolic N
is proof '"disproven"'
planning 3 unknown parity.json --symbolic N
is proof '"unknown"'
is feasible true
planning 3 unknown square.json --symbolic N --degree 1
planning 0 fits square.json --symbolic N --degree 2
is bound '{"s":"(N*N+N)/2"}'
good plan sink.json --symbolic N --certificate proof.json
says "sink.json: for all values proven (N >= 1)"
grep -q '"waits"' proof.json || fail "$last: $(cat proof.json)"
rm -f proof.json
bad "no parameter 'M' in the program" plan sink.json --symbolic M
bad "the symbol 'N' is given twice" plan sink.json --symbolic N --symbolic N
bad "the degree is 1 to 3, not 4" plan sink.json --symbolic N --degree 4
bad "--degree: goes with --symbolic" plan sink.json --degree 2
bad "--certificate: goes with --symbolic" plan sink.json --certificate proof.json
# bad_program TEXT JSON
bad_program() {
  echo "$2" >bad.json
  bad "bad.json: $1" plan bad.json
}
bad_program "line 1, column 14: not JSON" '{"streams": [}'
bad_program "line 1, column 78: /body/0/ops/0/stream: no stream 'q'" \
  '{"streams": [{"name": "s", "elem_bytes": 4}], "body": [{"task": "t", "ops": [{"stream": "q", "write": 1}]}]}'
bad_program "line 1, column 1: 'streams' is missing" '{}'
symbolic '{"for": "i", "from": 0, "to": "N", "body": [{"task": "w", "ops": [{"stream": "t", "index": "i * i", "write": 1}]}]}' |
  sed 's/\("streams": \[\)/\1{"name": "t", "elem_bytes": 1, "dims": ["N * N"]}, /' >bad.json
bad "bad.json: line 1, column 218: /body/0/body/0/ops/0/index/0: 'i * i': an index is affine" plan bad.json --symbolic N
# segments
echo '{"segment": {"v": 128, "nodes": [{"name": "spread", "gain_max": 20, "gain_mean": 4, "item_bytes": 8},
  {"name": "keep", "gain_max": 1, "gain_mean": 0.25, "item_bytes": 8, "interruptible": true}]}}' >segment.json
planning 0 fits segment.json
is min '{"spread":2687,"keep":255}'
is min_bytes 23536
planning 0 fits segment.json --memory 30000
[[ $(tr -d ' \n' <out) == *'"interrupt":[{"node":"spread","freed_bytes":1496}],"merge":[]'* ]] || fail "$last: $(cat out)"
planning 1 needs_more segment.json --memory 8000
is best null
grep -qF "interruptible node spread would lower it to 4080" out || fail "$last: $(cat out)"
good plan segment.json
says "spread 2687, keep 255: 23536 bytes"
bad "--front: not for a segment" plan segment.json --front
bad_program "line 1, column 13: /segment: 'v' is missing" '{"segment": {}}'
rm -f ./*.json

# ---- benches: the keys of the answer, a plant, a file
good bench paper --list
says "hiway run stencil --width 4096 --height 4096"
run bench paper --part breakdown --app stencil
[[ $code -eq 0 ]] || fail "$last: ended with $code: $(cat err)"
says "+ lazy regions"
[[ $(wc -l <err) -eq 1 ]] && grep -q "EndDetection::time_out is unsound" err || fail "$last: stderr: $(cat err)"
good bench paper --part communication
bad "--app: not one of the paper's applications: taxi" bench paper --app taxi
bad "--part: breakdown, relief, communication or movement, not 4.4" bench paper --part 4.4
good bench ring --item-bytes 16
says "bench ring, device simt: right"
good bench ring --item-bytes 16 --pattern each --json
is bench '"ring"'
is command '"hiwaybenchring--item-bytes16--patterneach--json"'
is device '"simt"'
is emulated true
is right true
is median null
for name in machine repeat rows what unit better beside measured variant facts; do
  [[ -n $(key $name) ]] || fail "$last: no key $name"
done
run bench ring --item-bytes 16 --plant lose
[[ $code -eq 1 ]] || fail "$last: ended with $code, not 1"
says "NOT RIGHT"
grep -q "is lost" err || fail "$last: stderr: $(cat err)"
good bench ring --item-bytes 16 --json ring.json
[[ ! -s out ]] || fail "$last: stdout: $(cat out)"
grep -q '"right": true' ring.json || fail "$last: $(cat ring.json)"
rm -f ring.json

# ---- bench loaded: its spinning processes go with it
good bench loaded
says "bench loaded, device simt: right"
says "work reyes, command hiway run reyes, load 1/2, spinning "
bad "--only: no work blast" bench loaded --only blast
bad "--levels: 0 to 8, as 2 or 3/4, not half" bench loaded --levels 0,half
# spinning PID: how many processes spin for the bench of this id.
spinning() {
  local count=0 words name parent
  for words in /proc/[0-9]*/cmdline; do
    { IFS= read -r -d '' name && IFS= read -r -d '' parent; } <"$words" || continue
    [[ $name == hiway-bench-spins && $parent == "$1" ]] && count=$((count + 1))
  done 2>/dev/null
  echo $count
}
# spin_soon PID COUNT: within 20 s so many do.
spin_soon() {
  for _ in {1..200}; do
    [[ $(spinning "$1") -eq $2 ]] && return
    sleep 0.1
  done
  fail "bench loaded: $(spinning "$1") processes spin for it, not $2"
}
cpus=$(nproc)
for signal in TERM KILL; do
  "$hiway" bench loaded --only gene-alignment --levels 1 --repeat 1000000 --limit-s 600 >out 2>err </dev/null &
  bench=$!
  spin_soon $bench "$cpus"
  kill -$signal $bench
  wait $bench 2>/dev/null
  spin_soon $bench 0
done

bad "--write-table: the emulated device's times are no speed" bench movement --write-table table.json
bad "nowhere/table.json: cannot be written: No such file or directory" bench movement --write-table nowhere/table.json
bad "--write-table: the file's name is empty" bench movement --write-table ""
bad "--write-table: needs every item size, not --item-bytes alone" bench movement --write-table t --item-bytes 4
HIWAY_GPU_PARTS=2 bad "--write-table: needs whole GPUs" bench movement --write-table table.json
HIWAY_GPU_PARTS=1 bad "--write-table: the emulated device's times are no speed" bench movement --write-table table.json

# ---- report: a page and its sentences; what is wrong with a trace, in one line with the place
cat >trace.json <<'END'
{"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "cat": "stage", "name": "sink", "ts": 0, "dur": 1000000}],
 "hiway": {"version": "0.1.0", "trace_version": 1, "stats": {"device": "simt", "seconds": 1, "items": 9, "end_detection_us": -1,
  "stages": [{"name": "feed", "gpu": false, "executors": 1, "items": 0, "seconds": 1, "busy": 0.1, "from": [], "into": [{"tunnel": "numbers", "waits": 0.9}]},
             {"name": "sink", "gpu": false, "executors": 1, "items": 9, "seconds": 1, "busy": 0.97, "from": [{"tunnel": "numbers", "waits": 0.03}], "into": []}],
  "tunnels": [{"name": "numbers", "direction": "cpu_to_cpu", "movement": "memory", "why": "one home", "item_bytes": 4,
               "capacity_items": 8, "items": 9, "finished": 9, "batches": 0, "spilled": 0, "throttled": 0,
               "put_groups": 0, "get_groups": 0, "most_items": -1, "mean_items": -1, "full": -1, "empty": -1}]}}}
END
good report trace.json
says "Stage 'sink' is the bottleneck: it is busy 97 % of the time, and 'feed' waits 90 % of the time for room in tunnel 'numbers' before it."
grep -q "<title>trace.json .* hiway report</title>" report.html || fail "no page: $(head -c 300 report.html)"
mv report.html whole.html
good report trace.json --out -
cmp -s out whole.html || fail "the page on stdout is another"
"$hiway" report - -o piped.html <trace.json >out 2>err || fail "report of stdin: $(cat err)"
grep -q "From stdin" piped.html || fail "no page of stdin"
rm -f whole.html piped.html
printf '{"traceEvents": [,\n' >bad.json
bad "bad.json: no JSON: parse error at line 1, column 18" report bad.json
sed 's/"dur": 1000000/"dur": true/' trace.json >bad.json
bad "bad.json: /traceEvents/0/dur: a number is needed, not a boolean" report bad.json
sed 's/"trace_version": 1/"trace_version": 2/' trace.json >bad.json
bad "bad.json: /hiway/trace_version: version 1 is read here, not 2" report bad.json
: >bad.json
bad "bad.json: empty" report bad.json
bad "absent.json: cannot be opened: No such file or directory" report absent.json
bad "--out: nowhere/r.html: cannot be written: No such file or directory" report trace.json -o nowhere/r.html
bad "extra" report trace.json extra
rm -f trace.json bad.json

# ---- bad arguments
bad "a command is needed: devices, list, run, launch, graph, plan, report, bench"
bad "no command 'walk'" walk
bad "report needs a trace file" report
bad "bench needs a name" bench
bad "bench: no bench 'fast'" bench fast
bad "--wrong" bench --wrong
bad "run needs an application: gene-alignment, stencil" run
bad "run: no application 'gene': gene-alignment, stencil" run gene
bad "graph needs an application: gene-alignment, stencil" graph
bad "graph: no application 'gene': gene-alignment, stencil" graph gene
bad "--wrong" run gene-alignment --wrong
bad "--wrong" --wrong
bad "--wrong" run --wrong
bad "a command is needed" --
bad "run needs an application" run --
bad "extra" run gene-alignment extra
bad "extra" devices extra
bad "no method 'fast' of gene-alignment: hiway, paper, baseline, reference" run gene-alignment --method fast
bad "no method 'fast'" run gene-alignment --method hiway,fast
bad "--method: no method given" run gene-alignment --method ""
bad "no device 'tpu'" run gene-alignment --device tpu
bad "no device 'cuda:x'" run gene-alignment --device cuda:x
bad "cuda:99" run gene-alignment --device cuda:99
bad "cuda:99" run gene-alignment --device cuda:99 --method reference
bad "no device 'tpu'" graph gene-alignment --device tpu
bad "--repeat must be 1 to 1000000: 0" run gene-alignment --repeat 0
bad "--repeat" run gene-alignment --repeat many
bad "--repeat" run gene-alignment --repeat
bad "--verify must be on or off: maybe" run gene-alignment --verify maybe
bad "--seed must be 0 or more: -1" run gene-alignment --seed -1
bad "--trace: /nowhere/trace.json: cannot be written" run gene-alignment --trace /nowhere/trace.json
bad "--target-length" run gene-alignment --target-length 1e3
bad "--target-length must be 1 to 2000000000: 0" run gene-alignment --target-length 0
bad "the query (20 bases) is longer than the target (10 bases)" run gene-alignment --target-length 10 --query-length 20
bad "reaches beyond the target's 100 bases" run gene-alignment --target-length 100 --query-at 60 --query-length 41
bad "--query-at needs --query-length" run gene-alignment --query-at 5
bad "--mutate needs --query-at" run gene-alignment --mutate 0.5
bad "--mutate must be 0 to 1: 2" run gene-alignment --query-at 0 --query-length 5 --mutate 2
bad "--query needs --target" run gene-alignment --query q
bad "--target needs --query" run gene-alignment --target t
bad "exclude each other" run gene-alignment --target t --target-length 5
bad "--pair brings query and target" run gene-alignment --pair p --target t

# ---- SIGUSR1 asks runs for a report: it kills no program that has no run yet. This one waits for its input.
mkfifo input
"$hiway" plan input >out 2>err &
waits=$!
caught=0
for ((i = 0; i < 500 && !caught; ++i)); do  # bit 9 of the signals that it catches
  caught=$(((0x0$(grep -oP 'SigCgt:\s*\K\w+' /proc/$waits/status) >> 9) & 1))
  sleep 0.01
done
kill -USR1 $waits
sleep 0.1
timeout 5 bash -c 'cat "$0" >input' "$root/examples/plan/sink_first.json" || fail "SIGUSR1: nobody reads any more"
wait $waits
code=$?
[[ $code -eq 0 ]] || fail "hiway plan, SIGUSR1 while it waits for its input: ended with $code: $(cat err)"
rm -f input

# ---- bad files
aligning() { bad "$1" run gene-alignment --target "$2" --query-at 0 --query-length 1; }
aligning "absent.fa: cannot be opened: No such file or directory" absent.fa
: >bad.fa
aligning "bad.fa: empty" bad.fa
printf 'ACGT\n' >bad.fa
aligning "bad.fa: line 1: not FASTA" bad.fa
printf '>x\n' >bad.fa
aligning "bad.fa: line 1: header without sequence" bad.fa
printf '>x\nACGT\nACQT\n' >bad.fa
aligning "bad.fa: line 3: 'Q' in column 3 is not one of A, C, G, T, N" bad.fa
{ echo ">x"; head -c 30000 /dev/urandom | od -An -v -tx1 | tr -d ' \n' | tr 0123456789abcdef ACGTACGTACGTACGT; } | gzip >whole.fa.gz
head -c 5000 whole.fa.gz >bad.fa.gz
aligning "bad.fa.gz: truncated gzip data" bad.fa.gz
rm -f bad.fa bad.fa.gz whole.fa.gz
printf 'ACGT\n' >pair
bad "pair: line 2: no target" run gene-alignment --pair pair
printf 'ACGT\nAC\n' >pair
bad "the query (4 bases) is longer than the target (2 bases)" run gene-alignment --pair pair
printf 'AC\nACG-T\n' >pair
bad "pair: line 2: '-' in column 4" run gene-alignment --pair pair
bad "/dev/zero: line 1: byte 0x00 in column 1: this is no text" run gene-alignment --target /dev/zero --query-at 0 --query-length 5
rm -f pair

if [[ $failures -eq 0 ]]; then
  echo "hiway does what it says"
else
  echo "$failures checks failed" >&2
  exit 1
fi
