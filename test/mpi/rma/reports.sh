#!/usr/bin/env bash
# Windows in the reports of deadlocks and leaks, and in the message of an error that no handler takes.
# usage: reports.sh BIN PROGRAMS
set -u
bin=$1 programs=$2
failed=0
expect() {  # WORDS OUTPUT
  if ! grep -qE "$1" <<< "$2"; then
    echo "missing: $1"
    echo "$2"
    failed=1
  fi
}
for shape in "1 2" "2 1" "2 2"; do
  set -- $shape
  run() { timeout 60 "$bin/mpiexec" -n "$1" -nfg "$2" "$programs/stuck" "$3" 2>&1; }
  out=$(run "$1" "$2" lock)
  expect "MPI_Win_lock.*for the shared lock of rank 0, rank 1 of" "$out"
  expect "deadlock" "$out"
  out=$(run "$1" "$2" start)
  expect "MPI_Win_start.*for MPI_Win_post of rank 0, rank 0 of" "$out"
  out=$(FGMPI_LEAKS=1 run "$1" "$2" leak)
  expect "x window of MPI_Win_allocate" "$out"
  expect "1 x lock of MPI_Win_lock" "$out"
done
exit $failed
