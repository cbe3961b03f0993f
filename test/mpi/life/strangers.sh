#!/usr/bin/env bash
# Whoever connects to mpiexec's port and is none of its own neither ends the job nor holds it up; the programs that it starts
# do not have that port.
#   strangers.sh BIN PROGRAMS
set -u
mpiexec=$1/mpiexec failed=0
command -v ss >/dev/null || { echo "skipped: there is no ss"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# port_of PID: where the process, or one that it has started, listens.
port_of() {
  local pid
  for pid in "$1" $(pgrep -P "$1"); do
    ss -ltnpH | sed -n "s/.*:\([0-9]*\) .*pid=$pid,.*/\1/p"
  done | head -1
}

# visit NAME COMMANDS SECONDS: COMMANDS are run with descriptor 3 connected to the port of a job, which runs until they are
# done; the connection stays for so many seconds more.
visit() {
  local name=$1 commands=$2 seconds=$3 job port= k
  rm -f "$work/begun" "$work/done"
  "$mpiexec" -n 2 sh -c ": >$work/begun; until [ -e $work/done ]; do sleep 0.1; done" >"$work/out" 2>&1 &
  job=$!
  for ((k = 0; k < 500; ++k)); do [ -e "$work/begun" ] && break; sleep 0.01; done  # all proxies have connected
  for ((k = 0; k < 100 && ${#port} == 0; ++k)); do port=$(port_of $job); sleep 0.02; done
  [ -n "$port" ] || { echo "FAILED $name: the port of mpiexec is not found"; failed=1; : >"$work/done"; return; }
  if ss -ltnpH "sport = :$port" | grep -qE '"(sh|sleep)"'; then
    echo "FAILED $name: a program has mpiexec's port open"
    failed=1
  fi
  {
    port=$port timeout 20 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; $commands; : >$work/done; sleep $seconds"
    : >"$work/done"
  } 2>"$work/visitor" &
  for ((k = 0; k < 300; ++k)); do kill -0 $job 2>/dev/null || break; sleep 0.1; done
  kill $! 2>/dev/null
  if kill -0 $job 2>/dev/null; then
    echo "FAILED $name: the job does not end"
    kill -9 $job
    failed=1
  elif ! wait $job || grep -q "mpiexec@" "$work/out"; then
    echo "FAILED $name:"
    head -5 "$work/out"
    failed=1
  else
    echo "passed $name"
  fi
}
visit "another number" 'printf "\3\0\0\10 and more" >&3' 5
visit "half a number" 'printf "\0\0" >&3' 5
visit "half a number and the end" 'printf "\0\0" >&3' 0
visit "nothing" 'true' 5
visit "an end at once" 'true' 0
visit "the number of a proxy that is there" 'printf "\0\0\0\0" >&3' 5
visit "many" 'for ((i = 0; i < 300; ++i)); do exec {fd}<>/dev/tcp/127.0.0.1/$port; done' 5
exit $failed
