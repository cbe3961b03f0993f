#!/usr/bin/env bash
# Instructions of an 8-byte MPI_Send/MPI_Recv pair between collocated proclets, one switch each, and of pairs of short
# messages of derived datatypes, by callgrind: the difference of two runs, so that start and end do not count. Exact,
# whatever the machine does beside.
# usage: pt2pt_instructions.sh PROGRAM   (pt2pt_pair of the build tree; pt2pt_pair_abi: for the standard ABI)
set -eu
prog=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# A program of the standard ABI starts itself again to have this library first, which it could not under valgrind.
case $prog in *_abi) export LD_PRELOAD="$(cd "$(dirname "$prog")/.." && pwd)/lib/libmpich.so.12" ;; esac
count() {  # WHAT TIMES [SHAPE]
  FGMPI_NFG=2 valgrind --tool=callgrind --callgrind-out-file="$out/cg" "$prog" "$@" 2>&1 |
    sed -n 's/.*Collected : //p'
}
few=$(count latency 1000) many=$(count latency 3000)
echo "instructions a half round trip (MPI_Send + MPI_Recv + 1 switch): $(((many - few) / 2000 / 5 / 2))"
few=$(count rate 100) many=$(count rate 300)
echo "instructions a message (MPI_Isend + MPI_Irecv + their parts of MPI_Waitall): $(((many - few) / 200 / 5 / 64))"
echo "MPI_Send + MPI_Recv + 1 switch, 32 bytes (struct: 29) of a type:"
for shape in doubles contiguous vector indexed struct; do
  few=$(count latency 1000 $shape) many=$(count latency 3000 $shape)
  printf '%12s %d\n' $shape $(((many - few) / 2000 / 5 / 2))
done
