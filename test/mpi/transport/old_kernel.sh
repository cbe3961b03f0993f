#!/usr/bin/env bash
# Kernels before 5.11, and containers whose filters refuse system calls that they do not know: a filter refuses epoll_pwait2, close_range,
# pidfd_open and pidfd_getfd. Jobs run, wait for nothing and end when a process is killed.   old_kernel.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 programs=$2 failed=0
work=$(mktemp -d)
calls=epoll_pwait2,close_range,pidfd_open,pidfd_getfd
trap 'rm -rf "$work"' EXIT
cc -Wall "$(dirname "$0")/../life/filter/withhold.c" -o "$work/withhold" || { echo "FAILED no withhold"; exit 1; }
"$work/withhold" 38 $calls true || { echo "skipped: no filter of system calls can be set here"; exit 0; }
fail() { echo "FAILED $*"; head -8 "$work/out"; failed=1; }
# try NAME=VALUE PROGRAM [ARGUMENT...]: with each of the errors.
try() {
  local set=$1 program=$programs/$2 error
  shift 2
  for error in 38 1; do  # ENOSYS, EPERM
    SECONDS=0
    env "$set" timeout -k 5 60 "$work/withhold" $error $calls "$bin/mpiexec" -n 3 -nfg 2 "$program" "$@" \
      </dev/null >"$work/out" 2>&1 || fail "$set $program $*, error $error: status $?"
    echo "done $set ${program##*/} $*, error $error (${SECONDS} s)"
  done
}
for set in FGMPI_TRANSPORT=shm FGMPI_SHM_BACKING=shm FGMPI_TRANSPORT=ofi FGMPI_TRANSPORT=shm,ofi; do
  try $set traffic
  try $set idle 1
done
# Without pidfds no process reports which one was lost; the launcher ends the job.
"$work/withhold" 38 $calls "$bin/mpiexec" -n 3 -nfg 2 "$programs/killed" wait </dev/null >"$work/out" 2>&1 &
job=$!
for ((i = 0; i < 300; i++)); do
  [ "$(grep -c '^pid ' "$work/out")" = 3 ] && break
  sleep 0.05
done
kill -KILL "$(sed -n 's/^pid 1 //p' "$work/out")" || fail "the job to be killed did not start"
for ((i = 0; i < 200; i++)); do kill -0 $job 2>/dev/null || break; sleep 0.05; done
if kill -KILL $job 2>/dev/null; then fail "a job goes on without one of its processes"; fi
wait $job && fail "a job that lost a process ends well"
exit $failed
