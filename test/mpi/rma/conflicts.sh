#!/usr/bin/env bash
# What FGMPI_RMA_CHECK reports, with both calls, both ranks, the window and the bytes; and that it reports nothing else.
# usage: conflicts.sh BIN PROGRAMS [WRAPPER]: the WRAPPER places the processes on hosts; then these are shapes of several hosts.
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 programs=$2 wrapper=${3:-}
failed=0
run() {  # MODE FLAVOR
  # shellcheck disable=SC2086
  FGMPI_RMA_CHECK=${check:-on} timeout 60 "$bin/mpiexec" -n "$p" -nfg "$c" $wrapper "$programs/conflicts" "$@" 2>&1
}
expect() {  # MODE FLAVOR WORDS
  local out
  out=$(run "$1" "$2")
  [ $? -eq 0 ] && grep -qE "conflicting accesses: .*($3)" <<< "$out" && return
  echo "$p x $c, $1, $2: missing: $3"
  echo "$out"
  failed=1
}
look() {  # FLAVOR...
  for flavor in "$@"; do
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
}
if [ -n "$wrapper" ]; then
  p=4 c=1
  look allocate create
  p=2 c=2
  look allocate create
  exit $failed
fi
for shape in "1 4" "4 1" "2 2"; do
  read -r p c <<< "$shape"
  look allocate create shared
done
# Processes that share no memory ask each other.
export FGMPI_TRANSPORT=ofi
for shape in "4 1" "2 2"; do
  read -r p c <<< "$shape"
  for network in messages provider; do
    export FGMPI_RMA_NETWORK=$network
    look allocate create
  done
done
exit $failed
