#!/usr/bin/env bash
# Processes, and the launcher, are killed at every stage of a job's life: the job ends within seconds and with a bad
# status, one line says which process and which ranks, and no process, no file in /dev/shm or /tmp stays behind.
#   killed.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 program=$2/killed failed=0
[ -x "$program" ] || { echo "no program $program"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
. "$(dirname "$0")/shm_files.bash"
fail() {
  echo "FAILED $*"
  { head -12 "$work/out"; tail -n +13 "$work/out" | grep '^fgmpi:'; } | cut -c1-200
  failed=1
}

# start P C MODE: starts the job and waits until its processes have said their ids, into pid[].
start() {
  local i n=$1
  mode=$3
  : >"$work/out"
  "$bin/mpiexec" -n "$1" -nfg "$2" "$program" "$3" </dev/null >"$work/out" 2>&1 &
  job=$!
  for ((i = 0; i < 300; i++)); do
    [ "$(grep -c '^pid ' "$work/out")" = "$n" ] && break
    sleep 0.05
  done
  mapfile -t pid < <(sed -n 's/^pid \([0-9]*\) /\1 /p' "$work/out" | sort -n | cut -d' ' -f2)
  [ ${#pid[@]} = "$n" ] || { fail "$mode: the job did not start"; kill -KILL $job; exit 1; }
  sleep 0.2
}

# ended NAME LINES REGEX: the job has to end now; LINES of /REGEX/ are expected in its output.
ended() {
  local name=$1 lines=$2 text=$3 i status got p
  SECONDS=0
  for ((i = 0; i < 200; i++)); do kill -0 $job 2>/dev/null || break; sleep 0.05; done
  kill -0 $job 2>/dev/null && { fail "$name: the job goes on"; kill -KILL $job "${pid[@]}"; }
  wait $job 2>/dev/null
  status=$?
  [ $status != 0 ] || fail "$name: exit status 0"
  for ((i = 0; i < 100; i++)); do
    got=
    for p in "${pid[@]}"; do [ -d "/proc/$p" ] && got+=" $p"; done
    [ -z "$got" ] && break
    sleep 0.05
  done
  [ -z "$got" ] || { fail "$name: processes are left:$got"; kill -KILL $got; }
  got=$(shm_files)
  [ -z "$got" ] || fail "$name: files are left in /dev/shm: $got"
  [ -z "$(ls "$TMPDIR")" ] || fail "$name: files are left in TMPDIR: $(ls "$TMPDIR")"
  got=$(grep -cE -- "$text" "$work/out")
  [ "$got" = "$lines" ] || fail "$name: $got lines instead of $lines of /$text/"
  echo "done $name (exit status $status, ${SECONDS} s)"
}
# gone NAME PROCESS RANKS WHY: the output has exactly one line about a loss, with this process, these ranks and WHY.
gone() {
  ended "$1" 1 "^fgmpi: process [0-9]+ of the job .* is gone: "
  grep -qE "^fgmpi: process $2 of the job \(process id ${pid[$2]} on host [^ ]+, world $3\) is gone: $4" "$work/out" ||
    fail "$1: not the right process, id or ranks"
  ! grep -q "BAD TERMINATION" "$work/out" || fail "$1: told twice"
}
# The launcher looks for dead processes whenever one of them writes, so it may be the first to report one: then its message,
# which names the process id only, is the only one.
gone_or_launcher() {
  if grep -q "BAD TERMINATION" "$work/out" || { sleep 0.5; grep -q "BAD TERMINATION" "$work/out"; }; then
    ended "$1" 0 "^fgmpi: process [0-9]+ of the job .* is gone: "
  else
    gone "$@"
  fi
}
killed='killed by signal 9 \(SIGKILL\)$'
# Where the launcher may have waited for the process before anyone could see what it died of: while others write.
seen_late="($killed|it has ended\$)"

for mode in wait compute; do
  for victim in 0 1 3; do
    start 4 25 $mode
    kill -KILL "${pid[$victim]}"
    gone "process $victim of 4 killed ($mode)" $victim "ranks $((victim * 25)) to $((victim * 25 + 24))" "$killed"
  done
done
start 4 25 chatty
kill -KILL "${pid[1]}"
gone_or_launcher "process 1 of 4 killed (chatty)" 1 "ranks 25 to 49" "$seen_late"
start 2 1 wait
kill -KILL "${pid[1]}"
gone "one of two" 1 "rank 1" "$killed"
start 3 2 compute
kill -SEGV "${pid[2]}"
ended "a crash is explained by the process itself" 0 "is gone"
FGMPI_CRASH_REPORT=0 start 3 2 compute
kill -SEGV "${pid[2]}"
gone "a crash without a report" 2 "ranks 4 to 5" 'killed by signal 11 \(SIGSEGV\)$'
FGMPI_TRANSPORT=ofi start 3 2 wait
kill -KILL "${pid[1]}"
gone "over the network transport" 1 "ranks 2 to 3" "$killed"

start 3 1 before
kill -KILL "${pid[0]}"
ended "killed in MPI_Init" 1 "PID [0-9]+ RUNNING AT"
start 3 4 finalize
kill -KILL "${pid[1]}"
gone "killed in MPI_Finalize" 1 "ranks 4 to 7" "$killed"
start 3 4 finalize
kill -KILL "${pid[2]}"
gone "killed while the others are in MPI_Finalize" 2 "ranks 8 to 11" "$killed"
start 3 4 after
kill -KILL "${pid[2]}"
gone "killed after MPI_Finalize" 2 "ranks 8 to 11" "$killed"
start 1 4 compute
kill -KILL "${pid[0]}"
ended "the only process" 1 "PID ${pid[0]} RUNNING AT"

for signal in INT TERM KILL; do
  start 4 10 wait
  kill -$signal $job
  ended "SIG$signal to mpiexec" 0 "is gone"
done
start 3 10 compute
proxy=$(awk '{ print $4 }' "/proc/${pid[0]}/stat")
kill -KILL "$proxy"
ended "hydra's proxy killed" 0 "is gone"
start 1 10 compute
kill -KILL "$(awk '{ print $4 }' "/proc/${pid[0]}/stat")"
ended "hydra's proxy killed, one process" 0 "is gone"

# A stopped process is not reported as lost, and gets the messages that were sent meanwhile when it is continued.
good() { sed -n 's/^good //p' "$work/out" | tail -1; }
for transport in shm ofi; do
  FGMPI_TRANSPORT=$transport start 3 2 verify
  kill -STOP "${pid[1]}"
  sleep 3
  kill -0 $job 2>/dev/null && ! grep -q fgmpi: "$work/out" ||
    fail "a stopped process was taken for a fault ($transport)"
  before=$(good)
  kill -CONT "${pid[1]}"
  for ((i = 0; i < 200; i++)); do [ "$(good)" != "$before" ] && break; sleep 0.05; done
  [ "$(good)" != "$before" ] || fail "nothing moves after SIGSTOP and SIGCONT ($transport)"
  kill -KILL "${pid[1]}"
  gone_or_launcher "stopped, continued, killed ($transport)" 1 "ranks 2 to 3" "$seen_late"
done

# What was delivered before is intact.
for transport in shm ofi; do
  FGMPI_TRANSPORT=$transport start 4 2 verify
  sleep 1
  kill -KILL "${pid[3]}"
  gone_or_launcher "the sender killed in mid-stream ($transport)" 3 "ranks 6 to 7" "$seen_late"
  checked=$(good)
  [ "${checked:-0}" -gt 100 ] || fail "only ${checked:-no} messages were checked before the kill ($transport)"
  ! grep -q damaged "$work/out" || fail "damaged messages ($transport)"
done
exit $failed
