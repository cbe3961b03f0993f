#!/bin/bash
# A job that was started again is saved once more, and started again from there, on other numbers of processes.
#   generations.sh BIN_FOLDER WORK_FOLDER PROCESSES RANKS_EACH PROGRAM
set -u
bin=$1 work=$2 processes=$3 each=$4 program=$5
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
fail() { echo "generations.sh: $*" >&2; tail -n 20 out err >&2; exit 1; }
ranks=$((processes * each)) run=1
timeout 100 "$bin/mpiexec" -checkpoint saved -n "$processes" -nfg "$each" "$program" > out 2> err || fail "run 1 ended with $?"
grep -qx 'runs: 1' out && grep -q 'No Errors' out || fail "run 1 found errors"
for again in 1 2 3; do
  run=$((run + 1))
  timeout 100 "$bin/mpiexec" -restart saved -n $((again < ranks ? again : ranks)) > out 2> err || fail "run $run ended with $?"
  grep -qx "runs: $run" out && grep -q 'No Errors' out || fail "run $run found errors"
done
echo " No Errors"
