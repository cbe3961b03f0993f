#!/usr/bin/env bash
# A process of one of two connected jobs is killed at a random moment, while they connect, talk or disconnect. The other job
# ends with a line that says why, or, where it only waits for somebody to connect, goes on: another job connects and tells it
# to end. Nothing hangs.
#   killed.sh BIN PROGRAMS [ROUNDS [SEED]]
set -u
mpiexec=$1/mpiexec program=$2/killed rounds=${3:-12} failed=0
[ -x "$program" ] || { echo "no program $program"; exit 1; }
RANDOM=${4:-4711}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shapes=(1x1 3x2 1x3 2x2)
reasons="of a connected job|the other job cannot be talked to|the other side|Fatal error|was killed|No Errors"

# start NAME SHAPE SIDE [VARIABLE=VALUE...]: in the background, its status in NAME.status
start() {
  local name=$1 c=${2%x*} p=${2#*x} side=$3
  shift 3
  (
    env "$@" timeout 60 "$mpiexec" -n "$p" -nfg "$c" "$program" "$side" "$work/port" >"$work/$name" 2>&1
    echo $? >"$work/$name.status"
  ) &
}
wait_for_end() {
  for ((i = 0; i < $2; i++)); do
    [ -s "$work/$1.status" ] && return 0
    sleep 0.05
  done
  return 1
}
for ((round = 0; round < rounds; round++)); do
  rm -f "$work"/*
  a=${shapes[RANDOM % 4]} b=${shapes[RANDOM % 4]} network=A=B
  [ $((RANDOM % 3)) = 0 ] && network=FGMPI_HOST_ID=elsewhere
  sides=(accept connect) v=$((RANDOM % 2))
  victim=${sides[v]} other=${sides[1 - v]}
  start accept "$a" accept A=B
  start connect "$b" connect $network
  for ((i = 0; i < 200; i++)); do [ -s "$work/port" ] && break; sleep 0.02; done
  sleep $(printf '0.%03d' $((RANDOM % 400)))
  pids=($(pgrep -f "^$program $victim $work/port"))
  [ ${#pids[@]} -gt 0 ] && kill -9 "${pids[RANDOM % ${#pids[@]}]}"
  if ! wait_for_end $other 60; then
    start last 1x1 last A=B
    wait_for_end last 300
  fi
  wait_for_end $victim 200 && wait_for_end $other 200
  if [ ! -s "$work/$other.status" ] || [ "$(cat "$work/$other.status")" = 124 ] || ! grep -qE "$reasons" "$work/$other"; then
    echo "FAILED round $round: $victim was killed ($a and $b, $network); the other one:"
    cat "$work/$other.status" 2>&1
    for f in accept connect last; do [ -e "$work/$f" ] && head -8 "$work/$f" | cut -c1-300; done
    failed=1
  fi
  wait
done
[ $failed = 0 ] && echo "ok $rounds rounds"
exit $failed
