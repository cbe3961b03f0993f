#!/bin/bash
# A prediction without measured computing repeats to the last digit, beside a busy loop, with any scheduling.
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
