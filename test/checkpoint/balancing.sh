#!/bin/bash
# mpiexec -balance: ranks of a program with unequal work move, those of one with equal work hardly do, and results are the same.
#   balancing.sh BIN PROGRAM PROCESSES RANKS_EACH
set -eu
bin=$1 program=$2 processes=$3 each=$4 steps=60
fail() { echo "FAILED: $*"; exit 1; }
result() { sed -n 's/^result //p' <<< "$1"; }
moves() { sed -n 's/.*ranks have moved \([0-9]*\) times.*/\1/p' <<< "$1"; }
for times in 4 1; do
  plain=$("$bin/mpiexec" -n "$processes" -nfg "$each" "$program" $times $steps)
  balanced=$("$bin/mpiexec" -balance -summary -n "$processes" -nfg "$each" "$program" $times $steps 2>&1)
  echo "$balanced"
  [ -n "$(result "$plain")" ] && [ "$(result "$plain")" = "$(result "$balanced")" ] || fail "the results differ: $plain"
  moved=$(moves "$balanced")
  [ -n "$moved" ] || fail "no line of -summary"
  if [ $times = 4 ] && [ "$each" -gt 1 ]; then
    [ "$moved" -gt 0 ] || fail "no rank of a program with unequal work has moved"
  elif [ $times = 1 ]; then
    # A process that the system has not let run for a while looks like one with much work.
    [ "$moved" -le $((processes * each * steps / 20)) ] || fail "$moved moves of a program with equal work"
  fi
done
