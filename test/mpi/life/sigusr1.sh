#!/usr/bin/env bash
# SIGUSR1, which hydra passes on to all processes of a job, or sends when it believes that one of them has failed, does
# not end a job without a failure, nor a shell around its program, and ends no system call of it early. A program's own handler
# is called. Sent by any other process, it ends the process as usual.
#   sigusr1.sh BIN PROGRAMS
set -u
bin=$1 program=$2/notified failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# start NAME PROCESSES RANKS WORD...: the job with RANKS a process, with its output in $work/NAME; $job and, once all have started, $pid of one process.
start() {
  local i out=$work/$1 processes=$2 ranks=$3
  shift 3
  : >"$out"
  "$bin/mpiexec" "${options[@]}" -n $processes -nfg $ranks "${shell[@]}" "$program" "$@" </dev/null >"$out" 2>&1 &
  job=$!
  for ((i = 0; i < 300 && $(grep -c '^pid ' "$out") < processes * ranks; i++)); do sleep 0.05; done
  pid=$(sed -n '$s/^pid //p' "$out")
}
# ends NAME STATUS TEXT
ends() {
  local got
  wait $job
  got=$?
  [ "$2" = bad ] && [ $got != 0 ] && got=bad
  if [ "$got" = "$2" ] && grep -q "$3" "$work/$1"; then
    echo "ok $1"
  else
    echo "FAILED $1: exit status $got"
    cat "$work/$1"
    failed=1
  fi
}

options=() shell=()
for ((repeat = 0; repeat < 3; repeat++)); do
  start mpiexec 2 2
  kill -USR1 $job
  ends mpiexec 0 "No Errors"
  start handler 2 1 handler
  kill -USR1 $job
  ends handler 0 "No Errors"
done
start blocked 2 1 blocked
kill -USR1 $job
ends blocked 0 "No Errors"
for options in "" -summary; do
  options=($options)
  for shape in "4 1" "1 4" "2 6"; do
    start "calls $shape ${options[*]}" $shape calls
    for ((i = 0; i < 10; i++)); do
      kill -USR1 $job
      sleep 0.1
    done
    ends "calls $shape ${options[*]}" 0 "No Errors"
  done
done
options=() shell=(sh -c '"$@"; echo status $?' sh)
start shell 2 2
kill -USR1 $job
ends shell 0 "status 0"
shell=()
# As early as hydra's first step.
printf '#!/bin/sh\nkill -USR1 $$\necho survived\n' >"$work/hydra"
chmod +x "$work/hydra"
if [ "$(FGMPI_HYDRA=$work/hydra "$bin/mpiexec" -n 1 true)" = survived ]; then
  echo "ok mpiexec at its start"
else
  echo "FAILED mpiexec at its start: the signal ends it"
  failed=1
fi
start stranger 2 2
kill -USR1 "$pid"
ends stranger bad "signal 10"
exit $failed
