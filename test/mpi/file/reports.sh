#!/usr/bin/env bash
# Files in the report of leaks, and in the message of an error that ends the job; ranks run while another one's write waits.
# Needs URING: parts of it are about io_uring.
# usage: reports.sh BIN PROGRAMS
set -u
bin=$1 programs=$2
failed=0
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
expect() {  # WORDS OUTPUT
  if ! grep -qE "$1" <<< "$2"; then
    echo "missing: $1"
    echo "$2"
    failed=1
  fi
}
for shape in "1 2" "2 1"; do
  set -- $shape
  run() { timeout 60 "$bin/mpiexec" -n "$1" -nfg "$2" "$programs/left" "$3" 2>&1; }
  out=$(FGMPI_LEAKS=1 run "$1" "$2" leak)
  expect "x file of MPI_File_open, left.dat" "$out"
  out=$(run "$1" "$2" fatal)
  expect "Fatal error on rank 0: .*MPI_File_seek: whence is 99" "$out"
done
# A read of a pipe that nobody has written to: the other rank goes on and writes.
mkfifo pipe
out=$(timeout 60 "$bin/mpiexec" -n 1 -nfg 2 "$programs/left" pipe 2>&1)
expect "the pipe said 42" "$out"
# Who makes the system calls, where io_uring is allowed and where it is not. Threads of the pool are there while calls are under
# way and for a while longer.
engine() {  # ENGINE ARGUMENT RANKS
  FGMPI_FILE_ENGINE=$1 timeout 60 "$bin/mpiexec" -n 2 -nfg "$3" "$programs/engines" "$2" 2>&1
}
direct=$(engine direct allowed 3)
expect "rings 0" "$direct"
expect "rings 0" "$(engine uring allowed 1)"
few=$(sed -n 's/.*, threads //p' <<< "$direct")
for way in "threads allowed" "uring refused"; do
  # shellcheck disable=SC2086
  out=$(engine $way 3)
  expect "rings 0" "$out"
  many=$(sed -n 's/.*, threads //p' <<< "$out")
  [ "${many:-0}" -gt "${few:-0}" ] || { echo "$way: $many threads, as many as with the engine direct"; failed=1; }
done
out=$(engine uring allowed 3)
if [ "$("$programs/engines" probe 2> /dev/null | grep -c 'io_uring is allowed')" = 1 ]; then
  expect "rings 1" "$out"
else
  echo "this kernel, or the container, allows no io_uring: not tested"
fi
# Hints from a file, printed; the name of a file system that is none.
printf '# hints\ncb_buffer_size 12345\nnonsense 1\nromio_ds_write enable\n' > hints
out=$(ROMIO_HINTS=hints ROMIO_PRINT_HINTS=1 timeout 60 "$bin/mpiexec" -n 2 -nfg 2 "$programs/left" leak 2>&1)
expect "^key = cb_buffer_size +value = 12345" "$out"
expect "^key = romio_ds_write +value = enable" "$out"
[ "$(grep -c 'key = cb_nodes' <<< "$out")" = 1 ] || { echo "hints are not printed once: $out"; failed=1; }
grep -q nonsense <<< "$out" && { echo "a key that is unknown is printed"; failed=1; }
out=$(ROMIO_FSTYPE_FORCE=nfs: timeout 60 "$bin/mpiexec" -n 2 "$programs/left" leak 2>&1)
[ -z "$out" ] || { echo "ROMIO_FSTYPE_FORCE=nfs: $out"; failed=1; }
expect "ROMIO_FSTYPE_FORCE is .floppy:.; allowed are" \
  "$(ROMIO_FSTYPE_FORCE=floppy: timeout 60 "$bin/mpiexec" -n 2 "$programs/left" fatal 2>&1)"
exit $failed
