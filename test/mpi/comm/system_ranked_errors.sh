#!/usr/bin/env bash
# System-ranked communicators in the report of a deadlock and in the list of leaks.
set -u
export ASAN_OPTIONS=detect_leaks=0 # the program leaks for the report
bin=$1 program=$2/system_ranked_errors failed=0

# expect SHAPE CASE STATUS TEXT...: STATUS "bad" is any but 0 and the time limit's.
expect() {
  local p=${1%x*} c=${1#*x} name=$2 expected=$3 out status
  shift 3
  out=$(FGMPI_LEAKS=1 timeout 60 "$bin/mpiexec" -n "$p" -nfg "$c" "$program" "$name" 2>&1)
  status=$?
  [ $status -ne 0 ] && [ $status -ne 124 ] && status=bad
  if [ "$status" != "$expected" ]; then
    echo "FAILED $name (${p}x$c): exit status $status"
    failed=$((failed + 1))
  fi
  for text in "$@"; do
    grep -qE -- "$text" <<<"$out" && continue
    echo "FAILED $name (${p}x$c): no /$text/ in"
    head -20 <<<"$out"
    failed=$((failed + 1))
  done
}

expect 1x3 missing bad "deadlock" "rank 0 in MPIX_Comm_split: communicator MPI_COMM_WORLD .*1 missing"
for shape in 2x1 2x3 5x2; do
  last=$((${shape%x*} * ${shape#*x} - 1))
  expect $shape missing bad "deadlock" "in MPIX_Comm_split: building a system-ranked group" "rank $last in MPI_Recv"
done
for shape in 1x3 2x2 3x1 5x2; do
  n=$((${shape%x*} * ${shape#*x}))
  expect $shape address bad "deadlock: all $n ranks" "in MPI_Ssend: to world rank [0-9]+, tag 4, 0 bytes, picked <" "cycle: rank 0"
  expect $shape leak 0 "leaked in process 0: [0-9]+ x communicator of MPIX_Comm_split" "No Errors"
done
[ $failed -eq 0 ] && echo " No Errors"
exit $((failed > 0))
