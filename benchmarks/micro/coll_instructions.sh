#!/usr/bin/env bash
# Instructions a member and collective, 16 ranks in one process, by callgrind: the difference of two runs, so that start
# and end do not count. Exact, whatever the machine does beside.
# usage: coll_instructions.sh PROGRAM [KIND:BYTES[:WAY]...]   (coll_loop of the build tree; with WAY: coll_opened)
set -eu
prog=$1
shift
[ $# -gt 0 ] || set -- barrier:0 bcast:8 bcast:8192 reduce:8 allreduce:8 allreduce:65536 scan:8 gather:8 gather:4096 \
  scatter:8 allgather:8 alltoall:8 alltoallv:8 ialltoallv:8
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
ranks=16
count() {  # KIND BYTES TIMES [WAY]
  FGMPI_NFG=$ranks valgrind --tool=callgrind --callgrind-out-file="$out/cg" "$prog" "$@" 2>&1 |
    sed -n 's/.*Collected : //p'
}
for what; do
  IFS=: read -r kind bytes way <<< "$what"
  few=$(count "$kind" "$bytes" 50 $way) many=$(count "$kind" "$bytes" 150 $way)
  printf '%-20s %d\n' "$what" $(((many - few) / 100 / ranks))
done
