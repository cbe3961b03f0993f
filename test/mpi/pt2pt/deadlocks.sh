#!/usr/bin/env bash
# Deadlocks end with a report and a non-zero status; jobs that are not deadlocked run to their end.
set -u
bin=$1 prog=$2/deadlocks failed=0

# expect NAME STATUS TEXT command...: STATUS "bad" is any but 0 and the time limit's.
expect() {
  local name=$1 status=$2 text=$3 out got
  shift 3
  out=$(timeout 60 "$@" 2>&1)
  got=$?
  [ "$status" = bad ] && [ $got -ne 0 ] && [ $got -ne 124 ] && got=bad
  if [ "$got" != "$status" ] || { [ -n "$text" ] && ! grep -qE -- "$text" <<<"$out"; }; then
    echo "FAILED $name: exit status $got, expected $status and /$text/"
    tail -5 <<<"$out"
    failed=$((failed + 1))
  elif [ "$status" = 0 ] && grep -q deadlock <<<"$out"; then
    echo "FAILED $name: a deadlock was reported"
    failed=$((failed + 1))
  else
    echo "ok $name"
  fi
}

for shape in "1 3" "2 1" "3 2" "2 40"; do
  set -- $shape
  run=("$bin/mpiexec" -n "$1" -nfg "$2" "$prog")
  n=$(($1 * $2))
  expect "recv ($shape)" bad "all $n ranks" "${run[@]}" recv
  expect "its cycle ($shape)" bad "cycle: rank 0 waits for rank 1 waits" "${run[@]}" recv
  expect "its lines ($shape)" bad "rank 0 in MPI_Recv: source 1, tag 5, up to 4 bytes, MPI_COMM_WORLD" "${run[@]}" recv
  expect "ssend ($shape)" bad "rank 1 in MPI_Ssend: to world rank $((2 % n)), tag 5" "${run[@]}" ssend
  expect "probe ($shape)" bad "rank 1 in MPI_Probe: source MPI_ANY_SOURCE, tag 5" "${run[@]}" probe
  expect "mixed ($shape)" bad "rank 0 in MPI_Waitall: 2 requests, the first: MPI_Irecv source" "${run[@]}" mixed
  expect "one ($shape)" bad "rank 0 in MPI_Recv: source $((n - 1))" "${run[@]}" one
  expect "names ($shape)" bad "^fgmpi: deadlock: all $n ranks" "${run[@]}" names
  expect "names, escaped ($shape)" bad "b.nC.n.x1b.2J <|a.nN 100000.nC 9 MPI_Bcast.nE 0 0.n <" "${run[@]}" names
done
expect "the rest is counted" bad "60 more in MPI_Recv" "$bin/mpiexec" -n 2 -nfg 40 "$prog" recv
for shape in "2 1" "3 4"; do
  set -- $shape
  expect "sleeper ($shape)" 0 "No Errors" "$bin/mpiexec" -n "$1" -nfg "$2" "$prog" sleeper
  for seed in 1 2; do
    expect "traffic ($shape, seed $seed)" 0 "No Errors" "$bin/mpiexec" -n "$1" -nfg "$2" "$prog" traffic $seed
  done
done
FGMPI_DEADLOCK=report expect "reported only, then the time limit" 124 "deadlock: all 2 ranks" \
  timeout 5 "$bin/mpiexec" -n 2 -nfg 1 "$prog" recv
FGMPI_DEADLOCK=off expect "off" 124 "" timeout 3 "$bin/mpiexec" -n 2 -nfg 1 "$prog" recv
FGMPI_DEADLOCK=maybe expect "a bad value" bad "FGMPI_DEADLOCK=maybe: allowed is abort, report or off" \
  "$bin/mpiexec" -n 1 -nfg 2 "$prog" recv
exit $((failed > 0))
