#!/bin/bash
# Errors that end the job, and deadlocks, are reported in the same words where ranks have deputies as where they have none.
#   deputies.sh BIN PROGRAM
bin=$1 program=$2
failed=0
report() {
  timeout 60 "$bin/mpiexec" -n 1 -nfg 4 -genv LD_PRELOAD libfgmpi-checkpoint.so "${@:2}" "$program" "$1" < /dev/null 2>&1 |
    grep -E '^fgmpi|rank|MPI_|Fatal' | sort
}
for how in root operation destination wait deadlock; do
  without=$(report $how) with=$(report $how -genv FGMPI_CHECKPOINT deputy)
  [ -n "$without" ] && [ "$without" = "$with" ] && continue
  printf '%s: without deputies:\n%s\nwith:\n%s\n' $how "$without" "$with"
  failed=1
done
exit $failed
