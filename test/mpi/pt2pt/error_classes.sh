#!/usr/bin/env bash
# Every wrong argument has the error class that the host MPICH gives it: one program, run under both.
set -u
bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
host_cc=$(command -v mpicc.mpich) && host_run=$(command -v mpiexec.hydra) || {
  echo "skipped: mpicc.mpich or mpiexec.hydra is not installed"
  exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
flags="-O1 -w $here/error_classes.c"
"$host_cc" $flags -o host && "$bin/mpicc" $flags -o ours || exit 1
timeout 60 "$host_run" -n 1 ./host >host.out || { echo "FAILED: the host's run"; tail -3 host.out; exit 1; }
timeout 60 "$bin/mpiexec" -n 1 ./ours >ours.out || { echo "FAILED: our run"; tail -3 ours.out; exit 1; }
lines=$(wc -l <host.out)
[ "$lines" -gt 500 ] || { echo "FAILED: only $lines lines"; exit 1; }
# MPICH 4.0's class for the second buffer is the one that says what is wrong; it is MPI_ERR_OTHER from 4.2 on.
sed -i 's/^\(MPI_Buffer_attach(other, sizeof other):\) OTHER$/\1 BUFFER/' host.out
diff host.out ours.out && echo "ok: $lines lines are the same"
