#!/usr/bin/env bash
# MPI_UNIVERSE_SIZE counts ranks, and MPI_APPNUM programs, however the command line says them.
#   universe.sh BIN PROGRAMS
set -u
mpiexec=$1/mpiexec program=$2/universe failed=0
[ -x "$program" ] || { echo "no program $program"; exit 1; }
run() {
  local out
  if out=$(timeout 60 "$mpiexec" "$@" 2>&1) && [[ $out == *"No Errors"* ]]; then echo "ok $*"; else
    echo "FAILED $*: $out" | head -5
    failed=1
  fi
}
run -n 1 "$program" -1
run -n 2 -nfg 3 "$program" -1
run -usize 5 -n 2 -nfg 3 "$program" 15
run -usize 1 -n 2 -nfg 3 "$program" 6
run -usize 6 -n 1 -ranks 5 "$program" 16 5 : -n 2 -ranks 3 "$program" 16 5
run -n 2 -nfg 2 "$program" -1 4 : -n 1 -nfg 3 "$program" -1 4
exit $failed
