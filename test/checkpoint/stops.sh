#!/bin/bash
# A program whose job is stopped at random moments while it runs, about every millisecond: it ends well, and many stops
# were made. On a busy machine it runs until they were.
#   stops.sh BIN PROGRAM C P
bin=$1 program=$2 c=$3 p=$4
failed=0
for seed in 1 2 3; do
  output=$("$bin/mpiexec" -n "$p" -nfg "$c" -genv LD_PRELOAD libfgmpi-checkpoint.so -genv FGMPI_CHECKPOINT "remake:1ms,$seed,report" \
    "$program" 10 < /dev/null 2>&1)
  status=$?
  stops=$(sed -n 's/.*made anew \([0-9]*\) times.*/\1/p' <<< "$output")
  [ $status -eq 0 ] && [ "${stops:-0}" -ge 10 ] && continue
  echo "seed $seed: status $status, ${stops:-no} stops"
  echo "$output" | head -20
  failed=1
done
exit $failed
