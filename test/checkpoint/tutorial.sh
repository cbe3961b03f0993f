#!/bin/bash
# docs/tutorials/balance-a-program.md: its program is unequal as the page says, and -balance halves what the busiest process computes.
#   tutorial.sh BIN PROGRAM PAGE
set -eu
bin=$1 program=$2 page=$3
fail() { echo "FAILED: $*"; exit 1; }
# shown OPTIONS...: runs the command, which is on the page, with fewer pictures.
shown() {
  grep -qF "    \$ mpiexec $* ./zoom 100" "$page" || fail "the page lacks: mpiexec $*"
  timeout 200 "$bin/mpiexec" "$@" "$program" 50 2>&1
}
result() { sed -n 's/^50 pictures, //p' <<< "$1"; }
plain=$(shown -summary -n 2 -nfg 16)
grep -q 'Imbalance: process 1 computes 2.0 times' <<< "$plain" || fail "no imbalance: $plain"
for shape in "-n 2 -nfg 16" "-n 4 -nfg 8"; do
  # shellcheck disable=SC2086
  balanced=$(shown -balance -summary $shape)
  echo "$balanced"
  [ -n "$(result "$plain")" ] && [ "$(result "$plain")" = "$(result "$balanced")" ] || fail "the results differ: $plain"
  seconds=$(sed -n 's/.*has run ranks for \([0-9.]*\) s, where its own ranks ran it would have been \([0-9.]*\) s.*/\1 \2/p' <<< "$balanced")
  awk -v times="$seconds" 'BEGIN { split(times, t, " "); exit !(t[1] > 0 && t[1] < 0.75 * t[2]) }' || fail "little gain: $seconds"
done
grep -qF -- "-balance -report zoom.html -n 2 -nfg 16" "$page" || fail "the page lacks the report"
