#!/bin/bash
# A job is saved, goes on to its end, and is started again on other numbers of processes: each run prints what is left.
#   restarts.sh BIN_FOLDER WORK_FOLDER PROCESSES RANKS_EACH PROGRAM [ARGUMENT...]
# EXPECTED: what a line on standard error of each restart says.
set -u
bin=$1 work=$2 processes=$3 each=$4
shift 4
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
fail() { echo "restarts.sh: $*" >&2; tail -n 20 out err >&2; exit 1; }
timeout 100 "$bin/mpiexec" -checkpoint saved -n "$processes" -nfg "$each" "$@" > whole 2> err || { cp whole out; fail "the job that is saved ended with $?"; }
ls saved | grep -qE '^[0-9]+$' || fail "there is no complete checkpoint"
grep -q 'No Errors' whole || { cp whole out; fail "the job that is saved found errors"; }
ranks=$((processes * each))
for again in $processes 1 2 3 $ranks; do
  [ "$again" -le "$ranks" ] && [ "$again" -le 6 ] || continue
  timeout 100 "$bin/mpiexec" -restart saved -n "$again" > out 2> err || fail "with $again processes, the restarted job ended with $?"
  grep -q 'No Errors' out || fail "with $again processes, the restarted job found errors"
  [ -z "${EXPECTED:-}" ] || grep -q "$EXPECTED" err || fail "with $again processes, no line says \"$EXPECTED\""
  # Lines of different ranks come in any order.
  sort out > left
  sort whole | comm -13 - left > more
  [ ! -s more ] || { cp more out; fail "with $again processes, the restarted job printed what the other one has not"; }
done
echo " No Errors"
