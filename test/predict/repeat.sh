#!/bin/bash
# A prediction without measured computing, or with that of a file, repeats to the last digit, beside a busy loop, with any scheduling.
#   repeat.sh BIN FOLDER-OF-PROGRAMS PROGRAM MACHINE
. "$(dirname "$0")/../explore/common.sh"
program=$programs machine=$4
while :; do :; done &
busy=$!
trap 'kill $busy; rm -rf "$scratch"' EXIT
for contention in ends links; do
  for ranks in 5 24; do
    rm -f first
    for run in 1 2 3 4 5; do
      # The order in which ranks run here does not matter: the last two runs have another one.
      sched=fifo
      [ $run -lt 4 ] || sched=random:$((run + 3))
      FGMPI_SCHED=$sched "$bin/mpiexec" -predict "$machine" -predict-compute=none -predict-contention=$contention -predict-explain \
        -n $ranks "$program" > out 2> err </dev/null || fail "$(cat err)"
      sort out err > all
      [ -e first ] || mv all first
      [ $run = 1 ] || cmp all first || fail "run $run with $ranks ranks differs: $(diff first all | head -4)"
    done
    [ "$(grep -c 'bcast 0x1' first)" = $((12 * ranks)) ] || fail "not all ranks have printed their clocks"
  done
done
# Accesses to files take no time on a machine without a file system, but here they do: who is ready first does not matter.
grep -v file_system "$machine" > no-files.json
rm -f first
for run in 1 2 3 4 5 6; do
  "$bin/mpiexec" -predict no-files.json -predict-compute=none -n 5 "$program" data > out 2> err </dev/null || fail "$(cat err)"
  sort out err > all
  [ -e first ] || mv all first
  [ $run = 1 ] || cmp all first || fail "run $run with a file differs: $(diff first all | head -4)"
done
# The first run measures what is computed and writes the file; the later ones take it.
for ranks in 5 24; do
  rm -f first computed.times
  for run in 1 2 3 4; do
    sched=fifo
    [ $run -lt 3 ] || sched=random:$run
    FGMPI_SCHED=$sched "$bin/mpiexec" -predict "$machine" -predict-compute=computed.times -n $ranks "$program" > out 2> err </dev/null || fail "$(cat err)"
    sort out err > all
    [ -e first ] || mv all first
    [ $run = 1 ] || cmp all first || fail "run $run with $ranks ranks and a file of times differs: $(diff first all | head -4)"
  done
  grep -q "were missing" first && fail "times are missing: $(cat err)"
done
# Another machine: the same times of computing, other waits.
"$bin/mpiexec" -predict ethernet-25g -predict-compute=computed.times -n 24 "$program" > out 2> err </dev/null || fail "$(cat err)"
grep -q "on ethernet-25g, 24 ranks" err || fail "another machine: $(cat err)"
"$bin/mpiexec" -predict "$machine" -predict-compute=computed.times -n 4 "$program" > out 2> err </dev/null && fail "another number of ranks"
grep -qF "the file has times of 24 ranks; 4 are to run" err || fail "$(cat err)"
echo none > bad.times
"$bin/mpiexec" -predict "$machine" -predict-compute=bad.times -n 4 "$program" > out 2> err </dev/null && fail "a file of something else"
grep -qF "bad.times: holds no computed times" err || fail "$(cat err)"
"$bin/mpiexec" -predict "$machine" -predict-compute=a.times -ranks 4,8 "$program" > out 2> err </dev/null && fail "several numbers of ranks"
grep -qF "allowed with one number of ranks" err || fail "$(cat err)"
