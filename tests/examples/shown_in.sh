#!/usr/bin/env bash
# shown_in.sh DOCUMENT PROGRAM: DOCUMENT shows PROGRAM, from its first #include on, as a block ```cpp.
set -uo pipefail
document=${1:?document}
program=${2:?program}
code=$(sed -n '/^#include/,$p' "$program")
if [[ -z $code || $(<"$document") != *$'```cpp\n'"$code"$'\n```\n'* ]]; then
  echo "$document does not show $program as it is"
  exit 1
fi
