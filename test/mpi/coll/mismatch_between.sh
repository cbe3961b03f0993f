#!/usr/bin/env bash
# Collectives that do not match between processes end with a report that names the collective each
# rank is in, or with an error that names two of the processes, and a non-zero status.
set -u
bin=$1 program=$2/mismatch_between failed=0

# expect SHAPE CASE TEXT...: a bad end whose output has every text.
expect() {
  local p=${1%x*} c=${1#*x} name=$2 out status
  shift 2
  out=$(timeout 60 "$bin/mpiexec" -n "$p" -nfg "$c" "$program" "$name" 2>&1)
  status=$?
  if [ $status -eq 0 ] || [ $status -eq 124 ]; then
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

between() {
  local shape=$1
  expect $shape roots "MPI_Bcast: processes [0-9]+ and [0-9]+ do not give the same root"
  expect $shape order deadlock "rank 0 in MPI_Barrier" "rank [0-9]+ in MPI_Allgather"
  expect $shape missing deadlock "in MPI_Allreduce" "in MPI_Recv"
  expect $shape nonblocking deadlock "MPI_Iallreduce" "MPI_Ibarrier"
  expect $shape kinds deadlock "rank 0 in MPI_Barrier" "MPI_Ibarrier .*nonblocking collective number 0"
}

for shape in 2x1 2x3 4x2; do between $shape; done
expect 1x4 kinds deadlock "rank 0 in MPI_Barrier" "MPI_Ibarrier .*nonblocking collective number 0"
export FGMPI_COLL_BARRIER=board FGMPI_COLL_BCAST=board FGMPI_COLL_ALLREDUCE=board
for shape in 3x1 4x2; do between $shape; done
[ $failed -eq 0 ] && echo " No Errors"
exit $((failed > 0))
