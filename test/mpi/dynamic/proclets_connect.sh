#!/usr/bin/env bash
# Ranks that were spawned as proclets connect with another job, over sockets of the host and over the network.
#   proclets_connect.sh BIN PROGRAMS
set -u
mpiexec=$1/mpiexec program=$2/proclets_connect failed=0
[ -x "$program" ] || { echo "no program $program"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# run CxP CxP [VARIABLE=VALUE]: the variable is for the second job.
run() {
  local one=$1 two=$2 a
  rm -f "$work"/*
  timeout 100 "$mpiexec" -n "${one#*x}" -nfg "${one%x*}" "$program" accept "$work/port" >"$work/a" 2>&1 &
  a=$!
  env "${3:-A=B}" timeout 100 "$mpiexec" -n "${two#*x}" -nfg "${two%x*}" "$program" connect "$work/port" >"$work/b" 2>&1
  local second=$?
  if wait $a && [ $second = 0 ] && grep -q "No Errors" "$work/a" && grep -q "No Errors" "$work/b"; then
    echo "ok $*"
  else
    echo "FAILED $*: the second job ended with $second"
    head -20 "$work/a" "$work/b" | cut -c1-300
    failed=1
  fi
}
run 1x1 1x1
run 3x1 2x2
run 1x3 4x1
run 2x2 1x3 FGMPI_HOST_ID=elsewhere
exit $failed
