#!/usr/bin/env bash
# What FGMPI_RMA_CHECK reports, with both calls, both ranks, the window and the bytes; and that it reports nothing else.
# usage: conflicts.sh BIN PROGRAMS
set -u
bin=$1 programs=$2
failed=0
run() {  # MODE FLAVOR
  FGMPI_RMA_CHECK=${check:-on} timeout 60 "$bin/mpiexec" -n "$p" -nfg "$c" "$programs/conflicts" "$@" 2>&1
}
expect() {  # MODE FLAVOR WORDS
  local out
  out=$(run "$1" "$2")
  [ $? -eq 0 ] && grep -qE "conflicting accesses: .*($3)" <<< "$out" && return
  echo "$p x $c, $1, $2: missing: $3"
  echo "$out"
  failed=1
}
for shape in "1 4" "4 1" "2 2"; do
  read -r p c <<< "$shape"
  for flavor in allocate create shared; do
    in='of rank 3 in window "board" \(0x[0-9a-f]*\), which'
    put='MPI_Put of rank [01] writes'
    expect put_put $flavor "$put bytes 12 to 15 $in $put in the same epoch"
    expect put_get $flavor "bytes 20 to 23 $in"
    expect sum_put $flavor "bytes 12 to 15 $in"
    expect sum_prod $flavor "MPI_Accumulate of rank [01] accumulates into bytes 8 to 11 $in MPI_Accumulate of rank [01]"
    expect types $flavor "MPI_Accumulate of rank [01] accumulates into bytes 8 to 11 $in"
    expect self $flavor "MPI_Put of rank 0 writes bytes 4 to 7 $in MPI_Put of rank 0 writes"
    expect posted $flavor "$put bytes 16 to 23 $in $put"
    expect pending $flavor "MPI_Put of rank 1 writes bytes 12 to 15 $in MPI_Put of rank 0 writes"
    expect exposed $flavor "MPI_Allreduce of rank 3 reads bytes 0 to 7 $in MPI_Put of rank 0 writes"
    expect origin $flavor 'MPI_Sendrecv writes 4 bytes at 0x[0-9a-f]*, which MPI_Put of rank 0 to rank 3 reads \(window "board"'
    expect result $flavor 'MPI_Bcast reads 4 bytes at 0x[0-9a-f]*, which MPI_Get of rank 0 to rank 1 writes'
    out=$(run allowed $flavor)
    if [ $? -ne 0 ] || [ -n "$out" ]; then
      echo "$p x $c, allowed, $flavor: $out"
      failed=1
    fi
    out=$(check=error run fails_early $flavor)
    if [ $? -ne 0 ] || [ -n "$out" ]; then
      echo "$p x $c, fails_early, $flavor: $out"
      failed=1
    fi
  done
done
# Between processes that share no memory nothing is compared, which is said once; within one it is.
export FGMPI_TRANSPORT=ofi
read -r p c <<< "2 2"
out=$(run allowed allocate)
if [ $? -ne 0 ] || ! grep -q "^fgmpi: FGMPI_RMA_CHECK: processes 0 and 1 do not share memory" <<< "$out" ||
  [ "$(wc -l <<< "$out")" -ne 1 ]; then
  echo "no shared memory: $out"
  failed=1
fi
exit $failed
