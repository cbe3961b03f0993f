#!/usr/bin/env bash
# Kernels before 5.11, and containers whose filters refuse system calls that they do not know: a filter refuses epoll_pwait2, close_range,
# pidfd_open and pidfd_getfd. Jobs run, wait for nothing and end when a process is killed.   old_kernel.sh BIN PROGRAMS
set -u
bin=$1 programs=$2 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/withhold.c" <<'END'
/* withhold ERRNO COMMAND...: those system calls fail. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char** argv) {
  const unsigned calls[] = {SYS_epoll_pwait2, SYS_close_range, SYS_pidfd_open, SYS_pidfd_getfd};
  enum { kCalls = sizeof calls / sizeof calls[0] };
  struct sock_filter code[2 + 2 * kCalls], *c = code;
  if (argc < 3) return 2;
  *c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < kCalls; i++) {
    *c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
    *c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | atoi(argv[1]));
  }
  *c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)(c - code), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
    perror("withhold");
    return 77;
  }
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 127;
}
END
cc -Wall "$work/withhold.c" -o "$work/withhold" || { echo "FAILED no withhold"; exit 1; }
"$work/withhold" 38 true || { echo "skipped: no filter of system calls can be set here"; exit 0; }
fail() { echo "FAILED $*"; head -8 "$work/out"; failed=1; }
# try NAME=VALUE PROGRAM [ARGUMENT...]: with each of the errors.
try() {
  local set=$1 program=$programs/$2 error
  shift 2
  for error in 38 1; do  # ENOSYS, EPERM
    SECONDS=0
    env "$set" timeout -k 5 60 "$work/withhold" $error "$bin/mpiexec" -n 3 -nfg 2 "$program" "$@" \
      </dev/null >"$work/out" 2>&1 || fail "$set $program $*, error $error: status $?"
    echo "done $set ${program##*/} $*, error $error (${SECONDS} s)"
  done
}
for set in FGMPI_TRANSPORT=shm FGMPI_SHM_BACKING=shm FGMPI_TRANSPORT=ofi FGMPI_TRANSPORT=shm,ofi; do
  try $set traffic
  try $set idle 1
done
# Without pidfds no process reports which one was lost; the launcher ends the job.
"$work/withhold" 38 "$bin/mpiexec" -n 3 -nfg 2 "$programs/killed" wait </dev/null >"$work/out" 2>&1 &
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
