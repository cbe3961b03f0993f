#!/bin/bash
# Programs of test/mpi give the same results when their times are predicted, on several shapes.
#   programs.sh BIN FOLDER-OF-PROGRAMS MACHINE
bin=$1 programs=$2 machine=$3
bad=0
for program in coll/random coll/sequences coll/reproducible coll/ahead coll/mixed_orders coll/nonblocking coll/neighbor \
  pt2pt/order pt2pt/modes pt2pt/completion pt2pt/derived pt2pt/loops pt2pt/partitioned pt2pt/others_run pt2pt/pieces \
  rma/atomics rma/operations rma/model rma/windows rma/spinning file/files file/requests file/model topo/cart topo/graph comm/create comm/inter comm/at_once; do
  [ -x "$programs/$program" ] || { echo "$program is not there"; bad=1; continue; }
  for ranks in 1 4 7; do
    contention=ends
    [ $ranks = 7 ] && contention=links
    out=$("$bin/mpiexec" -predict "$machine" -predict-compute=none -predict-contention=$contention -n $ranks "$programs/$program" 2>&1 </dev/null) && continue
    echo "$program with $ranks ranks: $(tail -n 5 <<< "$out")"
    bad=1
  done
done
exit $bad
