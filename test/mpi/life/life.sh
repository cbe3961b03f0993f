#!/usr/bin/env bash
# What a user sees when a job ends, well or badly: exit statuses, one clear line, nothing left behind.
set -u
bin=$1 programs=$2 failed=0
prog=$programs/exits
[ -x "$prog" ] || { echo "no program $prog"; exit 1; }

# expect NAME STATUS TEXT command...: runs it, compares the exit status ("bad": any but 0) and looks for TEXT in its output.
expect() {
  local name=$1 status=$2 text=$3 out got
  shift 3
  out=$(timeout 60 "$@" 2>&1)
  got=$?
  if [ "$status" = bad ] && [ $got -ne 0 ] && [ $got -ne 124 ]; then got=bad; fi
  if [ "$got" != "$status" ]; then
    echo "FAILED $name: exit status $got, expected $status: $*"; echo "$out" | tail -5; failed=$((failed + 1)); return
  fi
  if [ -n "$text" ] && ! grep -qE -- "$text" <<<"$out"; then
    echo "FAILED $name: no /$text/ in the output of: $*"; echo "$out" | tail -5; failed=$((failed + 1)); return
  fi
  echo "ok $name"
}

shm_before=$(ls /dev/shm | sort)
# Settings that a script has left empty.
empty=$(for f in SCHED STACK_SIZE GROUPMAP TRANSPORT DEADLOCK LEAKS SPIN PRIVATIZE WATCH SHM_PAST_CACHES SHM_BACKING SHM_MEMBARRIER \
  EAGER_LOCAL OFI_READ OFI_RECV CRASH_REPORT; do echo "FGMPI_$f="; done)
# shellcheck disable=SC2086
expect "empty settings" 0 "" env $empty "$bin/mpiexec" -n 2 -nfg 2 "$prog" none 0
for shape in "1 1" "1 5" "3 1" "2 50"; do
  set -- $shape
  run=("$bin/mpiexec" -n "$1" -nfg "$2" "$prog")
  expect "normal end ($shape)" 0 "" "${run[@]}" none 0
  expect "no MPI_Init at all ($shape)" 0 "" "${run[@]}" noinit 0
  for i in 1 2 3 4; do expect "MPI_Init by some ($shape)" 0 "" "${run[@]}" some 0; done
  expect "return 7 ($shape)" 7 "" "${run[@]}" return 0
  expect "exit(8) ($shape)" 8 "" "${run[@]}" exit 0
  expect "exit(9) without finalize ($shape)" 9 "rank 0 exited with status 9 without" "${run[@]}" forget 0
  expect "SIGHUP ($shape)" 1 "" "${run[@]}" hangup 0
  expect "MPI_Abort ($shape)" 10 "rank 0 called MPI_Abort with error code 10" "${run[@]}" abort 0
  expect "MPI_Abort before MPI_Init ($shape)" 10 "fgmpi: a process before MPI_Init called MPI_Abort with error code 10" "${run[@]}" abort-first 0
  expect "bad rank ($shape)" bad "Fatal error on rank 0: Invalid rank in MPI_Send: dest is [0-9]+; allowed is 0 to" "${run[@]}" badrank 0
  expect "bad tag ($shape)" bad "Invalid tag in MPI_Send: tag is -7; allowed is 0 to" "${run[@]}" badtag 0
  expect "null communicator ($shape)" bad "Invalid communicator in MPI_Comm_size: comm is MPI_COMM_NULL" "${run[@]}" nullcomm 0
  expect "after MPI_Finalize ($shape)" bad "MPI_Barrier: called before MPI_Init or after MPI_Finalize" "${run[@]}" late 0
  expect "MPI_Init twice ($shape)" bad "MPI_Init: called a second time" "${run[@]}" twice 0
done
expect "deadlock of one process" bad "deadlock" "$bin/mpiexec" -n 1 -nfg 4 "$prog" deadlock 2
for c in 1 3; do expect "ranks that never start MPI ($c a process)" 7 "deadlock" "$bin/mpiexec" -n 3 -nfg $c "$prog" never 7; done
# One process cannot begin: the others, which may be in MPI_Init, do not wait for it.
for wrong in FGMPI_PRIVATIZE FGMPI_SCHED FGMPI_EAGER_LOCAL FGMPI_DEADLOCK; do
  expect "a bad $wrong of one process" bad "$wrong.* allowed" "$bin/mpiexec" -n 1 -nfg 3 "$prog" none 0 : \
    -n 1 -nfg 3 -env $wrong nonsense "$prog" none 0
done
expect "leaks" 0 "1 x communicator of MPI_Comm_split" env ASAN_OPTIONS=detect_leaks=0 FGMPI_LEAKS=1 "$bin/mpiexec" -n 1 -nfg 4 "$prog" leak 2
expect "leaks" 0 "1 x request of MPI_Irecv" env ASAN_OPTIONS=detect_leaks=0 FGMPI_LEAKS=1 "$bin/mpiexec" -n 1 -nfg 4 "$prog" leak 2
# An error that all ranks make is printed once, with mpiexec and without: the first one ends the job, the process's other
# ranks run no more.
for how in badrank abort; do
  for start in "$bin/mpiexec -n 1 -nfg 5" "env FGMPI_NFG=5"; do
    told=$(timeout 60 $start "$prog" $how -1 2>&1 | grep -c '^fgmpi:')
    if [ "$told" = 1 ]; then
      echo "ok $how of all ranks ($start)"
    else
      echo "FAILED $how of all ranks ($start): $told lines instead of 1"; failed=$((failed + 1))
    fi
  done
done
expect "MPI_Abort of a singleton" 10 "" env FGMPI_NFG=5 "$prog" abort 2
FGMPI_DEADLOCK=off expect "a suffered deadlock" 124 "" timeout 2 "$prog" deadlock 0
expect "last rank exits" 8 "" "$bin/mpiexec" -n 2 -nfg 3 "$prog" exit 5
expect "singleton" 0 "" "$prog" none 0
expect "singleton of 6 ranks" 0 "" env FGMPI_NFG=6 "$prog" none 0
expect "bad FGMPI_NFG" 1 "FGMPI_NFG=x" env FGMPI_NFG=x "$prog" none 0

# Input that hydra finds together with the end of the program, because it was stopped meanwhile: src/launcher/hydra/hydra_guard.cc.
late_input() {
  local work job got
  work=$(mktemp -d)
  mkfifo "$work/input"
  exec 9<>"$work/input"
  "$bin/mpiexec" -n 1 "$@" 0<"$work/input" 9>&- &
  job=$!
  sleep 0.3
  kill -STOP $job
  sleep 0.7
  echo late >&9
  kill -CONT $job
  wait $job
  got=$?
  exec 9>&-
  rm -r "$work"
  return $got
}
expect_late() {
  local got
  late_input "${@:3}" >/dev/null 2>&1
  got=$?
  if [ $got = "$2" ]; then echo "ok $1"; else echo "FAILED $1: exit status $got, expected $2"; failed=$((failed + 1)); fi
}
expect_late "input when the program has ended" 0 sleep 0.5
expect_late "input when the program has failed" 7 sh -c 'sleep 0.5; exit 7'

# More input than a pipe holds, for a program that takes its time; the first process gets it, and nobody else any.
expect_input() {  # expect_input NAME SUM command... < input
  local got
  got=$(timeout 60 "${@:3}" 2>&1)
  if [ "$got" = "$2" ]; then echo "ok $1"; else echo "FAILED $1: says $got, expected $2"; failed=$((failed + 1)); fi
}
lines() { seq 1 100000; }
sum=$(lines | cksum)
expect_input "long input by a pipe" "$sum" "$bin/mpiexec" -n 1 sh -c 'sleep 0.5; cksum' < <(lines)
expect_input "long input by a file, through a script" "$sum" "$bin/mpiexec" -n 3 \
  sh -c 'sleep 0.5; if [ "$PMI_RANK" = 0 ]; then cksum; else cat; fi' <<<"$(lines)"
expect_input "some input for the second program, which is not the first process" "" "$bin/mpiexec" -n 1 true : -n 1 cat <<<"$(lines)"
expect_input "no input" "$(cksum </dev/null)" "$bin/mpiexec" -n 1 cksum </dev/null
expect_input "what the program leaves belongs to who comes after it" 3 sh -c '
  read -r first; "$0" -n 2 sh -c "[ \$PMI_RANK != 0 ] || read -r second"; read -r third; echo "$third"' "$bin/mpiexec" < <(printf '1\n2\n3\n')

# Interrupted and killed jobs leave nothing in /dev/shm and no process.
for signal in INT TERM KILL; do
  "$bin/mpiexec" -n 2 -nfg 10 "$prog" hang 0 >/dev/null 2>&1 &
  job=$!
  sleep 1
  kill -$signal $job
  wait $job 2>/dev/null
  for i in 1 2 3 4 5 6 7 8 9 10; do
    pgrep -f "$prog hang 0" >/dev/null || break
    sleep 0.5
  done
  if pgrep -f "$prog hang 0" >/dev/null; then
    echo "FAILED: processes left after SIG$signal"; pkill -9 -f "$prog hang 0"; failed=$((failed + 1))
  else
    echo "ok nothing runs after SIG$signal"
  fi
done
left=$(comm -13 <(echo "$shm_before") <(ls /dev/shm | sort) | grep -i fgmpi)
if [ -n "$left" ]; then echo "FAILED: left in /dev/shm: $left"; failed=$((failed + 1)); fi
echo "$failed failed"
exit $((failed > 0))
