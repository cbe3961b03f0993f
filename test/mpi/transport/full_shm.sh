#!/usr/bin/env bash
# A /dev/shm that is really full: a tmpfs of a few kilobytes in a mount namespace of its own. The job ends at once, says
# why, and leaves no file and no process.   full_shm.sh BIN PROGRAMS
set -u
bin=$1 programs=$2
unset FGMPI_TRANSPORT
if [ -z "${FGMPI_FULL_SHM_INSIDE:-}" ]; then
  why=$(unshare --mount sh -c 'mount -t tmpfs -o size=64k none /dev/shm' 2>&1) || {
    echo "skipped: no /dev/shm of our own can be mounted here: $why"; exit 0; }
  FGMPI_FULL_SHM_INSIDE=1 exec unshare --mount --pid --fork --mount-proc --kill-child bash "$0" "$@"
fi
failed=0
fail() { echo "FAILED $*"; echo "$out" | head -5; failed=1; }

# try NAME SIZE STATUS: three processes with a /dev/shm of that size, by POSIX objects instead of memfds.
try() {
  local name=$1 size=$2 expected=$3 status i
  mount -t tmpfs -o "size=$size" none /dev/shm
  SECONDS=0
  out=$(FGMPI_SHM_BACKING=${4-shm} timeout -k 5 30 "$bin/mpiexec" -n 3 "$programs/traffic" mix 2>&1 </dev/null)
  status=$?
  if [ "$expected" = ok ]; then
    [ "$status" = 0 ] || fail "$name: exit status $status, expected 0"
  else
    if [ "$status" = 0 ] || [ "$status" = 124 ] || [ "$status" = 137 ]; then fail "$name: exit status $status"; fi
    grep -qE "process id [0-9]+ on host .* cannot get [0-9]+ bytes of shared memory in /dev/shm: No space" <<<"$out" ||
      fail "$name: does not say that /dev/shm is full"
    # A line of each process that found no room, and nothing else.
    [ "$(wc -l <<<"$out")" -le 3 ] || fail "$name: more than a line a process"
  fi
  [ "$SECONDS" -le 10 ] || fail "$name: took $SECONDS s"
  for ((i = 0; i < 100; i++)); do [ -z "$(ls /dev/shm)$(pgrep -x traffic)" ] && break; sleep 0.1; done
  [ -z "$(ls /dev/shm)" ] || fail "$name: files are left in /dev/shm: $(ls /dev/shm)"
  [ -z "$(pgrep -x traffic)" ] || fail "$name: processes are left"
  umount /dev/shm
  echo "done $name (${SECONDS} s)"
}
try "no room for one segment" 64k bad
try "no room for the third segment" 300k bad
try "no room for the rings" 700k bad
try "room enough" 16m ok
try "no need of /dev/shm" 64k ok memfd
exit $failed
