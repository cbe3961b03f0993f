#!/usr/bin/env bash
# Two jobs that were started apart connect, use their intercommunicator and what is made of it, and part: at several
# shapes, over sockets of the host and over the network.
#   pair.sh BIN PROGRAMS
# Needs LIBFABRIC: parts of it run over the network.
set -u
bin=$1 program=$2/pair failed=0
[ -x "$program" ] || { echo "no program $program"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

times=2
# run NAME CxP CxP [VARIABLE=VALUE...]: the variables are for the second job.
run() {
  local name=$1 one=$2 two=$3 a b
  shift 3
  rm -f "$work/port"
  timeout 100 "$bin/mpiexec" -n "${one#*x}" -nfg "${one%x*}" "$program" accept "$work/port" $times >"$work/a" 2>&1 &
  a=$!
  env "$@" timeout 100 "$bin/mpiexec" -n "${two#*x}" -nfg "${two%x*}" "$program" connect "$work/port" $times >"$work/b" 2>&1 &
  b=$!
  wait $a; local first=$?
  wait $b; local second=$?
  if [ $first = 0 ] && [ $second = 0 ] && grep -q "No Errors" "$work/a" && grep -q "No Errors" "$work/b"; then
    echo "ok $name: $one and $two"
  else
    echo "FAILED $name: $one ended with $first, $two with $second"
    head -20 "$work/a" "$work/b" | cut -c1-300
    failed=1
  fi
}
run host 1x1 1x1
run host 4x1 1x3
run host 3x2 2x2
run host 64x2 1x1
run host 5x2 16x1 FGMPI_SCHED=random:5
run network 1x1 1x1 FGMPI_HOST_ID=elsewhere
run network 3x2 2x2 FGMPI_HOST_ID=elsewhere
run "network, two transports each" 2x3 3x2 FGMPI_TRANSPORT=ofi FGMPI_HOST_ID=elsewhere
times=1001
run "a thousand times" 1x1 1x1
run "a thousand times" 3x1 2x2
run "a thousand times, network" 1x1 1x1 FGMPI_HOST_ID=elsewhere

# A job that is on two hosts itself: its own transport to the other one goes on beside the links.
rm -f "$work/port"
timeout 100 "$bin/mpiexec" -n 2 -nfg 2 "$program" accept "$work/port" : \
  -n 1 -nfg 3 -env FGMPI_HOST_ID other "$program" accept "$work/port" >"$work/a" 2>&1 &
a=$!
timeout 100 "$bin/mpiexec" -n 2 -nfg 2 "$program" connect "$work/port" >"$work/b" 2>&1
second=$?
if wait $a && [ $second = 0 ] && grep -q "No Errors" "$work/a"; then
  echo "ok a job on two hosts"
else
  echo "FAILED a job on two hosts"
  head -20 "$work/a" "$work/b" | cut -c1-300
  failed=1
fi
exit $failed
