#!/usr/bin/env bash
# same_output.sh DEVICE PROGRAMS...: each program ends with 0 on DEVICE (simt, cuda:0), and all print the same. Ends with
# 77 where DEVICE is a GPU and there is none.
set -uo pipefail
export HIWAY_RUN_ON=${1:?device}
shift
if [[ $HIWAY_RUN_ON == cuda* && ! -e /dev/nvidiactl ]]; then
  echo "skipped: no GPU here"
  exit 77
fi

first=
for program; do
  printed=$("$program") || { echo "$program ended with $?, and printed: $printed"; exit 1; }
  echo "$program: $printed"
  [[ -n $printed && $printed == "${first:=$printed}" ]] || { echo "the outputs differ"; exit 1; }
done
