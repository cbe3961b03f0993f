#!/bin/bash
# Each error of test/mpi/comm/handlers has the same class, and calls the same error handler, behind the layer as without it.
#   handlers.sh BIN PROGRAM
bin=$1 program=$2
without=$(timeout 60 "$bin/mpiexec" -n 1 "$program" 2>&1) || { echo "without the layer: $without"; exit 1; }
behind=$(timeout 60 "$bin/mpiexec" -n 1 -genv LD_PRELOAD libfgmpi-checkpoint.so "$program" 2>&1) || { echo "behind the layer: $behind"; exit 1; }
diff <(echo "$without") <(echo "$behind") && echo " No Errors"
