#!/usr/bin/env bash
# A rank that posts receives without end does not keep the others of its process from running: the error of another one
# ends the job, before the process has much memory.
set -u
bin=$1 program=$2/endless_receives failed=0

for shape in 1x2 1x5 2x3; do
  p=${shape%x*} c=${shape#*x}
  out=$(timeout 100 "$bin/mpiexec" -n "$p" -nfg "$c" "$program" 2>&1)
  status=$?
  most=$(sed -n 's/^at most \([0-9]*\) MiB$/\1/p' <<<"$out")
  if [ $status -eq 0 ] || [ $status -eq 124 ] || [ "${most:-9999}" -gt 600 ] ||
    ! grep -q "MPI_Send: dest is" <<<"$out"; then
    echo "FAILED $shape: exit status $status, in"
    head -20 <<<"$out"
    failed=$((failed + 1))
  fi
done
[ $failed -eq 0 ] && echo " No Errors"
exit $((failed > 0))
